//! Supervise: owns every connector and service task; restarts what ends with backoff, parks what needs a person.

use futures::FutureExt;
use galatea_core::{Account, Connector, Error, Event, Gateway, GatewayBackend, Health, Result, Retry, Service, Source};
use rand::Rng;
use std::{future::Future, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

use crate::{agent::Agent, delivery::Route, intake::Intake, leases::Tenure};

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// How long a connector may take to end once the account is given up.
const GRACE: Duration = Duration::from_secs(5);
/// A task that ran this long before it ended starts again with the first pause.
const HEALTHY: Duration = Duration::from_secs(300);

/// Runs a connector until the agent stops, or until the account is another process's.
pub(crate) async fn connector(agent: Arc<Agent>, connector: Arc<dyn Connector>, tenure: Tenure) {
    let info = connector.info().clone();
    let stop = agent.stop.child_token();
    let closed = async {
        tenure.closed().await;
        stop.cancel();
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        () = connected(&agent, &connector, &stop) => {}
        () = closed => tracing::warn!(source = %info.source, "the connector did not end in time and is dropped"),
    }
    agent.shares.drop_account(&info.source, &info.account, &tenure);
    if agent.shares.is_leased(&info.source) && !agent.stop.is_cancelled() {
        idle(&agent, connector.as_ref());
        elsewhere(&agent, connector.as_ref());
    }
}

/// What an account is to a process that does not have it: encoded for, not sent through.
pub(crate) fn idle(agent: &Arc<Agent>, connector: &dyn Connector) {
    let info = connector.info();
    if let Some(handler) = connector.send_handler() {
        let route = Route::new(info.clone(), handler, agent, Arc::default(), None);
        agent.routes.insert((info.source.clone(), info.account.clone()), Arc::new(route));
    }
}

/// Says that another process has an account, or that this one may not have it.
pub(crate) fn elsewhere(agent: &Arc<Agent>, connector: &dyn Connector) {
    Intake(Arc::clone(agent)).report(connector.info(), Health::Elsewhere);
}

async fn connected(agent: &Arc<Agent>, connector: &Arc<dyn Connector>, stop: &CancellationToken) {
    let info = connector.info().clone();
    let intake: Arc<dyn GatewayBackend> = Arc::new(Intake(Arc::clone(agent)));
    let gateway = Gateway::new(info.clone(), agent.view.identity.clone(), Arc::clone(&intake), Arc::clone(&agent.clock));
    intake.report(&info, Health::Starting);
    let run = |stop| {
        let (connector, gateway) = (Arc::clone(connector), gateway.clone());
        async move { connector.run(gateway, stop).await }
    };
    let told = |ended: &Ended| match ended {
        Ended::Again { error, delay } => {
            intake.report(
                &info,
                Health::Retrying { reason: format!("{error}; next try in {} s", delay.as_secs().max(1)), code: error.code().map(str::to_owned) },
            );
        }
        Ended::Parked(error) => {
            intake.report(&info, Health::Down { reason: error.to_string(), code: error.code().map(str::to_owned), fix: error.fix().map(str::to_owned) });
        }
    };
    keep(agent, stop, &label(&info.source, &info.account), run, told).await;
}

/// Runs an agent's services, in one process at a time.
pub(crate) fn services(agent: &Arc<Agent>, tenure: &Tenure) {
    for service in agent.services.all() {
        agent.connections.spawn(self::service(Arc::clone(agent), Arc::clone(service), tenure.clone()));
    }
}

/// Runs a service until the agent stops, or until another process does.
async fn service(agent: Arc<Agent>, service: Arc<dyn Service>, tenure: Tenure) {
    let (name, stop) = (service.name(), agent.stop.child_token());
    let closed = async {
        tenure.closed().await;
        stop.cancel();
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        () = keep(&agent, &stop, name, |stop| Arc::clone(&service).run(stop), |_| {}) => {}
        () = closed => tracing::warn!(task = name, "the service did not end in time and is dropped"),
    }
}

enum Ended {
    Again { error: Error, delay: Duration },
    Parked(Error),
}

async fn keep<F: Future<Output = Result<()>>>(
    agent: &Agent,
    stop: &CancellationToken,
    name: &str,
    run: impl Fn(CancellationToken) -> F,
    told: impl Fn(&Ended),
) {
    let mut failures = 0_u32;
    loop {
        let began = agent.clock.now();
        let outcome = AssertUnwindSafe(run(stop.child_token())).catch_unwind().await;
        if stop.is_cancelled() {
            return;
        }
        let error = match outcome {
            Ok(Ok(())) => Error::unexpected("it ended by itself").with_retry(Retry::Soon),
            Ok(Err(error)) => error,
            Err(_) => Error::unexpected("it crashed").with_code("GAL-TASK-PANIC").with_retry(Retry::Soon),
        };
        if agent.clock.now().since(began) >= HEALTHY {
            failures = 0;
        }
        failures = failures.saturating_add(1);
        let delay = match error.retry() {
            Retry::Never => {
                tracing::error!(task = name, code = error.code(), error = %error.report(), fix = error.fix(), "stopped: this needs a person");
                told(&Ended::Parked(error));
                stop.cancelled().await;
                return;
            }
            Retry::After(delay) => delay,
            Retry::Soon => backoff(failures),
        };
        tracing::warn!(task = name, code = error.code(), error = %error.report(), seconds = delay.as_secs_f32(), "ended; starting again");
        told(&Ended::Again { error, delay });
        tokio::select! {
            () = agent.clock.sleep(delay) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Equal jitter: at least half the ceiling, so that a broken platform is not hammered.
fn backoff(failures: u32) -> Duration {
    let ceiling = FIRST.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(LONGEST);
    ceiling.mul_f64(0.5 + rand::rng().random::<f64>() / 2.0)
}

fn label(source: &Source, account: &Account) -> String {
    format!("{source}:{account}")
}

/// Says that an agent started or stopped.
pub(crate) fn announce(agent: &Agent, event: impl Fn(galatea_core::AgentId) -> Event) {
    agent.events.publish(event(agent.view.identity.id()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_stay_bounded() {
        for failures in 1..40 {
            let pause = backoff(failures);
            assert!(pause >= FIRST / 2 && pause <= LONGEST);
        }
        assert!(backoff(20) >= LONGEST / 2);
    }
}

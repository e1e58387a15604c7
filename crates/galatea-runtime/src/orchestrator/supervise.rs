//! Supervise: owns every connector and service task; restarts what ends with backoff, parks what
//! needs a person.

use futures::FutureExt;
use galatea_core::{
    Account, Connector, Error, ErrorKind, Event, Gateway, GatewayBackend, Health, Result, Retry,
    Service, Source,
};
use rand::RngExt;
use std::{future::Future, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

use super::agent::Agent;
use crate::ownership::LeaseGuard;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// How long a connector may take to end once the account is given up.
const GRACE: Duration = Duration::from_secs(5);
/// First and longest pause before what a person may have repaired elsewhere (a webhook removed, a
/// right given) is tried again.
const REPAIRED: Duration = Duration::from_secs(30);
const REPAIRED_LATER: Duration = Duration::from_secs(900);
/// A task that ran this long before it ended starts again with the first pause.
const HEALTHY: Duration = Duration::from_secs(300);

/// Runs a connector until the agent stops, or until the account is another process's.
pub(super) async fn connector(agent: Arc<Agent>, connector: Arc<dyn Connector>, lease: LeaseGuard) {
    let info = connector.info().clone();
    let stop = agent.stop.child_token();
    let closed = async {
        lease.closed().await;
        stop.cancel();
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        () = connected(&agent, &connector, &stop) => {}
        () = closed => tracing::warn!(source = %info.source, "the connector did not end in time and is dropped"),
    }
    agent.ownership.drop_account(&info.source, &info.account, &lease);
    let stopping = agent.stop.is_cancelled();
    // One that stops keeps its way to the platform for what is under way, unless others are there
    // to send it: they get the account at once.
    if agent.ownership.is_leased(&info.source) && !(stopping && lease.is_open()) {
        idle(&agent, connector.as_ref());
        if !stopping {
            elsewhere(&agent, connector.as_ref());
        }
    }
}

/// What an account is to a process that does not have it: encoded for, not sent through.
pub(super) fn idle(agent: &Agent, connector: &dyn Connector) {
    let info = connector.info();
    if let Some(handler) = connector.send_handler() {
        agent.outbox.routes.encode_only(info, handler);
    }
}

/// Says that another process has an account, or that this one may not have it.
pub(super) fn elsewhere(agent: &Agent, connector: &dyn Connector) {
    agent.intake.report(connector.info(), Health::Elsewhere);
}

async fn connected(agent: &Arc<Agent>, connector: &Arc<dyn Connector>, stop: &CancellationToken) {
    let info = connector.info().clone();
    let intake: Arc<dyn GatewayBackend> = Arc::clone(&agent.intake) as _;
    let gateway = Gateway::new(
        info.clone(),
        agent.view.identity.clone(),
        Arc::clone(&intake),
        Arc::clone(&agent.clock),
    );
    intake.report(&info, Health::Starting);
    let run = |stop| {
        let (connector, gateway) = (Arc::clone(connector), gateway.clone());
        async move { connector.run(gateway, stop).await }
    };
    // Subscribers of the events report it to people once; the attempts are for debugging.
    let task = label(&info.source, &info.account);
    let told = |ended: &Ended| match ended {
        Ended::Again { error, delay } => {
            tracing::debug!(task, code = error.code(), error = %error.report(), seconds = delay.as_secs_f32(), "ended; starting again");
            intake.report(
                &info,
                Health::Retrying {
                    reason: format!("{error}; next try in {} s", delay.as_secs().max(1)),
                    code: error.code().map(str::to_owned),
                },
            );
        }
        Ended::Parked(error) => {
            tracing::debug!(task, code = error.code(), error = %error.report(), "stopped: this needs a person");
            intake.report(
                &info,
                Health::Down {
                    reason: error.to_string(),
                    code: error.code().map(str::to_owned),
                    fix: error.fix().map(str::to_owned),
                },
            );
        }
    };
    keep(agent, stop, run, told).await;
}

/// Runs an agent's services, in one process at a time.
pub(super) fn services(agent: &Arc<Agent>, lease: &LeaseGuard) {
    for service in agent.services.all() {
        agent.connections.spawn(self::service(
            Arc::clone(agent),
            Arc::clone(service),
            lease.clone(),
        ));
    }
}

/// Runs a service until the agent stops, or until another process does.
async fn service(agent: Arc<Agent>, service: Arc<dyn Service>, lease: LeaseGuard) {
    let (name, stop) = (service.name(), agent.stop.child_token());
    let closed = async {
        lease.closed().await;
        stop.cancel();
        tokio::time::sleep(GRACE).await;
    };
    let told = |ended: &Ended| match ended {
        Ended::Again { error, delay } => {
            tracing::warn!(task = name, code = error.code(), error = %error.report(), seconds = delay.as_secs_f32(), "ended; starting again");
        }
        Ended::Parked(error) => {
            tracing::error!(task = name, code = error.code(), error = %error.report(), fix = error.fix(), "stopped: this needs a person");
        }
    };
    tokio::select! {
        () = keep(&agent, &stop, |stop| Arc::clone(&service).run(stop), told) => {}
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
    run: impl Fn(CancellationToken) -> F,
    told: impl Fn(&Ended),
) {
    let mut failures = 0_u32;
    let mut parked: Option<(Option<String>, u32)> = None;
    loop {
        let began = agent.clock.now();
        let outcome = AssertUnwindSafe(run(stop.child_token())).catch_unwind().await;
        if stop.is_cancelled() {
            return;
        }
        let error = match outcome {
            Ok(Ok(())) => Error::unexpected("it ended by itself").with_retry(Retry::Soon),
            Ok(Err(error)) => error,
            Err(_) => {
                Error::unexpected("it crashed").with_code("GAL-TASK-PANIC").with_retry(Retry::Soon)
            }
        };
        if agent.clock.now().since(began) >= HEALTHY {
            failures = 0;
        }
        failures = failures.saturating_add(1);
        let delay = match error.retry() {
            Retry::Never => {
                let code = error.code().map(str::to_owned);
                let tries = parked
                    .take()
                    .filter(|(before, _)| *before == code)
                    .map_or(1, |(_, tries)| tries + 1);
                let again = again_after_a_repair(error.kind(), tries);
                told(&Ended::Parked(error));
                let Some(pause) = again else {
                    stop.cancelled().await;
                    return;
                };
                parked = Some((code, tries));
                tokio::select! {
                    () = agent.clock.sleep(pause) => continue,
                    () = stop.cancelled() => return,
                }
            }
            Retry::After(delay) => delay,
            Retry::Soon => backoff(failures),
        };
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

/// How long until what needs a person is tried again, after so many tries: only what can be
/// repaired while this process runs. A refused token is a setting, and settings are read at the
/// start.
fn again_after_a_repair(kind: ErrorKind, tries: u32) -> Option<Duration> {
    let elsewhere = matches!(kind, ErrorKind::Conflict | ErrorKind::Forbidden);
    elsewhere
        .then(|| REPAIRED.saturating_mul(1 << tries.saturating_sub(1).min(10)).min(REPAIRED_LATER))
}

fn label(source: &Source, account: &Account) -> String {
    format!("{source}:{account}")
}

/// Says that an agent started or stopped.
pub(super) fn announce(agent: &Agent, event: impl Fn(galatea_core::AgentId) -> Event) {
    agent.events.publish(event(agent.view.identity.id()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repaired_elsewhere_is_tried_again() {
        let all: Vec<_> = (1..40)
            .map(|tries| {
                again_after_a_repair(ErrorKind::Conflict, tries)
                    .unwrap_or_else(|| panic!("a pause"))
            })
            .collect();
        assert!(all[0] == REPAIRED && all.is_sorted() && all[38] == REPAIRED_LATER, "{all:?}");
        assert_eq!(
            again_after_a_repair(ErrorKind::Unauthorized, 1),
            None,
            "a setting has to change"
        );
    }

    #[test]
    fn pauses_grow_and_stay_bounded() {
        for failures in 1..40 {
            let pause = backoff(failures);
            assert!(pause >= FIRST / 2 && pause <= LONGEST);
        }
        assert!(backoff(20) >= LONGEST / 2);
    }
}

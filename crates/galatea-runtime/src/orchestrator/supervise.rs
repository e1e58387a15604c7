//! Owns every connector and service task; restarts what ends with backoff, parks what needs a
//! person.

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use futures::FutureExt;
use galatea_core::{
    Account, Connector, Error, ErrorKind, Event, Gateway, GatewayBackend, Health, Result, Retry,
    Source,
    service::{ServiceEntry, ServiceState},
};
use std::{future::Future, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

use super::{
    agent::Agent,
    service_steps::{note, start_and_run},
};
use crate::ownership::LeaseGuard;

/// Upper bounds of the first and of every later pause before a restart.
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

/// Says that an account waits for a person to log in.
pub(super) fn down(agent: &Agent, connector: &dyn Connector, error: &Error) {
    agent.intake.report(connector.info(), health_of(error));
}

fn health_of(error: &Error) -> Health {
    Health::Down {
        reason: error.to_string(),
        code: error.code().map(str::to_owned),
        fix: error.fix().map(str::to_owned),
    }
}

async fn connected(agent: &Arc<Agent>, connector: &Arc<dyn Connector>, stop: &CancellationToken) {
    let info = connector.info().clone();
    let intake: Arc<dyn GatewayBackend> = Arc::clone(&agent.intake) as _;
    let gateway = Gateway::new(
        info.clone(),
        agent.identity.clone(),
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
    let report = |ended: &Ended| match ended {
        Ended::Again { error, delay } => {
            tracing::debug!(task, code = error.code(), error = %error.report(), seconds = delay.as_secs_f32(), "a connector ended; restarting it after the pause");
            intake.report(
                &info,
                Health::Retrying {
                    reason: format!("{error}; next try in {} s", delay.as_secs().max(1)),
                    code: error.code().map(str::to_owned),
                },
            );
        }
        Ended::Parked(error) => {
            tracing::debug!(task, code = error.code(), error = %error.report(), retried = is_repaired_elsewhere(error.kind()), "a connector is parked until a person repairs the cause");
            intake.report(&info, health_of(error));
        }
    };
    keep(agent, stop, run, report).await;
}

/// Runs a service until it is stopped.
pub(super) async fn service(agent: &Arc<Agent>, entry: &ServiceEntry, stop: &CancellationToken) {
    let (id, name) = (agent.identity.id(), entry.service.name());
    let report = |ended: &Ended| match ended {
        Ended::Again { error, delay } => {
            note(agent, entry, ServiceState::Retrying(error.to_string()));
            tracing::warn!(agent = %id, service = name, code = error.code(), error = %error.report(), seconds = delay.as_secs_f32(), "a service ended; restarting it after the pause");
        }
        Ended::Parked(error) => {
            note(agent, entry, ServiceState::Failed(error.to_string()));
            tracing::error!(agent = %id, service = name, code = error.code(), error = %error.report(), fix = error.fix(), retried = is_repaired_elsewhere(error.kind()), "a service is parked until a person repairs the cause");
        }
    };
    let run = |stop| start_and_run(agent, entry, stop);
    keep(agent, stop, run, report).await;
}

enum Ended {
    Again { error: Error, delay: Duration },
    Parked(Error),
}

async fn keep<F: Future<Output = Result<()>>>(
    agent: &Agent,
    stop: &CancellationToken,
    run: impl Fn(CancellationToken) -> F,
    report: impl Fn(&Ended),
) {
    let mut pauses = restarts().build();
    let mut parked: Option<(Option<String>, ExponentialBackoff)> = None;
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
            pauses = restarts().build();
        }
        let pause = pauses.next().unwrap_or(LONGEST);
        let delay = match error.retry() {
            Retry::Never => {
                let code = error.code().map(str::to_owned);
                let repairable = is_repaired_elsewhere(error.kind());
                report(&Ended::Parked(error));
                if !repairable {
                    stop.cancelled().await;
                    return;
                }
                let mut pauses = parked
                    .take()
                    .filter(|(before, _)| *before == code)
                    .map_or_else(|| repairs().build(), |(_, pauses)| pauses);
                let pause = pauses.next().unwrap_or(REPAIRED_LATER);
                parked = Some((code, pauses));
                tokio::select! {
                    () = agent.clock.sleep(pause) => continue,
                    () = stop.cancelled() => return,
                }
            }
            Retry::After(delay) => delay,
            Retry::Soon => pause,
        };
        report(&Ended::Again { error, delay });
        tokio::select! {
            () = agent.clock.sleep(delay) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Pauses before a restart. Equal jitter: at least half the upper bound, so that a broken platform
/// is not hammered.
fn restarts() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(FIRST / 2)
        .with_max_delay(LONGEST / 2)
        .with_jitter()
        .without_max_times()
}

/// Pauses before what a person may have repaired is tried again.
fn repairs() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(REPAIRED)
        .with_max_delay(REPAIRED_LATER)
        .without_max_times()
}

/// Whether a person can repair this while the process runs. A refused token is a setting, and
/// settings are read at the start.
fn is_repaired_elsewhere(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Conflict | ErrorKind::Forbidden)
}

fn label(source: &Source, account: &Account) -> String {
    format!("{source}:{account}")
}

/// Says that an agent started or stopped.
pub(super) fn announce(agent: &Agent, event: impl Fn(galatea_core::AgentId) -> Event) {
    agent.events.publish(event(agent.identity.id()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repaired_elsewhere_is_tried_again() {
        let all: Vec<_> = repairs().build().take(39).collect();
        assert!(
            all[0] == REPAIRED && all[1] == 2 * REPAIRED && all[38] == REPAIRED_LATER,
            "{all:?}"
        );
        assert!(all.is_sorted(), "{all:?}");
        assert!(is_repaired_elsewhere(ErrorKind::Conflict));
        assert!(!is_repaired_elsewhere(ErrorKind::Unauthorized), "a setting has to change");
    }

    #[test]
    fn pauses_before_restarts_grow_with_equal_jitter_up_to_a_minute() {
        let runs: Vec<Vec<Duration>> = (0..100)
            .map(|seed| restarts().with_jitter_seed(seed).build().take(10).collect())
            .collect();
        for (failures, seconds) in [1, 2, 4, 8, 16, 32, 60, 60, 60, 60].into_iter().enumerate() {
            let bound = Duration::from_secs(seconds);
            let pauses: Vec<_> = runs.iter().map(|run| run[failures]).collect();
            assert!(pauses.iter().all(|p| (bound / 2..=bound).contains(p)), "{pauses:?}");
            let (low, high) = (bound.mul_f64(0.55), bound.mul_f64(0.95));
            assert!(pauses.iter().any(|p| *p < low), "{pauses:?}");
            assert!(pauses.iter().any(|p| *p > high), "{pauses:?}");
        }
    }
}

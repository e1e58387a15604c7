//! The steps of one service: it starts, is ready, and runs until it ends.

use futures::FutureExt;
use galatea_core::{
    Error, ErrorKind, Event, Result, Retry,
    service::{ServiceEntry, ServiceState},
};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

use super::agent::Agent;

/// Longest time of a service's `start`.
const START: Duration = Duration::from_secs(60);
/// Time between two looks whether a service works, and longest time of one.
const PROBE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(5));

/// Notes how a service is doing, and publishes it if that is new.
pub(super) fn note(agent: &Agent, entry: &ServiceEntry, state: ServiceState) {
    if entry.set(state.clone()) {
        agent.events.publish(Event::ServiceChanged {
            agent: agent.identity.id(),
            plugin: entry.plugin.to_string(),
            service: entry.service.name().to_owned(),
            state,
        });
    }
}

/// Starts a service, and runs it until it ends. It is ready in between.
pub(super) async fn start_and_run(
    agent: &Agent,
    entry: &ServiceEntry,
    stop: CancellationToken,
) -> Result<()> {
    note(agent, entry, ServiceState::Starting);
    let context = agent.service_context(entry);
    let starting = tokio::time::timeout(START, entry.service.start(&context));
    let Some(started) = stop.run_until_cancelled(starting).await else { return Ok(()) };
    started.unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::Timeout, "the service did not start in time")
            .with("seconds", START.as_secs())
            .with_retry(Retry::Soon))
    })?;
    note(agent, entry, ServiceState::Ready);
    let probes = async {
        loop {
            tokio::time::sleep(PROBE.0).await;
            probe(agent, entry).await;
        }
    };
    tokio::select! {
        ended = Arc::clone(&entry.service).run(context, stop) => ended,
        () = probes => Ok(()),
    }
}

async fn probe(agent: &Agent, entry: &ServiceEntry) {
    let work = AssertUnwindSafe(entry.service.health()).catch_unwind();
    let state = match tokio::time::timeout(PROBE.1, work).await {
        Ok(Ok(Ok(()))) => ServiceState::Ready,
        Ok(Ok(Err(error))) => ServiceState::Degraded(error.to_string()),
        Ok(Err(_)) => ServiceState::Degraded("its health check crashed".to_owned()),
        Err(_) => ServiceState::Degraded("its health check took too long".to_owned()),
    };
    note(agent, entry, state);
}

//! Runs the services of an agent: each starts when those that it needs are ready, and they stop in the
//! reverse order.

use futures::{FutureExt, future::select_all};
use galatea_core::service::{ServiceEntry, ServiceState};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

use super::{agent::Agent, service_runner::GRACE, service_steps::note, supervise};
use crate::ownership::LeaseGuard;

/// Time after which a service that waits looks for services that came meanwhile.
const LOOK: Duration = Duration::from_secs(1);

/// Starts the services of an agent that do not run yet, in this order.
pub(super) fn start(agent: &Arc<Agent>, services: &[Arc<ServiceEntry>]) {
    agent.services.start(services, |entry, stop| tokio::spawn(run(Arc::clone(agent), entry, stop)));
}

/// Runs the services of an agent under a lease: until the agent stops, or until another process does.
pub(super) async fn under(agent: Arc<Agent>, lease: LeaseGuard) {
    agent.services.lease(Some(lease.clone()));
    start(&agent, &agent.plugins.services_in_order());
    tokio::select! {
        () = agent.stop.cancelled() => {}
        () = lease.closed() => {}
    }
    agent.services.lease(None);
    agent.services.stop_but(&[]).await;
}

/// The life of one service.
async fn run(agent: Arc<Agent>, entry: Arc<ServiceEntry>, stop: CancellationToken) {
    for need in entry.service.needs() {
        note(&agent, &entry, ServiceState::Waiting(need.clone()));
        if stop.run_until_cancelled(ready(&agent, &need)).await.is_none() {
            note(&agent, &entry, ServiceState::Stopped);
            return;
        }
    }
    supervise::service(&agent, &entry, &stop).await;
    let stopped = AssertUnwindSafe(entry.service.stop()).catch_unwind();
    match tokio::time::timeout(GRACE, stopped).await {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(error))) => {
            tracing::warn!(service = entry.service.name(), plugin = %entry.plugin, error = %error.report(), "a service failed to stop; it is dropped");
        }
        Ok(Err(_)) | Err(_) => {
            tracing::warn!(service = entry.service.name(), plugin = %entry.plugin, "a service crashed or took too long while stopping; it is dropped");
        }
    }
    note(&agent, &entry, ServiceState::Stopped);
}

/// Waits until a service of this name is ready.
async fn ready(agent: &Agent, name: &str) {
    loop {
        let services = agent.plugins.services();
        let named: Vec<_> =
            services.all().filter(|entry| entry.service.name() == name).cloned().collect();
        let any = async {
            if named.is_empty() {
                std::future::pending::<()>().await;
            }
            select_all(named.iter().map(|entry| Box::pin(entry.ready()))).await;
        };
        if tokio::time::timeout(LOOK, any).await.is_ok() {
            return;
        }
    }
}

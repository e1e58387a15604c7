//! The services of an agent that run in this process, in the order in which they were started.

use galatea_core::service::{ServiceEntry, ServiceState};
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::ownership::LeaseGuard;

/// Time that a service has to end, and that its `stop` may take.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// The services of one agent that run in this process.
#[derive(Default)]
pub(super) struct ServiceRunner(Mutex<Running>);

#[derive(Default)]
struct Running {
    /// The lease under which they run; none while another process runs them.
    lease: Option<LeaseGuard>,
    /// In the order in which they were started.
    services: Vec<One>,
}

struct One {
    entry: Arc<ServiceEntry>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl ServiceRunner {
    /// Lets services run under this lease, or none any more.
    pub(super) fn lease(&self, lease: Option<LeaseGuard>) {
        self.0.lock().lease = lease;
    }

    /// Starts services that do not run yet, in this order. Does nothing while another process runs the
    /// agent's services.
    pub(super) fn start(
        &self,
        services: &[Arc<ServiceEntry>],
        spawn: impl Fn(Arc<ServiceEntry>, CancellationToken) -> JoinHandle<()>,
    ) {
        let mut running = self.0.lock();
        if running.lease.as_ref().is_none_or(|lease| !lease.is_open()) {
            return;
        }
        for entry in services {
            if running.services.iter().any(|one| Arc::ptr_eq(&one.entry, entry)) {
                continue;
            }
            let stop = CancellationToken::new();
            let task = spawn(Arc::clone(entry), stop.clone());
            running.services.push(One { entry: Arc::clone(entry), stop, task });
        }
    }

    /// Stops the services that are not among `kept`, the last one first.
    pub(super) async fn stop_but(&self, kept: &[Arc<ServiceEntry>]) {
        let left = {
            let mut running = self.0.lock();
            let is_kept = |one: &One| kept.iter().any(|kept| Arc::ptr_eq(kept, &one.entry));
            let (kept, left): (Vec<_>, Vec<_>) =
                std::mem::take(&mut running.services).into_iter().partition(is_kept);
            running.services = kept;
            left
        };
        for One { entry, stop, task } in left.into_iter().rev() {
            stop.cancel();
            let ending = task.abort_handle();
            if tokio::time::timeout(2 * GRACE, task).await.is_err() {
                ending.abort();
                entry.set(ServiceState::Stopped);
                tracing::warn!(service = entry.service.name(), plugin = %entry.plugin, seconds = GRACE.as_secs(), "a service did not end in time; dropping it");
            }
        }
    }
}

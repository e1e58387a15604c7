//! Works on the rows of an account that this process connects. Its backlog goes first, deliveries
//! before messages; then the account is polled whenever the process has seen rows of it
//! (`orchestrator/idle.rs`), which may be of others.

use galatea_core::{Clock, ConnectorInfo, Store};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use super::Intake;
use crate::{
    directory::Directory,
    inbox::Inbox,
    outbox::{Outbox, Route},
    ownership::{LeaseGuard, Ownership},
};

impl Intake {
    /// Works on an account's rows until its lease ends.
    pub(super) fn attach(&self, route: Arc<Route>, lease: LeaseGuard) {
        self.tasks.spawn(keep_first(
            Arc::clone(&self.directory),
            Arc::clone(&self.store),
            Arc::clone(&self.clock),
            route.info.clone(),
        ));
        let attached = Attached {
            route,
            ownership: Arc::clone(&self.ownership),
            inbox: Arc::clone(&self.inbox),
            outbox: Arc::clone(&self.outbox),
            stop: self.stop.clone(),
        };
        let halt = self.halt.clone();
        self.tasks.spawn(async move {
            let work = async {
                tokio::select! {
                    () = attached.work(&lease) => {}
                    () = lease.closed() => {}
                }
            };
            halt.run_until_cancelled(work).await
        });
    }
}

async fn keep_first(
    directory: Arc<Directory>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    info: ConnectorInfo,
) {
    if let Err(error) = directory.accounts.keep(&*store, &info, clock.now()).await {
        tracing::warn!(source = %info.source, account = %info.account, error = %error.report(), "failed to store which account came first; the next start tries again");
    }
}

/// The queues as one account sees them.
struct Attached {
    route: Arc<Route>,
    ownership: Arc<Ownership>,
    inbox: Arc<Inbox>,
    outbox: Arc<Outbox>,
    stop: CancellationToken,
}

impl Attached {
    async fn work(&self, lease: &LeaseGuard) {
        let Self { route, ownership, inbox, outbox, .. } = self;
        outbox.clear_backlog(route, lease).await;
        inbox.clear_backlog(route).await;
        loop {
            let shared = ownership.is_shared();
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = route.backlog.sends_due.notified() => {}
                () = route.backlog.turns_due.notified() => {
                    inbox.poll(route).await;
                    continue;
                }
                () = ownership.shared_changed(shared) => {}
            }
            // The store reports its own failures; the next poll tries again.
            let _ = outbox.poll(route).await;
            inbox.report_unanswered(route).await;
        }
    }
}

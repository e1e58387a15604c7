//! Ends parts that no lane can end: their account has no connector in this process, or that has not
//! connected yet, so no lane reads them, and they are too old to send.

use galatea_core::{
    Event, Result, Timestamp,
    store::{OutboxItem, OutboxState, Settlement},
};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

use super::state::Outbox;

/// Time after its end for which a part is left to a process that does have the account, and whose
/// clock may differ.
const GRACE: Duration = Duration::from_secs(60);

impl Outbox {
    /// Ends such parts of this agent at this pace until the agent stops. Several processes may do the
    /// same at once: the store ends a part once. Waits by the machine's clock; what is too old follows
    /// the agent's clock.
    pub(crate) async fn expire_unserved(self: Arc<Self>, every: Duration, stop: CancellationToken) {
        let work = async {
            loop {
                tokio::time::sleep(every).await;
                if let Err(error) = self.expire_once().await {
                    tracing::warn!(error = %error.report(), "failed to look for parts of accounts that have no connector; retrying");
                }
            }
        };
        stop.run_until_cancelled(work).await;
    }

    async fn expire_once(&self) -> Result<()> {
        let served: Vec<_> = self
            .routes
            .all()
            .iter()
            .filter(|route| route.has_login)
            .map(|route| (route.info.source.clone(), route.info.account.clone()))
            .collect();
        // A clock that was set forward makes no part older.
        let back = GRACE.saturating_add(self.clock.ahead()).as_millis();
        let back = i64::try_from(back).unwrap_or(i64::MAX);
        let end = Timestamp(self.clock.now().0.saturating_sub(back));
        for item in self.store.overdue(self.identity.id(), &served, end).await? {
            self.expire(item).await;
        }
        Ok(())
    }

    async fn expire(&self, item: OutboxItem) {
        let address = &item.delivery.address;
        let reason = format!(
            "the account {} on {} is not connected here, and the part is too old to send",
            address.account, address.source
        );
        let ended = Settlement {
            id: item.delivery.id,
            state: OutboxState::Expired,
            attempt: item.delivery.attempt,
            not_before: self.clock.now(),
            remote: None,
            error: Some(reason.clone()),
            outcome_unknown: item.outcome_unknown,
            fence: None,
        };
        if !self.settler.settle_now(ended).await {
            return;
        }
        tracing::warn!(delivery = %item.delivery.id, room = %address.room, source = %address.source, account = %address.account, reason, "a part ended without delivery");
        self.events.publish(Event::DeliveryFailed {
            agent: item.delivery.agent,
            room: address.room,
            delivery: item.delivery.id,
            reason,
        });
    }
}

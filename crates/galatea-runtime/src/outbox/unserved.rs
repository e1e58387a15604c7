//! Ends parts that no lane can end: their account has no connector in this process, or that has not
//! connected yet, so no lane reads them, and they are too old to send.

use galatea_core::{
    Account, Event, Result, Source, Timestamp,
    store::{OutboxItem, OutboxState, Settlement},
};
use std::time::Duration;

use super::state::Outbox;

/// Time after its end for which a part is left to a process that does have the account, and whose
/// clock may differ.
const GRACE: Duration = Duration::from_secs(60);

impl Outbox {
    /// The time before which a part without a connector is too old: what is too old follows the
    /// agent's clock, and a clock that was set forward makes no part older.
    pub(crate) fn too_old(&self) -> Timestamp {
        let back = GRACE.saturating_add(self.clock.ahead()).as_millis();
        let back = i64::try_from(back).unwrap_or(i64::MAX);
        Timestamp(self.clock.now().0.saturating_sub(back))
    }

    /// True if this process has the login of an account.
    pub(crate) fn serves(&self, source: &Source, account: &Account) -> bool {
        self.routes.any(source, account).is_some_and(|route| route.has_login)
    }

    /// Ends such parts of this agent. Several processes may do the same at once: the store ends a part
    /// once. Called when the process has seen one.
    pub(crate) async fn expire_unserved(&self) {
        if let Err(error) = self.expire_once().await {
            tracing::warn!(error = %error.report(), "failed to look for parts of accounts that have no connector; retrying");
        }
    }

    async fn expire_once(&self) -> Result<()> {
        let served: Vec<_> = self
            .routes
            .all()
            .iter()
            .filter(|route| route.has_login)
            .map(|route| (route.info.source.clone(), route.info.account.clone()))
            .collect();
        for item in self.store.overdue(self.identity.id(), &served, self.too_old()).await? {
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

//! Warn: owners hear once a day of each cap that is nearly used up.

use galatea_core::{Address, Content, EntityId, Outgoing, store::Day};
use serde_json::json;
use std::sync::Arc;

use super::{Budget, ledger::Warning};

impl Budget {
    /// Logs and warns owners, once per day and cap over all processes.
    pub(super) fn warn(self: &Arc<Self>, warnings: Vec<Warning>) {
        for warning in warnings {
            let Warning { who, setting, percent, day } = warning;
            tracing::warn!(
                setting,
                percent,
                "{} has nearly used up what it may cost today; the small model answers from now on",
                who.text()
            );
            let budget = Arc::clone(self);
            tokio::spawn(async move {
                if let Err(error) = budget.warn_owners(&setting, percent, day, who.text()).await {
                    tracing::warn!(error = %error.report(), "failed to warn the owners that a budget is nearly used up; the log has the warning");
                }
            });
        }
    }

    async fn warn_owners(
        &self,
        setting: &str,
        percent: u64,
        day: Day,
        who: &str,
    ) -> galatea_core::Result<()> {
        let (key, now) = (format!("budget:warned:{setting}:{}", day.0), self.clock.now());
        if self.store.cached(self.agent, &key, now).await?.is_some() {
            return Ok(());
        }
        self.store.cache(self.agent, &key, &json!(percent), Some(Day(day.0 + 2).begins())).await?;
        let text = format!(
            "{percent} % of what {who} may cost today (UTC) is used: {setting}. I answer with the small model from now on, and not at all once it is used up. \
             `galatea usage` shows what it went to."
        );
        for (source, id) in &self.owners {
            // The private conversation in which the owner has written to the agent; without one the
            // log and `status` have the warning.
            let person = EntityId(self.identity.swizzle(id));
            let rooms = self.store.private_rooms(self.agent, person).await?;
            let Some(room) = rooms.into_iter().find(|room| room.source == *source) else {
                continue;
            };
            let address = Address {
                source: room.source,
                account: room.account,
                room: room.id,
                remote: room.remote,
            };
            let mut content = Content::text(text.clone());
            content.extra.insert("notice".into(), true.into());
            let outgoing = Outgoing::Message { content, reply_to: None };
            if let Err(error) = self.outbound.send_message_to_target(&address, outgoing).await {
                tracing::warn!(source = %source, error = %error.report(), "failed to warn an owner that a budget is nearly used up; the other owners are warned");
            }
        }
        Ok(())
    }
}

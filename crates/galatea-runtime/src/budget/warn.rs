//! Warns owners once a day of each cap that is nearly used up.

use galatea_core::{
    Address, Content, EntityId, Outgoing, Room,
    store::{Day, Holder},
};
use serde_json::json;
use std::sync::Arc;

use super::{Budget, ledger::Warning};

impl Budget {
    /// Logs each warning in this process. Sends it to the owners once per day and cap, over all
    /// processes.
    pub(super) fn warn(self: &Arc<Self>, warnings: Vec<Warning>) {
        for warning in warnings {
            let Warning { who, setting, percent, .. } = &warning;
            tracing::warn!(agent = %self.agent, limit = who.text(), holder = ?warning.holder, setting, percent, "a daily budget is nearly used up; the small model answers until the day ends (UTC) or the budget is used up");
            let budget = Arc::clone(self);
            tokio::spawn(async move {
                if let Err(error) = budget.warn_owners(&warning).await {
                    tracing::warn!(agent = %budget.agent, setting = warning.setting, error = %error.report(), "failed to warn the owners of a nearly used budget; the log has the warning");
                }
            });
        }
    }

    async fn warn_owners(&self, warning: &Warning) -> galatea_core::Result<()> {
        let Warning { holder, who, setting, percent, day } = warning;
        let room = match holder {
            Holder::Room(room) => self.store.room(*room).await?,
            _ => None,
        };
        let (key, now) = (key(warning), self.clock.now());
        if self.store.cached(self.agent, &key, now).await?.is_some() {
            return Ok(());
        }
        self.store.cache(self.agent, &key, &json!(percent), Some(Day(day.0 + 2).begins())).await?;
        let whose = match room {
            Some(room) => format!("the room {} on {}", name(&room), room.source),
            None => who.text().to_owned(),
        };
        let text = format!(
            "{percent} % of what {whose} may cost today (UTC) is used: {setting}. I answer with the small model from now on, and not at all once it is used up. \
             `galatea usage` shows what it went to."
        );
        for (source, id) in &self.profile.get().owners {
            // The private conversation in which the owner has written to the agent; without one the
            // log and `status` have the warning.
            let person = EntityId(self.identity.swizzle(id));
            let rooms = self.store.rooms_of(self.agent, person).await?;
            let is_private = |room: &Room| room.kind.is_direct() && room.source == *source;
            let Some(room) = rooms.into_iter().find(is_private) else {
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

/// Under which the store notes that the owners were warned.
fn key(warning: &Warning) -> String {
    let Warning { holder, setting, day, .. } = warning;
    match holder {
        Holder::Room(id) => format!("budget:warned:{setting}:{id}:{}", day.0),
        Holder::World(id) => format!("budget:warned:{setting}:{id}:{}", day.0),
        _ => format!("budget:warned:{setting}:{}", day.0),
    }
}

fn name(room: &Room) -> String {
    if room.name.is_empty() { room.remote.to_string() } else { room.name.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::refusal::Who;
    use galatea_core::RoomId;

    #[test]
    fn rooms_of_one_setting_are_warned_of_one_by_one() {
        let warning = |holder| Warning {
            holder,
            who: Who::Room,
            setting: "BUDGET_ROOM".into(),
            percent: 80,
            day: Day(1),
        };
        let room = || Holder::Room(RoomId(uuid::Uuid::new_v4()));
        let first = warning(room());
        assert_eq!(key(&first), key(&first.clone()));
        assert_ne!(key(&first), key(&warning(room())));
        assert_ne!(key(&first), key(&Warning { day: Day(2), ..first.clone() }));
    }
}

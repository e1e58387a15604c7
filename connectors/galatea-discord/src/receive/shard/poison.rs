//! Skips a payload that a shard cannot read, and records the gap.

use galatea_core::Gap;
use serde_json::Value;
use std::time::Duration;

use super::{ConnectionEnd, Shard};
use crate::receive::ShardEvent;

impl Shard {
    /// Handles a payload that broke the connection because it is too large or not text. It may have
    /// been damaged in transit, so the first time the shard resumes and receives it again. The
    /// second time the shard skips the event, which would otherwise come back forever.
    pub(super) async fn poisoned(&mut self, ready: bool) -> ConnectionEnd {
        // Compare sessions, not `ready`: after a resume the payload comes before RESUMED.
        let here = self.session.clone();
        let again = here.is_some() && self.poison == here;
        tracing::warn!(
            shard = self.number,
            again,
            "gateway payload too large or not text; requesting it again once, then skipping it"
        );
        self.poison = here;
        if !again {
            return self.broken(ready);
        }
        self.note_unread("an event of Discord's is too large or no text, and is skipped").await;
        if let Some(session) = &mut self.session {
            // Events are numbered without gaps, so this one is the next.
            session.sequence += 1;
            let skipped = ShardEvent {
                session: session.clone(),
                name: String::new(),
                data: Value::Null,
                acknowledged: None,
            };
            if self.items.send(skipped).await.is_err() {
                tracing::debug!(
                    shard = self.number,
                    "the worker has ended; Discord sends the event again"
                );
            }
        }
        ConnectionEnd::Resume(Duration::ZERO)
    }

    /// Records the gap of an unreadable event: its sequence number, none of its content.
    pub(super) async fn note_unread(&self, what: &str) {
        let (gateway, stop) = (&self.fleet.intake.gateway, &self.fleet.intake.stop);
        let number = self.session.as_ref().map_or(0, |session| session.sequence + 1);
        let gap = Gap {
            place: Some(format!("shard {}, event {number}", self.number)),
            ..Gap::new(gateway.clock().now(), what)
        };
        if let Some(Err(error)) = stop.run_until_cancelled(gateway.note_gap(gap)).await {
            tracing::warn!(shard = self.number, event = number, error = %error, "failed to record a skipped event as a gap; continuing without it");
        }
    }
}

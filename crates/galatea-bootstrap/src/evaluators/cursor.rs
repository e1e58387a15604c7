//! How far the reflections on a room have read.

use galatea_core::{EntityId, Memory, MemoryId, Timestamp};
use serde::{Deserialize, Serialize};

/// The end of what the last reflection on a room read. A time alone does not say it: Telegram's
/// times are whole seconds, so a question may be older than the answer before it, and two questions
/// may be equally old.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ReflectionCursor {
    /// Time of the newest message by a person that was read.
    at: Timestamp,
    /// The messages of that time and later that were read.
    ids: Vec<MemoryId>,
}

impl ReflectionCursor {
    /// The end of these messages, of which the agent's own have later times than the questions that
    /// follow them.
    pub(crate) fn of<'a>(
        messages: impl Iterator<Item = &'a Memory> + Clone,
        agent: EntityId,
    ) -> Self {
        let by_people = messages.clone().filter(|memory| memory.entity_id != agent);
        let at = by_people.map(|memory| memory.created_at).max().unwrap_or_default();
        let ids = messages.filter(|memory| memory.created_at >= at).map(|memory| memory.id);
        Self { at, ids: ids.collect() }
    }

    /// Reads a stored cursor. Versions before this one stored a time only.
    pub(crate) fn from_stored(value: &serde_json::Value) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Time(Timestamp),
            Cursor { at: Timestamp, ids: Vec<MemoryId> },
        }
        Some(match Stored::deserialize(value).ok()? {
            Stored::Time(at) => Self { at: Timestamp(at.0.saturating_add(1)), ids: Vec::new() },
            Stored::Cursor { at, ids } => Self { at, ids },
        })
    }

    /// Whether the message was not read yet.
    pub(crate) fn is_new(&self, memory: &Memory) -> bool {
        memory.created_at >= self.at && !self.ids.contains(&memory.id)
    }

    /// The time from which messages may be new.
    pub(crate) fn since(&self) -> Timestamp {
        self.at
    }

    /// How many messages since then are not new.
    pub(crate) fn read(&self) -> u64 {
        self.ids.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_time_of_an_earlier_version_means_later_messages() {
        let id = MemoryId::fresh();
        let stored = ReflectionCursor::from_stored(&json!(5)).unwrap();
        assert_eq!(stored, ReflectionCursor { at: Timestamp(6), ids: Vec::new() });
        let cursor = ReflectionCursor { at: Timestamp(6), ids: vec![id] };
        assert_eq!(ReflectionCursor::from_stored(&json!(cursor)), Some(cursor));
        assert_eq!(ReflectionCursor::from_stored(&json!("yesterday")), None);
    }
}

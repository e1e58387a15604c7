//! How far the reflections on a room have read, and what of it they have not learnt yet.

use galatea_core::{EntityId, Error, ErrorKind, Memory, MemoryId, Timestamp};
use serde::{Deserialize, Serialize};

/// Failures that the messages may be to blame for, after which they are passed over.
const MOST_FAILURES: u32 = 3;

/// The end of what the last reflection on a room read. A time alone does not say it: Telegram's
/// times are whole seconds, so two questions may be equally old.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReflectionCursor {
    /// Time of the newest message by a person that was read.
    at: Timestamp,
    /// The messages of that time and later that were read.
    ids: Vec<MemoryId>,
    /// Set before the model is asked, taken off once its answer is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unlearnt: Option<Unlearnt>,
}

/// A reflection that has not ended, or has failed: its messages are read again by the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unlearnt {
    /// Where it began to read; none if nothing had been read before.
    from: Option<Box<ReflectionCursor>>,
    /// The id of the first fact that it stores: if that is stored, all of it is.
    fact: MemoryId,
    /// Failures that the messages may be to blame for.
    failures: u32,
}

impl ReflectionCursor {
    /// The end of these messages.
    pub(crate) fn of<'a>(
        messages: impl Iterator<Item = &'a Memory> + Clone,
        agent: EntityId,
    ) -> Self {
        let by_people = messages.clone().filter(|memory| memory.entity_id != agent);
        let at = by_people.map(|memory| memory.created_at).max().unwrap_or_default();
        let ids = messages.filter(|memory| memory.created_at >= at).map(|memory| memory.id);
        Self { at, ids: ids.collect(), unlearnt: None }
    }

    /// Reads a stored cursor. Early versions stored a time only.
    pub(crate) fn from_stored(value: &serde_json::Value) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Time(Timestamp),
            Cursor(ReflectionCursor),
        }
        Some(match Stored::deserialize(value).ok()? {
            Stored::Time(at) => Self { at: Timestamp(at.0.saturating_add(1)), ..Self::default() },
            Stored::Cursor(cursor) => cursor,
        })
    }

    /// The same, of a reflection that began to read at `from` and has learnt nothing yet. `last` is
    /// the one before it, whose failures count on if its messages are read again.
    #[must_use]
    pub(crate) fn unlearnt(self, from: Option<&Self>, last: Option<&Self>, fact: MemoryId) -> Self {
        let from = from.map(|from| Box::new(from.clone().learnt()));
        let again = last.and_then(|last| last.unlearnt.as_ref()).filter(|last| last.from == from);
        let failures = again.map_or(0, |last| last.failures);
        Self { unlearnt: Some(Unlearnt { from, fact, failures }), ..self }
    }

    /// The same, once all was learnt or passed over.
    #[must_use]
    pub(crate) fn learnt(self) -> Self {
        Self { unlearnt: None, ..self }
    }

    /// What to store after a failure: nothing if the messages are not to blame. If they may be, it
    /// is counted, and after [`MOST_FAILURES`] the messages are passed over.
    pub(crate) fn failed(&self, error: &Error) -> Option<Self> {
        let unlearnt = self.unlearnt.as_ref()?;
        if !may_be_due_to_content(error.kind()) {
            return None;
        }
        let failures = unlearnt.failures + 1;
        let counted = Unlearnt { failures, ..unlearnt.clone() };
        Some(Self { unlearnt: (failures < MOST_FAILURES).then_some(counted), ..self.clone() })
    }

    /// Whether a reflection has not ended, or has failed.
    pub(crate) fn is_unlearnt(&self) -> bool {
        self.unlearnt.is_some()
    }

    /// The fact that is stored if such a reflection ended in a crash behind its commit.
    pub(crate) fn first_fact(&self) -> Option<MemoryId> {
        self.unlearnt.as_ref().map(|unlearnt| unlearnt.fact)
    }

    /// Where the next reflection begins to read; none if at the beginning.
    pub(crate) fn begin(&self) -> Option<&Self> {
        self.unlearnt.as_ref().map_or(Some(self), |unlearnt| unlearnt.from.as_deref())
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

/// Whether the same question may fail again whatever the model's service does.
fn may_be_due_to_content(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Invalid | ErrorKind::TooLong | ErrorKind::Unsupported | ErrorKind::Unexpected
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_time_of_an_earlier_version_means_later_messages() {
        let id = MemoryId::fresh();
        let stored = ReflectionCursor::from_stored(&json!(5)).unwrap();
        let at = |ids| ReflectionCursor { at: Timestamp(6), ids, unlearnt: None };
        assert_eq!(stored, at(Vec::new()));
        let cursor = at(vec![id]);
        assert_eq!(ReflectionCursor::from_stored(&json!({ "at": 6, "ids": [id] })), Some(cursor));
        assert_eq!(ReflectionCursor::from_stored(&json!("yesterday")), None);
    }

    #[test]
    fn what_failed_is_read_again_until_the_messages_are_to_blame() {
        let fact = MemoryId::fresh();
        let first = ReflectionCursor { at: Timestamp(6), ..ReflectionCursor::default() };
        let end = ReflectionCursor { at: Timestamp(9), ..ReflectionCursor::default() };
        let begun = end.clone().unlearnt(Some(&first), Some(&first), fact);
        assert_eq!(ReflectionCursor::from_stored(&json!(begun)), Some(begun.clone()));
        assert_eq!((begun.begin(), begun.first_fact()), (Some(&first), Some(fact)));
        assert_eq!(begun.failed(&Error::new(ErrorKind::Unavailable, "overloaded")), None);

        let mut last = begun;
        let broken = Error::unexpected("holds no JSON");
        for _ in 1..MOST_FAILURES {
            let failed = last.failed(&broken).unwrap();
            last = end.clone().unlearnt(failed.begin(), Some(&failed), fact);
            assert!(last.is_unlearnt());
        }
        let passed = last.failed(&broken).unwrap();
        assert_eq!((passed.begin(), passed.is_unlearnt()), (Some(&end), false));
        let anew = end.clone().unlearnt(passed.begin(), Some(&passed), fact);
        assert!(anew.failed(&broken).unwrap().is_unlearnt(), "later messages count anew");
    }
}

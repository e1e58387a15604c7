//! Read position of the reflections on a room, and the part of it that they have not learnt yet.

use galatea_core::{EntityId, Error, ErrorKind, Memory, MemoryId, Timestamp, model::LIMIT_CODE};
use serde::{Deserialize, Serialize};

/// Attempts after which messages that may be to blame are passed over.
const MOST_ATTEMPTS: u32 = 3;
/// The patience with a quiet room doubles so often.
const MOST_PATIENCE: u32 = 2;

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
    /// Reflections one after another that learnt nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    empty: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A reflection that has not ended, or has failed: its messages are read again by the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unlearnt {
    /// Start of its reading; none if nothing had been read before.
    from: Option<Box<ReflectionCursor>>,
    /// The id of the first fact that it stores: if that is stored, all of it is.
    fact: MemoryId,
    /// Attempts to learn from these messages, this one included. Those for whose failure the
    /// messages are not to blame do not count.
    #[serde(default)]
    attempts: u32,
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
        Self { at, ids: ids.collect(), ..Self::default() }
    }

    /// Reads a stored cursor.
    pub(crate) fn from_stored(value: &serde_json::Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }

    /// The same, of a reflection that began to read at `from` and has learnt nothing yet. `last` is
    /// the one before it, whose attempts count on if its messages are read again. The attempt is
    /// counted before it is made, so that one that ends in a panic or at a deadline counts, too.
    #[must_use]
    pub(crate) fn unlearnt(self, from: Option<&Self>, last: Option<&Self>, fact: MemoryId) -> Self {
        let from = from.map(|from| Box::new(from.clone().learnt()));
        let again = last.and_then(|last| last.unlearnt.as_ref()).filter(|last| last.from == from);
        let attempts = again.map_or(0, |last| last.attempts) + 1;
        Self { unlearnt: Some(Unlearnt { from, fact, attempts }), ..self }
    }

    /// The same, once all was learnt or passed over.
    #[must_use]
    pub(crate) fn learnt(self) -> Self {
        Self { unlearnt: None, ..self }
    }

    /// The same, after so many reflections that learnt nothing.
    #[must_use]
    pub(crate) fn after_empty(self, empty: u32) -> Self {
        Self { empty, ..self }
    }

    /// Number of reflections before the next one that learnt nothing.
    pub(crate) fn empty(&self) -> u32 {
        self.empty
    }

    /// Multiple of the usual number of messages that the next reflection waits for: twice as many
    /// after three that learnt nothing, four times as many after six.
    pub(crate) fn patience(&self) -> u64 {
        1 << (self.empty / 3).min(MOST_PATIENCE)
    }

    /// Cursor to store after a failure for which the messages are not to blame: the attempt does
    /// not count. None if they may be.
    pub(crate) fn uncounted(&self, error: &Error) -> Option<Self> {
        let unlearnt = self.unlearnt.clone()?;
        let attempts = unlearnt.attempts.saturating_sub(1);
        (!may_be_due_to_content(error))
            .then(|| Self { unlearnt: Some(Unlearnt { attempts, ..unlearnt }), ..self.clone() })
    }

    /// Attempts to learn from the messages that are read again.
    pub(crate) fn attempts(&self) -> u32 {
        self.unlearnt.as_ref().map_or(0, |unlearnt| unlearnt.attempts)
    }

    /// True if the messages are to be passed over.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.attempts() >= MOST_ATTEMPTS
    }

    /// The fact that is stored if a reflection ended in a crash behind its commit.
    pub(crate) fn first_fact(&self) -> Option<MemoryId> {
        self.unlearnt.as_ref().map(|unlearnt| unlearnt.fact)
    }

    /// Start of the next reflection's reading; none if at the beginning.
    pub(crate) fn begin(&self) -> Option<&Self> {
        self.unlearnt.as_ref().map_or(Some(self), |unlearnt| unlearnt.from.as_deref())
    }

    /// True if the message was not read yet.
    pub(crate) fn is_new(&self, memory: &Memory) -> bool {
        memory.created_at >= self.at && !self.ids.contains(&memory.id)
    }

    /// The time from which messages may be new.
    pub(crate) fn since(&self) -> Timestamp {
        self.at
    }

    /// Number of messages since then that are not new.
    pub(crate) fn read(&self) -> u64 {
        self.ids.len() as u64
    }
}

/// True if the same question may fail again whatever the model's service does. A limit of money or
/// tokens says nothing of the question: the model was not asked.
fn may_be_due_to_content(error: &Error) -> bool {
    error.code() != Some(LIMIT_CODE)
        && matches!(
            error.kind(),
            ErrorKind::Invalid
                | ErrorKind::TooLong
                | ErrorKind::Unsupported
                | ErrorKind::Unexpected
                | ErrorKind::Timeout
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_no_cursor_counts_as_none() {
        let id = MemoryId::fresh();
        let cursor =
            ReflectionCursor { at: Timestamp(6), ids: vec![id], ..ReflectionCursor::default() };
        assert_eq!(ReflectionCursor::from_stored(&json!({ "at": 6, "ids": [id] })), Some(cursor));
        assert_eq!(ReflectionCursor::from_stored(&json!("yesterday")), None);
    }

    #[test]
    fn what_was_not_learnt_is_read_again_until_the_messages_are_to_blame() {
        let fact = MemoryId::fresh();
        let first = ReflectionCursor { at: Timestamp(6), ..ReflectionCursor::default() };
        let end = ReflectionCursor { at: Timestamp(9), ..ReflectionCursor::default() };
        let mut last = end.clone().unlearnt(Some(&first), Some(&first), fact);
        assert_eq!(ReflectionCursor::from_stored(&json!(last)), Some(last.clone()));
        assert_eq!((last.begin(), last.first_fact()), (Some(&first), Some(fact)));
        for attempts in 2..=MOST_ATTEMPTS {
            assert!(!last.is_hopeless());
            last = end.clone().unlearnt(last.begin(), Some(&last), fact);
            assert_eq!((last.attempts(), last.begin()), (attempts, Some(&first)));
        }
        assert!(last.is_hopeless());
        let anew = end.clone().unlearnt(Some(&end), Some(&last.learnt()), fact);
        assert_eq!(anew.attempts(), 1, "later messages count anew");
    }

    #[test]
    fn a_failure_without_blame_does_not_count() {
        let begun = ReflectionCursor::default().unlearnt(None, None, MemoryId::fresh());
        let spent = Error::invalid("used up").with_code(LIMIT_CODE);
        let outages = [ErrorKind::Unavailable, ErrorKind::RateLimited, ErrorKind::Unauthorized];
        for error in outages.map(|kind| Error::new(kind, "down")).iter().chain([&spent]) {
            let stored = begun.uncounted(error).unwrap();
            assert_eq!((stored.attempts(), stored.first_fact()), (0, begun.first_fact()));
        }
        let blamed = [ErrorKind::Invalid, ErrorKind::Unexpected, ErrorKind::Timeout];
        for error in blamed.map(|kind| Error::new(kind, "holds no JSON")) {
            assert_eq!(begun.uncounted(&error), None);
        }
    }
}

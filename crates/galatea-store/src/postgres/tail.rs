//! The tail of the messages: what any process has committed since it was last read. Searches that ask
//! for it at the same time share one reading.
//!
//! Numbers of messages are given before their transactions commit, so a message may appear behind one
//! that was read already. Each reading therefore begins where every transaction has ended that was
//! under way at a reading before.

use galatea_core::Error;
use std::{collections::HashSet, sync::atomic::AtomicU64, time::Duration};
use tokio::sync::Mutex;

use crate::talk::Talks;

/// For how long a Room is kept in memory: other processes change and remove messages, too. A search
/// finds a message changed meanwhile by the words it had before, and shows what it says now; it never
/// shows one that was removed.
const GOOD: Duration = Duration::from_secs(300);
/// Messages that are read once more for a transaction that does not end: several groups of a writer.
/// Beyond them it is not waited for, and Rooms are read again when it has ended.
pub(super) const AGAIN: i64 = 1_500;

/// How far the messages were read.
#[derive(Default)]
pub(crate) struct Tail {
    pub(super) state: Mutex<State>,
    /// Readings that were begun.
    pub(super) begun: AtomicU64,
}

#[derive(Default)]
pub(super) struct State {
    /// The last reading that succeeded.
    pub(super) done: u64,
    /// The last one that failed.
    pub(super) failed: Option<(u64, Error)>,
    pub(super) position: Position,
    /// Messages behind that position that Rooms have got already.
    pub(super) given: HashSet<i64>,
}

/// Where the next reading begins.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    /// All messages up to this number were read. Unknown before the first reading.
    pub(super) read: Option<i64>,
    /// When all transactions before this one have ended, all messages up to that number were read.
    pub(super) waiting: Option<(i64, i64)>,
    /// Messages of a transaction may have been passed over.
    is_partial: bool,
}

impl Position {
    /// After a reading up to a message, when all transactions before `oldest` had ended and none had
    /// begun from `next` on.
    pub(super) fn advanced(self, oldest: i64, next: i64, last: i64) -> Self {
        let read = self.read.map_or(last, |read| read.max(last - AGAIN));
        let is_partial = self.is_partial || self.read.is_some_and(|before| before < read);
        match self.waiting {
            Some((until, _)) if oldest < until => {
                Self { read: Some(read), waiting: self.waiting, is_partial }
            }
            Some((_, number)) => Self {
                read: Some(read.max(number)),
                waiting: Some((next, last)),
                // Others may be under way that began after those that were waited for.
                is_partial: number < read && oldest < next,
            },
            None => Self { read: Some(read), waiting: Some((next, last)), is_partial: false },
        }
    }

    /// Whether a transaction that was passed over has ended by then.
    pub(super) fn has_missed(self, oldest: i64) -> bool {
        self.is_partial && self.waiting.is_some_and(|(until, _)| oldest >= until)
    }
}

impl Tail {
    /// Rooms of a database that other processes write as well.
    pub(super) fn talks() -> Talks {
        Talks::of_several_processes(GOOD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_begins_where_all_transactions_have_ended() {
        let first = Position::default().advanced(10, 15, 100);
        assert_eq!(
            first,
            Position { read: Some(100), waiting: Some((15, 100)), is_partial: false }
        );
        // A transaction before the 15th is under way.
        let second = first.advanced(14, 20, 120);
        assert_eq!(second, first);
        let third = second.advanced(15, 25, 130);
        assert_eq!(
            third,
            Position { read: Some(100), waiting: Some((25, 130)), is_partial: false }
        );
        let fourth = third.advanced(26, 30, 140);
        assert_eq!(
            fourth,
            Position { read: Some(130), waiting: Some((30, 140)), is_partial: false }
        );
    }

    #[test]
    fn a_transaction_that_does_not_end_is_not_waited_for() {
        let first = Position::default().advanced(10, 15, 100);
        let (second, waiting) = (first.advanced(10, 900, 5_000), Some((15, 100)));
        let read = Some(5_000 - AGAIN);
        assert_eq!(second, Position { read, waiting, is_partial: true });
        assert!(!second.has_missed(14) && second.has_missed(15));
        assert!(second.advanced(15, 910, 5_001).is_partial, "another one is under way");
        assert!(!second.advanced(910, 910, 5_001).is_partial);
    }
}

//! The tail of the messages: what any process has committed since it was last read. Searches that ask
//! for it at the same time share one reading.
//!
//! Numbers of messages are given before their transactions commit, so a message may appear behind one
//! that was read already. Each reading therefore begins where every transaction has ended that was
//! under way at a reading before.

use galatea_core::{AgentId, EntityId, Error, MemoryId, Result, RoomId, store::RecallQuery};
use sqlx::FromRow;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use tokio::{sync::Mutex, task::spawn_blocking};
use uuid::Uuid;

use super::Postgres;
use crate::{
    change::Changed,
    dialect::{Dialects, Statement, values},
    talk::{self, Extent, Handle, Key, Message, Talks, text_of},
};

/// For how long a Room is kept in memory: other processes change and remove messages, too. A search
/// finds a message changed meanwhile by the words it had before, and shows what it says now; it never
/// shows one that was removed.
const GOOD: Duration = Duration::from_secs(300);
/// Messages of one reading. Behind more of them Rooms are read again.
const MOST: u32 = 2_000;
/// Messages that are read once more for a transaction that does not end. Beyond them it is not waited
/// for: its messages are found when their Rooms are read again.
const AGAIN: i64 = 200;

/// The messages after a number ($1), at most $2, in one row at least. Without a number: none, but which
/// one is the last.
pub(crate) const TAIL: Dialects = Dialects {
    sqlite: "",
    postgres: "SELECT h.oldest, h.next, h.last, c.seq, c.id, c.agent_id, c.room_id, c.entity_id, c.created_at, c.content FROM \
               (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next, \
                  CASE WHEN $1::bigint IS NULL THEN coalesce((SELECT max(seq) FROM memories), 0) END AS last) h \
               LEFT JOIN LATERAL (SELECT m.seq, m.id, m.agent_id, m.room_id, m.entity_id, m.created_at, m.content::text AS content FROM memories m \
                  WHERE m.seq > $1 AND m.type = 'messages' AND m.scope = 'room' ORDER BY m.seq LIMIT $2) c ON true",
};

/// How far the messages were read.
#[derive(Default)]
pub(crate) struct Tail {
    state: Mutex<State>,
    /// Readings that were begun.
    begun: AtomicU64,
}

#[derive(Default)]
struct State {
    /// The last reading that succeeded.
    done: u64,
    position: Position,
}

/// Where the next reading begins.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Position {
    /// All messages up to this number were read. Unknown before the first reading.
    read: Option<i64>,
    /// When all transactions before this one have ended, all messages up to that number were read.
    waiting: Option<(i64, i64)>,
}

impl Position {
    /// After a reading up to a message, when all transactions before `oldest` had ended and none had
    /// begun from `next` on.
    fn advanced(self, oldest: i64, next: i64, last: i64) -> Self {
        let read = self.read.map_or(last, |read| read.max(last - AGAIN));
        match self.waiting {
            Some((until, number)) if oldest < until => {
                Self { read: Some(read), waiting: Some((until, number)) }
            }
            Some((_, number)) => Self { read: Some(read.max(number)), waiting: Some((next, last)) },
            None => Self { read: Some(read), waiting: Some((next, last)) },
        }
    }
}

#[derive(FromRow)]
struct Row {
    oldest: i64,
    next: i64,
    last: Option<i64>,
    seq: Option<i64>,
    id: Option<Uuid>,
    agent_id: Option<Uuid>,
    room_id: Option<Uuid>,
    entity_id: Option<Uuid>,
    created_at: Option<i64>,
    content: Option<String>,
}

impl Row {
    fn message(&self) -> Option<(Key, impl FnOnce() -> Message)> {
        let Self { seq: Some(seq), id: Some(id), .. } = *self else { return None };
        let key = (AgentId(self.agent_id?), RoomId(self.room_id?));
        let (person, at) = (EntityId(self.entity_id?), self.created_at?);
        let content = self.content.as_deref()?;
        let message = move || Message::new(seq, MemoryId(id), person, at, &text_of(content));
        Some((key, message))
    }
}

impl Tail {
    /// Rooms of a database that other processes write as well.
    pub(super) fn talks() -> Talks {
        Talks::of_several_processes(GOOD)
    }
}

impl Postgres {
    /// The Room that a query searches, in memory as it is now. None if the query leaves out most of its
    /// messages, and older ones than those in memory would have to be found.
    pub(crate) async fn talk(&self, query: &RecallQuery) -> Result<Option<Handle>> {
        if talk::key(query).is_none() {
            return Ok(None);
        }
        // First: what is committed from here on is either in the Room when it is read, or in the next
        // tail.
        self.read_tail().await?;
        let Some(handle) = self.talks.of_or_alone(query) else { return Ok(None) };
        if handle.extent() == Extent::Unread {
            let read: Vec<Message> = self.all(handle.read()).await?;
            // Up to 20 ms.
            let analysed = spawn_blocking(|| read.into_iter().map(Message::analysed).collect());
            let analysed = analysed.await.map_err(|e| {
                Error::unexpected("messages could not be analysed for a search").with_source(e)
            })?;
            self.talks.keep(&handle, analysed);
        }
        Ok(handle.fits(query).then_some(handle))
    }

    /// Adds to the Rooms in memory what was committed before this call.
    pub(super) async fn read_tail(&self) -> Result<()> {
        let before = self.tail.begun.load(Ordering::Acquire);
        let mut state = self.tail.state.lock().await;
        if state.done > before {
            // A reading that began after this call has ended.
            return Ok(());
        }
        let number = self.tail.begun.fetch_add(1, Ordering::AcqRel) + 1;
        let Position { read, waiting } = state.position;
        let rows: Vec<Row> = self.all::<Row>(tail(read)).await?;
        let Some(&Row { oldest, next, .. }) = rows.first() else { return Ok(()) };
        let gone = waiting.is_some_and(|(until, _)| next < until);
        if gone || rows.len() >= usize::try_from(MOST).unwrap_or(usize::MAX) {
            // Another server answers, or too much was written.
            self.talks.changed(&Changed::Any);
            state.position = Position::default();
        } else {
            let first = rows.first().and_then(|row| row.last).map(|last| last - AGAIN);
            let last = rows.iter().filter_map(|row| row.seq).next_back().or(read).or(first);
            self.talks.add_of(rows.iter().filter_map(Row::message));
            state.position = state.position.advanced(oldest, next, last.unwrap_or(0));
        }
        state.done = number;
        Ok(())
    }
}

fn tail(read: Option<i64>) -> Statement {
    TAIL.with(values![read, i64::from(MOST)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_begins_where_all_transactions_have_ended() {
        let first = Position::default().advanced(10, 15, 100);
        assert_eq!(first, Position { read: Some(100), waiting: Some((15, 100)) });
        // A transaction before the 15th is under way.
        let second = first.advanced(14, 20, 120);
        assert_eq!(second, first);
        let third = second.advanced(15, 25, 130);
        assert_eq!(third, Position { read: Some(100), waiting: Some((25, 130)) });
        let fourth = third.advanced(26, 30, 140);
        assert_eq!(fourth, Position { read: Some(130), waiting: Some((30, 140)) });
    }

    #[test]
    fn a_transaction_that_does_not_end_is_not_waited_for() {
        let first = Position::default().advanced(10, 15, 100);
        let second = first.advanced(10, 900, 1_000);
        assert_eq!(second, Position { read: Some(1_000 - AGAIN), waiting: Some((15, 100)) });
    }
}

//! Rooms in memory as a search needs them: read, and with what any process has committed since.

use galatea_core::{AgentId, EntityId, Error, MemoryId, Result, RoomId, store::RecallQuery};
use sqlx::FromRow;
use std::sync::atomic::Ordering;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::{
    Postgres,
    tail::{AGAIN, Position},
};
use crate::{
    change::Changed,
    dialect::{Dialects, Statement, values},
    talk::{self, Extent, Handle, Key, Message, text_of},
};

/// Messages of one reading. Behind more of them Rooms are read again.
const MOST: u32 = 5_000;

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
            let read: Vec<Message> = self.all(handle.read(talk::MOST)).await?;
            // Up to 20 ms.
            let reader = handle.clone();
            let analysed = spawn_blocking(move || reader.analysed(read));
            let analysed = analysed.await.map_err(|e| {
                Error::unexpected("messages could not be analysed for a search").with_source(e)
            })?;
            self.talks.keep(&handle, analysed, talk::MOST);
        }
        Ok(handle.fits(query).then_some(handle))
    }

    /// Drops a Room of which messages are gone.
    pub(crate) fn forget_talk(&self, handle: &Handle) {
        self.talks.forget(handle);
    }

    /// Adds to the Rooms in memory what was committed before this call.
    pub(super) async fn read_tail(&self) -> Result<()> {
        let before = self.tail.begun.load(Ordering::Acquire);
        let mut state = self.tail.state.lock().await;
        // A reading that began after this call has ended.
        if state.done > before {
            return Ok(());
        }
        if let Some((_, failure)) = state.failed.as_ref().filter(|(number, _)| *number > before) {
            return Err(failure.duplicate());
        }
        let number = self.tail.begun.fetch_add(1, Ordering::AcqRel) + 1;
        let position @ Position { read, waiting, .. } = state.position;
        let rows: Vec<Row> = match self.all::<Row>(tail(read)).await {
            Ok(rows) => rows,
            Err(failure) => {
                // With a silent server those who wait would ask one after the other.
                state.failed = Some((number, failure.duplicate()));
                return Err(failure);
            }
        };
        let Some(&Row { oldest, next, .. }) = rows.first() else { return Ok(()) };
        let gone = waiting.is_some_and(|(until, _)| next < until);
        let many = rows.len() >= usize::try_from(MOST).unwrap_or(usize::MAX);
        if read.is_none() || gone || many || position.has_missed(oldest) {
            // The first reading, another server answers, too much was written, or a transaction took
            // too long.
            self.talks.changed(&Changed::Any, None);
        }
        if gone || many {
            state.position = Position::default();
            state.given.clear();
        } else {
            let first = rows.first().and_then(|row| row.last).map(|last| last - AGAIN);
            let last = rows.iter().filter_map(|row| row.seq).next_back().or(read).or(first);
            let new = rows.iter().filter(|row| row.seq.is_some_and(|seq| state.given.insert(seq)));
            self.talks.add_of(new.filter_map(Row::message));
            state.position = state.position.advanced(oldest, next, last.unwrap_or(0));
            let read = state.position.read.unwrap_or(0);
            state.given.retain(|seq| *seq > read);
        }
        state.done = number;
        Ok(())
    }
}

fn tail(read: Option<i64>) -> Statement {
    TAIL.with(values![read, i64::from(MOST)])
}

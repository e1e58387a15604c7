//! Rows that SQLite's index of words does not have yet. A search that would miss one brings the
//! index up first; looking at the rows themselves for every search would cost more than the search.

use galatea_core::{Result, store::RecallQuery};
use std::sync::{Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

use super::source::{Row, Source};
use crate::{
    dialect::{Dialects, values},
    sqlite::raw::Columns,
};

/// Memories that the index may be behind before a search brings it up although it would miss none:
/// a commit for each would cost more than the search.
pub(super) const BEHIND: i64 = 500;

/// How far the index is, how far the rows are, and which row has a number.
pub(crate) const EXTENT: Dialects = Dialects {
    sqlite: "SELECT p.seq, coalesce((SELECT max(m.seq) FROM memories m), 0), (SELECT m.id FROM memories m WHERE m.seq = $1) FROM terms_progress p",
    postgres: "",
};
/// The rows after a number.
pub(crate) const AFTER: Dialects = Dialects {
    sqlite: "SELECT m.seq, m.id, m.type, m.room_id, m.entity_id, m.created_at FROM memories m WHERE m.seq > $1 ORDER BY m.seq",
    postgres: "",
};

/// The rows without words as they were last seen, [`BEHIND`] at most. Of a row only what a query's
/// conditions ask for.
#[derive(Default)]
pub(crate) struct Unindexed(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Up to which number rows were looked at, and the id of that row. If another one has the number
    /// now, rows were deleted and their numbers given again.
    seen: i64,
    id: Option<Uuid>,
    rows: Vec<Late>,
}

/// A row without words.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
struct Late {
    seq: i64,
    id: Uuid,
    #[sqlx(rename = "type")]
    kind: String,
    room_id: Uuid,
    entity_id: Uuid,
    created_at: i64,
}

impl Row for Late {
    fn of(row: &mut Columns<'_>) -> Option<Self> {
        Some(Self {
            seq: row.int(0)?,
            id: row.id(1)?,
            kind: row.text(2)?.to_owned(),
            room_id: row.id(3)?,
            entity_id: row.id(4)?,
            created_at: row.int(5)?,
        })
    }
}

#[derive(sqlx::FromRow)]
struct Extent {
    indexed: i64,
    last: i64,
    id: Option<Uuid>,
}

impl Row for Extent {
    fn of(row: &mut Columns<'_>) -> Option<Self> {
        Some(Self { indexed: row.int(0)?, last: row.int(1)?, id: row.id(2) })
    }
}

impl Unindexed {
    /// Whether a search would miss a row, or too many rows wait.
    pub(super) async fn lacks(&self, source: &Source<'_, '_>, query: &RecallQuery) -> Result<bool> {
        let seen = self.known().seen;
        let extent = source.all::<Extent>(EXTENT.with(values![seen])).await?;
        let Some(Extent { indexed, last, id }) = extent.into_iter().next() else {
            return Ok(false);
        };
        if last - indexed > BEHIND {
            return Ok(true);
        }
        let after = self.known().prepare(indexed, (seen, id));
        if after < last {
            let new = source.all::<Late>(AFTER.with(values![after])).await?;
            self.known().add(new);
        }
        Ok(self.known().rows.iter().any(|late| late.fits(query)))
    }

    /// Forgets what it knows: rows have moved to another Room.
    pub(crate) fn reset(&self) {
        *self.known() = Known::default();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Every change is complete before anything that could panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Drops what is indexed by now; the number after which rows are new. `now` is the row that has
    /// the number up to which rows were looked at.
    fn prepare(&mut self, indexed: i64, now: (i64, Option<Uuid>)) -> i64 {
        if (self.seen, self.id) != now || self.id.is_none() {
            *self = Self::default();
        }
        self.rows.retain(|late| late.seq > indexed);
        self.seen.max(indexed)
    }

    fn add(&mut self, new: Vec<Late>) {
        // Another search may have added some meanwhile.
        let seen = self.rows.last().map_or(0, |late| late.seq);
        self.rows.extend(new.into_iter().filter(|late| late.seq > seen));
        if let Some(last) = self.rows.last() {
            (self.seen, self.id) = (last.seq, Some(last.id));
        }
    }
}

impl Late {
    /// The conditions of a query that such a row is enough for.
    fn fits(&self, query: &RecallQuery) -> bool {
        query.sorts().iter().any(|kind| kind.as_str() == self.kind)
            && query.room.is_none_or(|room| room.0 == self.room_id)
            && (query.people.is_empty()
                || query.people.iter().any(|person| person.0 == self.entity_id))
            && query.since.is_none_or(|since| self.created_at >= since.0)
            && query.before.is_none_or(|before| self.created_at < before.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(seq: i64) -> Late {
        let (room_id, entity_id) = (Uuid::nil(), Uuid::nil());
        let id = Uuid::from_u128(u128::try_from(seq).unwrap());
        Late { seq, id, kind: "messages".to_owned(), room_id, entity_id, created_at: seq }
    }

    fn numbers(known: &Known) -> Vec<i64> {
        known.rows.iter().map(|late| late.seq).collect()
    }

    fn same(known: &Known) -> (i64, Option<Uuid>) {
        (known.seen, known.id)
    }

    #[test]
    fn each_row_is_looked_at_once_and_goes_when_it_is_indexed() {
        let mut known = Known::default();
        assert_eq!(known.prepare(10, (0, None)), 10);
        known.add(vec![late(11), late(12)]);
        // Two searches read the same rows.
        known.add(vec![late(11), late(12)]);
        assert_eq!(numbers(&known), [11, 12]);
        let now = same(&known);
        assert_eq!(known.prepare(10, now), 12);
        known.add(vec![late(13)]);
        let now = same(&known);
        assert_eq!(known.prepare(12, now), 13);
        assert_eq!(numbers(&known), [13]);
        assert_eq!(known.prepare(20, now), 20);
        assert_eq!(numbers(&known), [0; 0]);
    }

    #[test]
    fn numbers_that_are_given_again_are_looked_at_again() {
        let mut known = Known::default();
        known.prepare(0, (0, None));
        known.add(vec![late(1), late(2), late(3)]);
        // The newest was deleted, and its number given to another row.
        let other = (3, Some(Uuid::from_u128(99)));
        assert_eq!(known.prepare(2, other), 2);
        assert_eq!(numbers(&known), [0; 0]);
        known.add(vec![late(3)]);
        assert_eq!(known.prepare(2, (3, None)), 2, "it was deleted");
    }
}

//! Rows that the index of words does not have yet, as searches last saw them: looking at the rows
//! themselves for every search would cost more than the search.

use galatea_core::store::RecallQuery;
use std::sync::{Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

/// The rows without words as they were last seen, a few hundred at most. Of a row only what a query's
/// conditions ask for.
#[derive(Default)]
pub(crate) struct Unindexed(Mutex<UnindexedRows>);

#[derive(Default)]
pub(crate) struct UnindexedRows {
    /// Up to which number rows were looked at, and the id of that row. If another one has the number
    /// now, rows were deleted and their numbers given again.
    pub(crate) seen: i64,
    id: Option<Uuid>,
    rows: Vec<Late>,
}

/// A row without words.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub(crate) struct Late {
    pub(crate) seq: i64,
    pub(crate) id: Uuid,
    #[sqlx(rename = "type")]
    pub(crate) kind: String,
    pub(crate) room_id: Uuid,
    pub(crate) entity_id: Uuid,
    pub(crate) created_at: i64,
}

impl Unindexed {
    /// Forgets the rows, because some have moved to another Room.
    pub(crate) fn reset(&self) {
        *self.rows() = UnindexedRows::default();
    }

    pub(crate) fn rows(&self) -> MutexGuard<'_, UnindexedRows> {
        // Every change is complete before anything that could panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnindexedRows {
    /// Drops what is indexed by now; the number after which rows are new. `now` is the row that has
    /// the number up to which rows were looked at.
    pub(crate) fn prepare(&mut self, indexed: i64, now: (i64, Option<Uuid>)) -> i64 {
        if (self.seen, self.id) != now || self.id.is_none() {
            *self = Self::default();
        }
        self.rows.retain(|late| late.seq > indexed);
        self.seen.max(indexed)
    }

    pub(crate) fn add(&mut self, new: Vec<Late>) {
        // Another search may have added some meanwhile.
        let seen = self.rows.last().map_or(0, |late| late.seq);
        self.rows.extend(new.into_iter().filter(|late| late.seq > seen));
        if let Some(last) = self.rows.last() {
            (self.seen, self.id) = (last.seq, Some(last.id));
        }
    }

    /// Whether a search would miss one of the rows.
    pub(crate) fn lacks(&self, query: &RecallQuery) -> bool {
        self.rows.iter().any(|late| late.fits(query))
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

    fn numbers(unindexed: &UnindexedRows) -> Vec<i64> {
        unindexed.rows.iter().map(|late| late.seq).collect()
    }

    fn same(unindexed: &UnindexedRows) -> (i64, Option<Uuid>) {
        (unindexed.seen, unindexed.id)
    }

    #[test]
    fn each_row_is_looked_at_once_and_goes_when_it_is_indexed() {
        let mut unindexed = UnindexedRows::default();
        assert_eq!(unindexed.prepare(10, (0, None)), 10);
        unindexed.add(vec![late(11), late(12)]);
        // Two searches read the same rows.
        unindexed.add(vec![late(11), late(12)]);
        assert_eq!(numbers(&unindexed), [11, 12]);
        let now = same(&unindexed);
        assert_eq!(unindexed.prepare(10, now), 12);
        unindexed.add(vec![late(13)]);
        let now = same(&unindexed);
        assert_eq!(unindexed.prepare(12, now), 13);
        assert_eq!(numbers(&unindexed), [13]);
        assert_eq!(unindexed.prepare(20, now), 20);
        assert_eq!(numbers(&unindexed), [0; 0]);
    }

    #[test]
    fn numbers_that_are_given_again_are_looked_at_again() {
        let mut unindexed = UnindexedRows::default();
        unindexed.prepare(0, (0, None));
        unindexed.add(vec![late(1), late(2), late(3)]);
        // The newest was deleted, and its number given to another row.
        let other = (3, Some(Uuid::from_u128(99)));
        assert_eq!(unindexed.prepare(2, other), 2);
        assert_eq!(numbers(&unindexed), [0; 0]);
        unindexed.add(vec![late(3)]);
        assert_eq!(unindexed.prepare(2, (3, None)), 2, "it was deleted");
    }
}

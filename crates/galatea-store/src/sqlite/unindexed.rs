//! Rows that the index of words does not have yet, as searches last saw them, with the words of those
//! that a search asked for: looking at the rows themselves for every search, or indexing a few rows
//! for each, would cost more than the search.

use galatea_core::store::RecallQuery;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Bound,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use uuid::Uuid;

use crate::terms::{AT, tokenized};

/// Bytes of words kept. Beyond them the rows are indexed first.
const MOST_BYTES: usize = 1 << 20;

/// The rows without words as they were last seen, a few thousand at most. Of a row only what a
/// query's conditions ask for.
///
/// A search locks the rows before the first statement of its transaction, and holds them until it
/// has what it needs of them. So each search sees the same state of the database as the one before
/// it or a newer one.
#[derive(Default)]
pub(crate) struct Unindexed {
    rows: Mutex<UnindexedRows>,
    /// Counts commits that changed rows.
    changes: AtomicU64,
}

#[derive(Default)]
pub(crate) struct UnindexedRows {
    /// Up to which number rows were looked at, and the id of that row. If another one has the number
    /// now, rows were deleted and their numbers given again.
    pub(crate) seen: i64,
    id: Option<Uuid>,
    /// Up to which row the index was when it was last seen: rows up to it are not here.
    indexed: i64,
    /// The commits that had changed rows when these were first read.
    changes: u64,
    /// By number.
    rows: Vec<Late>,
    /// Their numbers, Room by Room.
    by_room: HashMap<Uuid, Vec<i64>>,
    /// The rows that have each word, the oldest first, as far as rows were analysed.
    words: BTreeMap<Box<str>, Vec<i64>>,
    bytes: usize,
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
    /// Whether its words are known.
    #[sqlx(skip)]
    pub(crate) analysed: bool,
}

impl Unindexed {
    /// Called after a commit that changed rows: the next search reads them again.
    pub(crate) fn reset(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// What is known of the rows; nothing if some were changed since.
    pub(crate) fn rows(&self) -> MutexGuard<'_, UnindexedRows> {
        // Every change is complete before anything that could panic.
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = self.changes.load(Ordering::Acquire);
        if rows.changes != changes {
            *rows = UnindexedRows { changes, ..UnindexedRows::default() };
        }
        rows
    }
}

impl UnindexedRows {
    /// Drops what is indexed by now; the number after which rows are new. `id` is that of the row
    /// that has the number up to which rows were looked at.
    pub(crate) fn prepare(&mut self, indexed: i64, id: Option<Uuid>) -> i64 {
        if self.id.is_none() || self.id != id || indexed < self.indexed {
            *self = Self { changes: self.changes, ..Self::default() };
        }
        if indexed > self.indexed {
            self.indexed = indexed;
            self.rows.retain(|late| late.seq > indexed);
            self.by_room.retain(|_, rows| {
                rows.retain(|seq| *seq > indexed);
                !rows.is_empty()
            });
            self.words.retain(|_, rows| {
                rows.retain(|seq| *seq > indexed);
                !rows.is_empty()
            });
            self.bytes = self.words.iter().map(|(word, rows)| size(word, rows.len())).sum();
        }
        self.seen.max(indexed)
    }

    pub(crate) fn add(&mut self, new: Vec<Late>) {
        for late in &new {
            self.by_room.entry(late.room_id).or_default().push(late.seq);
        }
        self.rows.extend(new);
        if let Some(last) = self.rows.last() {
            (self.seen, self.id) = (last.seq, Some(last.id));
        }
    }

    /// Numbers of the rows that a search would miss, and of those among them whose words are not
    /// known.
    pub(crate) fn missed(&self, query: &RecallQuery) -> (BTreeSet<i64>, Vec<i64>) {
        let (mut missed, mut unknown) = (BTreeSet::new(), Vec::new());
        let mut add = |late: &Late| {
            if late.fits(query) {
                missed.insert(late.seq);
                if !late.analysed {
                    unknown.push(late.seq);
                }
            }
        };
        match query.room {
            Some(room) => {
                let here = self.by_room.get(&room.0).into_iter().flatten();
                here.filter_map(|seq| self.rows.get(self.place(*seq)?)).for_each(&mut add);
            }
            None => self.rows.iter().for_each(&mut add),
        }
        (missed, unknown)
    }

    fn place(&self, seq: i64) -> Option<usize> {
        self.rows.binary_search_by_key(&seq, |late| late.seq).ok()
    }

    /// Adds the words of rows, as the index would have them. False if they are too much to be kept;
    /// then none are.
    pub(crate) fn learn(&mut self, analysed: Vec<(i64, String)>) -> bool {
        for (seq, words) in analysed {
            let Some(at) = self.place(seq) else { continue };
            let Some(late) = self.rows.get_mut(at).filter(|late| !late.analysed) else { continue };
            late.analysed = true;
            for word in words.split(' ').filter(|word| !word.is_empty()) {
                if self.bytes > MOST_BYTES {
                    self.words.clear();
                    self.bytes = 0;
                    self.rows.iter_mut().for_each(|late| late.analysed = false);
                    return false;
                }
                let word = &*tokenized(word);
                if let Some(rows) = self.words.get_mut(word) {
                    if let Err(place) = rows.binary_search(&seq) {
                        rows.insert(place, seq);
                        self.bytes += size_of::<i64>();
                    }
                } else {
                    self.bytes += size(word, 1);
                    self.words.insert(word.into(), vec![seq]);
                }
            }
        }
        true
    }

    /// The rows among `missed` that have a term at one of these places, or at any if none is given,
    /// the newest first. A star at the end of a term stands for any ending; an empty term for every
    /// row of the places.
    pub(crate) fn having(&self, term: &str, codes: &[String], missed: &BTreeSet<i64>) -> Vec<i64> {
        let term = &*tokenized(term);
        let mut found: BTreeSet<i64> = BTreeSet::new();
        let here = |term: &str| -> BTreeSet<i64> {
            codes.iter().flat_map(|code| self.of(&format!("{term}{AT}{code}"))).collect()
        };
        if let Some(beginning) = term.strip_suffix('*') {
            found.extend(self.beginning(beginning));
            if !codes.is_empty() {
                let here = here("");
                found.retain(|seq| here.contains(seq));
            }
        } else if codes.is_empty() {
            found.extend(self.beginning(&format!("{term}{AT}")));
        } else {
            found = here(term);
        }
        found.into_iter().rev().filter(|seq| missed.contains(seq)).collect()
    }

    fn of(&self, word: &str) -> impl Iterator<Item = i64> + use<'_> {
        self.words.get(word).into_iter().flatten().copied()
    }

    fn beginning(&self, beginning: &str) -> impl Iterator<Item = i64> {
        self.words
            .range::<str, _>((Bound::Included(beginning), Bound::Unbounded))
            .take_while(move |(word, _)| word.starts_with(beginning))
            .flat_map(|(_, rows)| rows.iter().copied())
    }
}

/// Bytes that a word and its rows take, about.
fn size(word: &str, rows: usize) -> usize {
    word.len() + size_of::<(Box<str>, Vec<i64>)>() + rows * size_of::<i64>()
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
    use galatea_core::{MemoryKind, RoomId, Timestamp};
    use galatea_testkit::store_suite::fixtures::Scene;

    fn late(seq: i64) -> Late {
        let (room_id, entity_id) = (Uuid::nil(), Uuid::nil());
        let id = Uuid::from_u128(u128::try_from(seq).unwrap());
        let kind = "messages".to_owned();
        Late { seq, id, kind, room_id, entity_id, created_at: seq, analysed: false }
    }

    fn numbers(unindexed: &UnindexedRows) -> Vec<i64> {
        unindexed.rows.iter().map(|late| late.seq).collect()
    }

    #[test]
    fn each_row_is_looked_at_once_and_goes_when_it_is_indexed() {
        let mut unindexed = UnindexedRows::default();
        assert_eq!(unindexed.prepare(10, None), 10);
        unindexed.add(vec![late(11), late(12)]);
        assert_eq!(unindexed.prepare(10, Some(late(12).id)), 12);
        unindexed.add(vec![late(13)]);
        assert_eq!(unindexed.prepare(12, Some(late(13).id)), 13);
        assert_eq!(numbers(&unindexed), [13]);
        assert_eq!(unindexed.prepare(20, Some(late(13).id)), 20);
        assert_eq!(numbers(&unindexed), [0; 0]);
    }

    #[test]
    fn a_search_of_a_room_looks_at_its_rows_alone() {
        let mut unindexed = UnindexedRows::default();
        unindexed.prepare(10, None);
        let elsewhere = Uuid::from_u128(7);
        let there = |seq| Late { room_id: elsewhere, ..late(seq) };
        unindexed.add(vec![late(11), there(12), late(13)]);
        unindexed.add(vec![there(14), Late { kind: "facts".to_owned(), ..there(15) }]);
        let query = RecallQuery::new(Scene::new().visible(), "tea", 10, Timestamp(0))
            .kind(MemoryKind::Messages);
        let of = |room: Option<Uuid>| RecallQuery { room: room.map(RoomId), ..query.clone() };
        let missed = |unindexed: &UnindexedRows, room| unindexed.missed(&of(room)).1;
        assert_eq!(missed(&unindexed, None), [11, 12, 13, 14]);
        assert_eq!(missed(&unindexed, Some(elsewhere)), [12, 14]);
        assert_eq!(missed(&unindexed, Some(Uuid::from_u128(8))), [0; 0]);
        unindexed.prepare(12, Some(late(15).id));
        assert_eq!(missed(&unindexed, Some(elsewhere)), [14]);
        assert_eq!(missed(&unindexed, Some(Uuid::nil())), [13]);
    }

    #[test]
    fn rows_are_read_again_after_a_change_and_when_the_index_goes_back() {
        let unindexed = Unindexed::default();
        let add = || {
            let mut rows = unindexed.rows();
            rows.prepare(10, None);
            rows.add(vec![late(11), late(12)]);
            rows.learn(vec![(11, "teaǀaaaa".to_owned())]);
        };
        add();
        let mut held = unindexed.rows();
        // A commit does not wait for a search.
        unindexed.reset();
        assert!(held.learn(vec![(12, "oldǀaaaa".to_owned())]));
        drop(held);
        assert_eq!(numbers(&unindexed.rows()), [0; 0]);
        add();
        assert_eq!(numbers(&unindexed.rows()), [11, 12]);
        assert_eq!(unindexed.rows().prepare(9, Some(late(12).id)), 9);
        assert!(unindexed.rows().words.is_empty());
    }

    #[test]
    fn numbers_that_are_given_again_are_looked_at_again() {
        let mut unindexed = UnindexedRows::default();
        unindexed.prepare(0, None);
        unindexed.add(vec![late(1), late(2), late(3)]);
        // The newest was deleted, and its number given to another row.
        assert_eq!(unindexed.prepare(2, Some(Uuid::from_u128(99))), 2);
        assert_eq!(numbers(&unindexed), [0; 0]);
        unindexed.add(vec![late(3)]);
        assert_eq!(unindexed.prepare(2, None), 2, "it was deleted");
    }

    #[test]
    fn words_are_found_at_their_places_and_go_with_their_rows() {
        let here = ["aaaa".to_owned()];
        let there = ["bbbb".to_owned()];
        let mut unindexed = UnindexedRows::default();
        unindexed.prepare(0, None);
        unindexed.add(vec![late(1), late(2), late(3)]);
        assert!(unindexed.learn(vec![
            (3, "ǀaaaa teaǀaaaa teaǀaaaa 水をǀaaaa οδοςǀaaaa".to_owned()),
            (1, "ǀaaaa teaǀaaaa".to_owned()),
            (2, "ǀbbbb teaǀbbbb teasǀbbbb 水曜ǀbbbb".to_owned()),
            (9, "ǀaaaa teaǀaaaa".to_owned()),
        ]));
        let all: BTreeSet<i64> = [1, 2, 3].into();
        assert_eq!(unindexed.having("tea", &here, &all), [3, 1]);
        assert_eq!(unindexed.having("", &here, &all), [3, 1]);
        assert_eq!(unindexed.having("tea", &[], &all), [3, 2, 1]);
        assert_eq!(unindexed.having("te", &[], &all), [0; 0]);
        assert_eq!(unindexed.having("水*", &there, &all), [2]);
        assert_eq!(unindexed.having("水*", &[], &all), [3, 2]);
        assert_eq!(unindexed.having("tea", &[], &[1].into()), [1]);
        assert_eq!(unindexed.having("οδοσ", &here, &all), [3]);
        assert_eq!(unindexed.having("οδος", &here, &all), [3]);
        unindexed.prepare(2, Some(late(3).id));
        assert_eq!(unindexed.having("tea", &[], &all), [3]);
        assert!(!unindexed.words.contains_key("teasǀbbbb"));
    }

    #[test]
    fn too_many_words_are_refused_and_go_with_their_row() {
        let mut unindexed = UnindexedRows::default();
        unindexed.prepare(0, None);
        unindexed.add(vec![late(1), late(2)]);
        let many: Vec<String> = (0..40_000).map(|n| format!("word{n}ǀaaaa")).collect();
        let few = || (2, "teaǀaaaa".to_owned());
        assert!(!unindexed.learn(vec![few(), (1, many.join(" "))]));
        assert!(unindexed.words.is_empty() && unindexed.rows.iter().all(|late| !late.analysed));
        unindexed.prepare(1, Some(late(2).id));
        assert!(unindexed.learn(vec![few()]));
        assert_eq!(unindexed.having("tea", &[], &[2].into()), [2]);
    }
}

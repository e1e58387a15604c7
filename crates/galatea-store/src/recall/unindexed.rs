//! The rows that SQLite's index of words does not have yet and that a search would miss: their terms
//! are looked up in memory. If they are too many, the index is brought up first.

use galatea_core::{Result, store::RecallQuery};
use uuid::Uuid;

use super::{
    lookup::FoundUnindexed,
    source::{Row, Search, at_once},
    words::codes,
};
use crate::{
    dialect::{Dialects, Value, values},
    sqlite::{Late, Unindexed, raw::Columns},
};

/// Memories that the index may be behind before a search waits for it. It is brought up in the
/// background before, see `sqlite/known.rs`.
const FAR_BEHIND: i64 = 8_000;
/// Rows analysed for one search, some 7 µs each. Usually they are the one or two that have left the
/// conversation since the last one.
const ANALYSED: usize = 64;

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
/// The words of rows as the index will have them.
pub(crate) const WORDS: Dialects = Dialects {
    sqlite: "SELECT t.seq, t.terms FROM memory_terms t WHERE t.seq IN (SELECT value FROM json_each($1))",
    postgres: "",
};

impl Row for Late {
    fn of(row: &mut Columns<'_>) -> Option<Self> {
        Some(Self {
            seq: row.int(0)?,
            id: row.id(1)?,
            kind: row.text(2)?.to_owned(),
            room_id: row.id(3)?,
            entity_id: row.id(4)?,
            created_at: row.int(5)?,
            analysed: false,
        })
    }
}

impl Row for (i64, String) {
    fn of(row: &mut Columns<'_>) -> Option<Self> {
        Some((row.int(0)?, row.text(1)?.to_owned()))
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

impl Search<'_, '_> {
    /// The rows without words that have terms of a question. None if the index has to be brought up
    /// first.
    pub(super) fn find_unindexed(
        &self,
        query: &RecallQuery,
        unindexed: &Unindexed,
    ) -> Result<Option<FoundUnindexed>> {
        // Before the first statement, which begins the transaction: no other search may move the
        // rows to a newer state than this search sees.
        let mut rows = unindexed.rows();
        let extent = at_once(self.source.all::<Extent>(EXTENT.with(values![rows.seen])))?;
        let Some(Extent { indexed, last, id }) = extent.into_iter().next() else {
            return Ok(None);
        };
        if last - indexed > FAR_BEHIND {
            return Ok(None);
        }
        let after = rows.prepare(indexed, id);
        if after < last {
            rows.add(at_once(self.source.all::<Late>(AFTER.with(values![after])))?);
        }
        let (mut missed, mut unknown) = rows.missed(query);
        if let Some(handle) = &self.talk {
            let talk = handle.talk();
            missed.retain(|seq| talk.get(*seq).is_none());
            unknown.retain(|seq| talk.get(*seq).is_none());
        }
        if missed.is_empty() {
            return Ok(Some(FoundUnindexed::default()));
        }
        if unknown.len() > ANALYSED {
            return Ok(None);
        }
        if !unknown.is_empty() {
            let words = at_once(self.source.all(WORDS.with(vec![Value::Ints(unknown)])))?;
            if !rows.learn(words) {
                return Ok(None);
            }
        }
        let codes = codes(query);
        let lists =
            self.question.lookup().terms().map(|term| rows.having(term, &codes, &missed)).collect();
        let here = rows.having("", &codes, &missed).len();
        Ok(Some(FoundUnindexed { lists, rows: here }))
    }
}

//! Whether SQLite's index of words lacks a row that a search would miss. Then the index is brought
//! up first.

use galatea_core::Result;
use uuid::Uuid;

use super::source::{Row, Search};
use crate::{
    dialect::{Dialects, values},
    sqlite::{Late, Unindexed, raw::Columns},
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

impl Search<'_, '_> {
    /// Whether a search would miss a row, or too many rows wait.
    pub(super) async fn lacks_words(&self, unindexed: &Unindexed) -> Result<bool> {
        let seen = unindexed.rows().seen;
        let extent = self.source.all::<Extent>(EXTENT.with(values![seen])).await?;
        let Some(Extent { indexed, last, id }) = extent.into_iter().next() else {
            return Ok(false);
        };
        if last - indexed > BEHIND {
            return Ok(true);
        }
        let after = unindexed.rows().prepare(indexed, (seen, id));
        if after < last {
            let new = self.source.all::<Late>(AFTER.with(values![after])).await?;
            unindexed.rows().add(new);
        }
        Ok(unindexed.rows().lacks(self.query))
    }
}

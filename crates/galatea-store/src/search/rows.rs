//! Rows by their numbers, and the messages beside them.

use galatea_core::{Memory, MemoryScope, Result};
use sqlx::FromRow;
use std::collections::HashMap;

use super::{
    source::{Row as Decoded, Source},
    view::Dialect,
};
use crate::{
    dialect::{Dialects, Value},
    neighbour::beside,
    rows::StoredMemory,
    sqlite::raw::Columns,
};

macro_rules! rows {
    ($which:literal) => {
        concat!(
            "SELECT m.seq AS number, m.id, m.type AS kind, m.agent_id, m.entity_id, m.room_id, m.world_id, m.created_at, m.metadata, m.content, \
             m.scope, m.valid_until FROM memories m WHERE m.seq ",
            $which
        )
    };
}
pub(crate) const BY_SEQ: Dialects = Dialects {
    sqlite: rows!("IN (SELECT value FROM json_each($1))"),
    postgres: "SELECT m.seq AS number, m.id, m.type AS kind, m.agent_id, m.entity_id, m.room_id, m.world_id, m.created_at, m.metadata::text AS metadata, \
               m.content::text AS content, m.scope, m.valid_until FROM memories m WHERE m.seq = ANY ($1)",
};
/// Of [`FEW`] memories at most, such as a message and those beside it. For a list SQLite makes a table,
/// which costs more than reading three rows.
pub(crate) const FEW_BY_SEQ: Dialects = Dialects {
    sqlite: concat!(rows!("= $1"), " UNION ALL ", rows!("= $2"), " UNION ALL ", rows!("= $3")),
    postgres: "",
};
/// Memories of [`FEW_BY_SEQ`].
const FEW: usize = 3;
macro_rules! both {
    ($dialect:ident, $which:literal) => {
        concat!(
            "SELECT m.seq, ",
            beside!($dialect, "<", "DESC"),
            " AS before, ",
            beside!($dialect, ">", "ASC"),
            " AS after FROM memories m WHERE m.type = 'messages' AND ",
            $which
        )
    };
}
/// The messages before and after messages in their Rooms.
pub(crate) const BESIDE: Dialects = Dialects {
    sqlite: both!(sqlite, "m.seq IN (SELECT value FROM json_each($1))"),
    postgres: both!(postgres, "m.seq = ANY ($1)"),
};

/// A row with its scope and validity.
#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) memory: Memory,
    pub(crate) scope: MemoryScope,
    pub(crate) valid_until: Option<i64>,
}

#[derive(FromRow)]
struct Stored {
    number: i64,
    #[sqlx(flatten)]
    memory: StoredMemory,
    scope: String,
    valid_until: Option<i64>,
}

impl Decoded for Stored {
    fn of(row: &mut Columns<'_>) -> Option<Self> {
        let memory = StoredMemory {
            id: row.id(1)?,
            kind: row.text(2)?.to_owned(),
            agent_id: row.id(3)?,
            entity_id: row.id(4)?,
            room_id: row.id(5)?,
            world_id: row.id(6),
            created_at: row.int(7)?,
            metadata: row.text(8)?.to_owned(),
            content: row.text(9)?.to_owned(),
        };
        let scope = row.text(10)?.to_owned();
        Some(Self { number: row.int(0)?, memory, scope, valid_until: row.int(11) })
    }
}

fn numbers(seqs: &[i64]) -> Vec<Value> {
    vec![Value::Ints(seqs.to_vec())]
}

impl Source<'_, '_> {
    /// Memories by number.
    pub(crate) async fn rows_of(&self, seqs: &[i64]) -> Result<HashMap<i64, Row>> {
        if seqs.is_empty() {
            return Ok(HashMap::new());
        }
        let statement = match self.dialect() {
            Dialect::Sqlite if seqs.len() <= FEW => {
                FEW_BY_SEQ.with((0..FEW).map(|n| Value::Int(seqs.get(n).copied())).collect())
            }
            _ => BY_SEQ.with(numbers(seqs)),
        };
        self.all::<Stored>(statement)
            .await?
            .into_iter()
            .map(|row| {
                let scope = MemoryScope::from_stored(&row.scope);
                let memory = row.memory.decode()?;
                Ok((row.number, Row { memory, scope, valid_until: row.valid_until }))
            })
            .collect()
    }

    /// The messages before and after those of these that are messages.
    pub(crate) async fn beside(&self, seqs: &[i64]) -> Result<HashMap<i64, [Option<i64>; 2]>> {
        if seqs.is_empty() {
            return Ok(HashMap::new());
        }
        let rows = self.all::<(i64, Option<i64>, Option<i64>)>(BESIDE.with(numbers(seqs))).await?;
        Ok(rows.into_iter().map(|(seq, before, after)| (seq, [before, after])).collect())
    }
}

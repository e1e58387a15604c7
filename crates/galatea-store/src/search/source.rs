//! Where the statements of one search are executed: by PostgreSQL, or on a thread with SQLite's own
//! handle, where nothing is waited for.

use futures::FutureExt;
use galatea_core::{EntityId, Error, Result, store::RecallQuery};
use parking_lot::Mutex;
use sqlx::{FromRow, Row as _, postgres::PgRow};
use std::sync::atomic::Ordering;
use uuid::Uuid;

use super::{question, view::Dialect};
use crate::{
    convert,
    dialect::{Statement, Value, hexes, little_endian},
    postgres::Postgres,
    sqlite::{
        Counts,
        raw::{Arg, Columns, Raw},
        read_failed,
    },
    terms::Asked,
};

/// A connection for the statements of one search.
pub(crate) enum Source<'a, 'h> {
    Postgres(&'a Postgres),
    /// Never contended: one search uses it.
    Sqlite(Mutex<&'a mut Raw<'h>>, &'a Counts),
}

/// The result of a search in SQLite, which waits for nothing: its statements are executed by the
/// calling thread.
pub(crate) fn at_once<T>(search: impl Future<Output = Result<T>>) -> Result<T> {
    search
        .now_or_never()
        .unwrap_or_else(|| Err(Error::unexpected("a search in SQLite waited for something")))
}

/// One search: its query, and the connection for its statements.
pub(super) struct Search<'a, 'h> {
    pub(super) source: Source<'a, 'h>,
    pub(super) query: &'a RecallQuery,
    /// The words of its question.
    pub(super) asked: Vec<Asked>,
}

impl<'a, 'h> Search<'a, 'h> {
    pub(super) fn new(source: Source<'a, 'h>, query: &'a RecallQuery) -> Self {
        Self { source, query, asked: question::words(query) }
    }
}

/// A row of a search as both databases give it.
pub(crate) trait Row: for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static {
    /// Decodes SQLite's row; `None` if a column has another type.
    fn of(row: &mut Columns<'_>) -> Option<Self>;
}

impl<'a, 'h> Source<'a, 'h> {
    pub(crate) fn of_sqlite(raw: &'a mut Raw<'h>, counts: &'a Counts) -> Self {
        Self::Sqlite(Mutex::new(raw), counts)
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Postgres(_) => Dialect::Postgres,
            Self::Sqlite(..) => Dialect::Sqlite,
        }
    }

    /// Every row.
    pub(crate) async fn all<O: Row>(&self, statement: Statement) -> Result<Vec<O>> {
        let (raw, counts) = match self {
            Self::Postgres(postgres) => return postgres.all(statement).await,
            Self::Sqlite(raw, counts) => (raw, counts),
        };
        let values = statement.values.iter().map(Bound::of).collect::<Result<Vec<_>>>()?;
        let args: Vec<Arg<'_>> = values.iter().map(Bound::arg).collect();
        let (mut rows, mut malformed) = (Vec::new(), false);
        let mut raw = raw.lock();
        counts.statements.fetch_add(1, Ordering::Relaxed);
        raw.each(&statement.sqlite, &args, |row| match O::of(row) {
            Some(row) => rows.push(row),
            None => malformed = true,
        })
        .map_err(read_failed)?;
        if malformed { Err(Error::unexpected("a row of a search is malformed")) } else { Ok(rows) }
    }

    /// The first column of every row.
    pub(crate) async fn numbers(&self, statement: Statement) -> Result<Vec<i64>> {
        Ok(self.all::<(i64,)>(statement).await?.into_iter().map(|(number,)| number).collect())
    }
}

/// A value as SQLite takes it.
enum Bound<'a> {
    Lent(Arg<'a>),
    Text(String),
    Blob(Vec<u8>),
}

impl<'a> Bound<'a> {
    fn of(value: &'a Value) -> Result<Self> {
        let json = |made: serde_json::Result<String>| {
            made.map(Self::Text)
                .map_err(|e| Error::unexpected("values cannot be bound").with_source(e))
        };
        Ok(match value {
            Value::Id(id) => Self::Lent(id.into()),
            Value::Int(number) => Self::Lent((*number).into()),
            Value::Bool(yes) => Self::Lent((*yes).into()),
            Value::Text(text) | Value::Json(text) => {
                Self::Lent(text.as_deref().map_or(Arg::Null, Arg::Text))
            }
            Value::Jsonb(text) => Self::Lent(Arg::Text(text)),
            Value::Bits(bits, _) => Self::Lent(Arg::Blob(bits)),
            Value::Ids(ids) => Self::Text(hexes(ids)),
            Value::Texts(texts) => json(serde_json::to_string(texts))?,
            Value::Ints(numbers) => json(serde_json::to_string(numbers))?,
            Value::Vector(numbers) => Self::Blob(little_endian(numbers)),
        })
    }

    fn arg(&self) -> Arg<'_> {
        match self {
            Self::Lent(arg) => *arg,
            Self::Text(text) => Arg::Text(text),
            Self::Blob(bytes) => Arg::Blob(bytes),
        }
    }
}

impl Row for (i64,) {
    fn of(row: &mut Columns<'_>) -> Option<Self> {
        Some((row.int(0)?,))
    }
}

/// A message and those before and after it.
impl Row for (i64, Option<i64>, Option<i64>) {
    fn of(row: &mut Columns<'_>) -> Option<Self> {
        Some((row.int(0)?, row.int(1), row.int(2)))
    }
}

/// What is known of a memory that the query may show.
#[derive(Debug, Clone, Copy, FromRow)]
pub(super) struct SeenRow {
    pub(super) seq: i64,
    pub(super) entity_id: Uuid,
    pub(super) created_at: i64,
    /// How long its text is: in characters, in PostgreSQL in terms.
    pub(super) long: Option<i64>,
}

impl SeenRow {
    pub(super) fn person(&self) -> EntityId {
        EntityId(self.entity_id)
    }
}

impl Row for SeenRow {
    fn of(row: &mut Columns<'_>) -> Option<Self> {
        let (seq, entity_id) = (row.int(0)?, row.id(1)?);
        Some(Self { seq, entity_id, created_at: row.int(2)?, long: row.int(3) })
    }
}

/// A memory's embedding.
pub(super) struct VectorRow {
    pub(super) seq: i64,
    pub(super) vector: Vec<f32>,
}

impl FromRow<'_, PgRow> for VectorRow {
    fn from_row(row: &PgRow) -> Result<Self, sqlx::Error> {
        let vector = convert::unpacked(row.try_get("vector")?);
        Ok(Self { seq: row.try_get("seq")?, vector })
    }
}

impl Row for VectorRow {
    fn of(row: &mut Columns<'_>) -> Option<Self> {
        Some(Self { seq: row.int(0)?, vector: convert::floats(row.blob(1)?) })
    }
}

//! Reading: a small pool beside the writer, or the writer's own connection for a store in memory.

use galatea_core::Result;
use sqlx::{
    AssertSqlSafe, FromRow, SqliteConnection,
    query::QueryAs,
    sqlite::{Sqlite, SqliteArguments, SqliteRow},
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tokio::sync::Mutex;

use crate::{error, pool::Pool};

/// Where reads go.
pub(crate) enum Readers {
    /// Beside the writer.
    Pool(Box<Pool>),
    /// A database in memory has one connection.
    Shared(Arc<Mutex<SqliteConnection>>),
}

/// A statement with its values. A limit is written `LIMIT +?1`: while it plans, SQLite looks at the value of a bare parameter there
/// (`sqlite3ExprIsInteger`), and so would prepare the statement anew for every execution.
pub(crate) type Select<O> = QueryAs<'static, Sqlite, O, SqliteArguments>;

/// A statement known at compile time.
pub(crate) fn select<O: for<'r> FromRow<'r, SqliteRow>>(statement: &'static str) -> Select<O> {
    sqlx::query_as(statement)
}

/// A statement put together from parts known at compile time; values are always bound.
pub(crate) fn select_built<O: for<'r> FromRow<'r, SqliteRow>>(statement: String) -> Select<O> {
    sqlx::query_as(AssertSqlSafe(statement))
}

impl Readers {
    /// Every row.
    pub(crate) async fn all<O>(&self, statements: &AtomicU64, select: Select<O>) -> Result<Vec<O>>
    where
        O: for<'r> FromRow<'r, SqliteRow> + Send + Unpin + 'static,
    {
        statements.fetch_add(1, Ordering::Relaxed);
        match self {
            Self::Pool(pool) => match pool.acquire().await {
                Ok(mut reader) => {
                    let rows = select.fetch_all(&mut *reader).await;
                    reader.done();
                    rows
                }
                Err(error) => Err(error),
            },
            Self::Shared(connection) => select.fetch_all(&mut *connection.lock().await).await,
        }
        .map_err(error::store)
    }
}

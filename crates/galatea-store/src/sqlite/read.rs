//! A small pool beside the writer, or the writer's own connection for a store in memory.

use galatea_core::Result;
use sqlx::{
    AssertSqlSafe, FromRow, SqliteConnection, query_as_with,
    sqlite::{SqliteConnectOptions, SqliteRow},
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tokio::sync::Mutex;

use super::{error, threads::Threads};
use crate::{dialect::Statement, pool::Pool};

/// Where reads go.
pub(crate) enum Readers {
    /// Beside the writer: connections for single statements, and threads for searches.
    Pool { pool: Box<Pool<SqliteConnectOptions>>, threads: Threads },
    /// A database in memory has one connection.
    Shared(Arc<Mutex<SqliteConnection>>),
}

impl Readers {
    /// Every row.
    pub(crate) async fn all<O>(
        &self,
        statements: &AtomicU64,
        statement: Statement,
    ) -> Result<Vec<O>>
    where
        O: for<'r> FromRow<'r, SqliteRow> + Send + Unpin + 'static,
    {
        let arguments = statement.sqlite_arguments()?;
        let select = query_as_with(AssertSqlSafe(statement.sqlite), arguments);
        statements.fetch_add(1, Ordering::Relaxed);
        match self {
            Self::Pool { pool, .. } => match pool.acquire().await {
                Ok(mut reader) => match reader.connection() {
                    Ok(connection) => {
                        let rows = select.fetch_all(connection).await;
                        reader.done();
                        rows
                    }
                    Err(error) => Err(error),
                },
                Err(error) => Err(error),
            },
            Self::Shared(connection) => select.fetch_all(&mut *connection.lock().await).await,
        }
        .map_err(error::store)
    }
}

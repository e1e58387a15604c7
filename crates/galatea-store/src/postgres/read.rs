//! Reading: small pools beside the writer. A connection that died in its pool is replaced and the
//! question asked again; one whose server says nothing any more is given up.

use galatea_core::Result;
use sqlx::{
    AssertSqlSafe, FromRow, PgPool,
    pool::PoolConnection,
    postgres::{PgArguments, PgRow, Postgres},
    query::QueryAs,
    query_as_with,
};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use tokio::time::timeout;

use super::error;
use crate::dialect::Statement;

/// Connections for questions of one kind.
#[derive(Clone)]
pub(crate) struct Readers {
    pub(crate) pool: PgPool,
    /// Longest time for one statement; a server that says nothing for so long counts as lost. TCP
    /// would wait for ever.
    pub(crate) limit: Duration,
}

impl Readers {
    /// Every row.
    pub(crate) async fn all<O>(
        &self,
        statements: &AtomicU64,
        statement: Statement,
    ) -> Result<Vec<O>>
    where
        O: for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static,
    {
        let arguments = statement.postgres_arguments()?;
        let mut left = self.pool.options().get_max_connections();
        loop {
            statements.fetch_add(1, Ordering::Relaxed);
            match self
                .ask(query_as_with(AssertSqlSafe(statement.postgres.clone()), arguments.clone()))
                .await
            {
                Ok(rows) => return Ok(rows),
                // Every connection of the pool may have died with the server. Questions change
                // nothing and leases are taken once however often they are asked for, so both are
                // asked again.
                Err(failure)
                    if left > 0 && (error::is_lost(&failure) || error::is_collision(&failure)) =>
                {
                    left -= 1
                }
                Err(failure) => return Err(error::store(failure)),
            }
        }
    }

    async fn ask<O>(
        &self,
        query: QueryAs<'static, Postgres, O, PgArguments>,
    ) -> Result<Vec<O>, sqlx::Error>
    where
        O: for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static,
    {
        let mut session = Session { connection: self.pool.acquire().await?, patience: self.limit };
        let answer = timeout(self.limit, query.fetch_all(&mut *session.connection)).await;
        answer.unwrap_or_else(|_| {
            session.patience = Duration::ZERO;
            Err(sqlx::Error::PoolTimedOut)
        })
    }

    /// Waits for running reads and closes all connections.
    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// A connection in use. sqlx asks the server once more before it takes a connection back, also
/// after a caller went away in between, and would wait for that answer for ever: one that does not
/// come in time is taken out of the pool and cut off.
struct Session {
    connection: PoolConnection<Postgres>,
    patience: Duration,
}

impl Drop for Session {
    fn drop(&mut self) {
        tokio::spawn(timeout(self.patience, self.connection.return_to_pool()));
    }
}

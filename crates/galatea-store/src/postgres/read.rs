//! Reading: small pools beside the writer. A connection that died in its pool is replaced and the
//! question asked again; one whose server says nothing any more is given up.

use galatea_core::Result;
use sqlx::{
    AssertSqlSafe, FromRow,
    postgres::{PgArguments, PgRow, Postgres},
    query::QueryAs,
    query_as_with, raw_sql,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::timeout;

use super::{error, open::Reading};
use crate::{dialect::Statement, pool::Pool};

/// Connections for questions of one kind.
#[derive(Clone)]
pub(crate) struct Readers {
    pub(crate) pool: Arc<Pool<Reading>>,
    /// Longest time for one statement; a server that says nothing for so long counts as lost. TCP
    /// would wait for ever.
    pub(crate) limit: Duration,
}

impl Readers {
    pub(super) fn new(pool: Pool<Reading>, limit: Duration) -> Self {
        Self { pool: Arc::new(pool), limit }
    }

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
        let mut left = self.pool.most();
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
        let mut reader = self.pool.acquire().await?;
        let answer = timeout(self.limit, query.fetch_all(&mut *reader))
            .await
            .unwrap_or(Err(sqlx::Error::PoolTimedOut));
        // A connection is used again if its server has answered to the end.
        let is_whole = match &answer {
            Ok(_) => true,
            Err(failure) => matches!(failure, sqlx::Error::Database(_)) && !error::is_lost(failure),
        };
        if is_whole {
            reader.done();
        }
        answer
    }

    /// Carries out a statement without rows, however long the server takes for it.
    pub(super) async fn execute(&self, statement: &'static str) -> Result<(), sqlx::Error> {
        let mut reader = self.pool.acquire().await?;
        raw_sql(statement).execute(&mut *reader).await?;
        reader.done();
        Ok(())
    }

    /// Waits for running reads and closes all connections.
    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

//! Small pools beside the writer. A connection that died in its pool is replaced and the question
//! asked again; one whose server says nothing any more is given up.

use galatea_core::Result;
use sqlx::{
    AssertSqlSafe, Connection, Executor, FromRow, PgConnection,
    postgres::{PgArguments, PgConnectOptions, PgRow, Postgres},
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
use tokio::{
    runtime::Handle,
    sync::OwnedSemaphorePermit,
    time::{error::Elapsed, timeout},
};

use super::error;
use crate::{
    dialect::Statement,
    pool::{Open, Pool, Reader},
};

/// Connections for questions of one kind.
#[derive(Clone)]
pub(crate) struct Readers {
    pub(crate) pool: Arc<Pool<Reading>>,
    /// Longest time for one statement; a server that says nothing for so long counts as lost. TCP
    /// would wait for ever.
    pub(crate) limit: Duration,
}

/// How readers are opened.
pub(crate) struct Reading {
    pub(super) options: PgConnectOptions,
    /// The statements that set a session up.
    pub(super) session: String,
    /// Longest time for one statement.
    pub(super) limit: Duration,
}

impl Open for Reading {
    type Connection = PgConnection;
    async fn open(&self) -> Result<PgConnection, sqlx::Error> {
        let mut connection = PgConnection::connect_with(&self.options).await?;
        connection.execute(AssertSqlSafe(self.session.clone())).await?;
        Ok(connection)
    }

    /// Waits for the end of the statement: the server executes it whether its answer is read or not,
    /// and it must not execute more of them than there are permits.
    fn give_up(&self, mut connection: PgConnection, permit: OwnedSemaphorePermit) {
        let limit = self.limit;
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                // Whatever the answer is, the connection is closed.
                let _ = timeout(limit, connection.ping()).await;
                drop((connection, permit));
            });
        }
    }
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
        let answer = timeout(self.limit, query.fetch_all(reader.connection()?)).await;
        release(reader, answer)
    }

    /// Carries out a statement without rows.
    pub(super) async fn execute(&self, statement: &'static str) -> Result<(), sqlx::Error> {
        let mut reader = self.pool.acquire().await?;
        let answer = timeout(self.limit, raw_sql(statement).execute(reader.connection()?)).await;
        release(reader, answer).map(drop)
    }

    /// Waits for running reads and closes all connections.
    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// The answer of a statement, whose connection is used again if it can be.
fn release<T>(
    reader: Reader<'_, Reading>,
    answer: Result<Result<T, sqlx::Error>, Elapsed>,
) -> Result<T, sqlx::Error> {
    let Ok(answer) = answer else {
        reader.cut_off();
        return Err(sqlx::Error::PoolTimedOut);
    };
    match &answer {
        Ok(_) => reader.done(),
        // sqlx reads what is left of the answer before the next statement.
        Err(failure @ sqlx::Error::Database(_)) if !error::is_lost(failure) => reader.done(),
        Err(_) => reader.cut_off(),
    }
    answer
}

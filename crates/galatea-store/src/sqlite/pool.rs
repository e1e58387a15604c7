//! Pool of readers, the last used first. sqlx's own looks after each use, by a task and a round
//! trip to the connection's thread, whether the connection still works: as much as the reading
//! itself, for a file that does not go away.

use sqlx::{Connection, Error, SqliteConnection, sqlite::SqliteConnectOptions};
use std::{
    ops::{Deref, DerefMut},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

/// Longest wait for a connection, as sqlx has it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Some connections, each opened when it is first needed.
pub(crate) struct Pool {
    connect: SqliteConnectOptions,
    most: u32,
    permits: Semaphore,
    idle: Mutex<Vec<SqliteConnection>>,
}

impl Pool {
    /// Opens nothing yet.
    pub(crate) fn new(connect: SqliteConnectOptions, most: u32) -> Self {
        let most = most.max(1);
        Self {
            connect,
            most,
            permits: Semaphore::new(usize::try_from(most).unwrap_or(1)),
            idle: Mutex::default(),
        }
    }

    /// A connection for one statement. One whose statement was given up in the middle is closed;
    /// [`Reader::done`] returns it.
    ///
    /// # Errors
    /// `PoolTimedOut` when all are in use for half a minute, `PoolClosed` after [`Pool::close`], or
    /// why the file cannot be opened.
    pub(crate) async fn acquire(&self) -> Result<Reader<'_>, Error> {
        let permit = timeout(PATIENCE, self.permits.acquire())
            .await
            .map_err(|_| Error::PoolTimedOut)?
            .map_err(|_| Error::PoolClosed)?;
        let idle = self.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => SqliteConnection::connect_with(&self.connect).await?,
        };
        Ok(Reader { pool: self, _permit: permit, connection })
    }

    /// Waits for running reads and closes all connections.
    pub(crate) async fn close(&self) {
        // Refused only once it is closed.
        let all = self.permits.acquire_many(self.most).await;
        self.permits.close();
        let idle = std::mem::take(&mut *self.idle());
        for connection in idle {
            if let Err(failure) = connection.close().await {
                tracing::warn!("a connection for reading did not close cleanly: {failure}");
            }
        }
        drop(all);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<SqliteConnection>> {
        // A panic while holding the lock cannot leave the list half changed: every change is one
        // call.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection in use.
pub(crate) struct Reader<'a> {
    pool: &'a Pool,
    // Dropped before the connection is; the next one then opens its own, which does no harm.
    _permit: SemaphorePermit<'a>,
    connection: SqliteConnection,
}

impl Reader<'_> {
    /// Its statement has ended, well or not.
    pub(crate) fn done(self) {
        self.pool.idle().push(self.connection);
    }
}

impl Deref for Reader<'_> {
    type Target = SqliteConnection;
    fn deref(&self) -> &SqliteConnection {
        &self.connection
    }
}

impl DerefMut for Reader<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    fn pool(most: u32) -> Pool {
        Pool::new(SqliteConnectOptions::new().in_memory(true), most)
    }

    #[tokio::test]
    async fn the_last_used_is_used_again() {
        let pool = pool(3);
        for _ in 0..5 {
            pool.acquire().await.unwrap().done();
        }
        assert_eq!(pool.idle().len(), 1);
        let (first, second) = (pool.acquire().await.unwrap(), pool.acquire().await.unwrap());
        assert!(pool.idle().is_empty());
        first.done();
        second.done();
        assert_eq!(pool.idle().len(), 2);
    }

    #[tokio::test]
    async fn what_was_given_up_is_not_used_again() {
        let pool = pool(1);
        drop(pool.acquire().await.unwrap());
        assert!(pool.idle().is_empty());
        pool.acquire().await.unwrap().done();
    }

    #[tokio::test]
    async fn no_more_than_allowed_and_none_after_the_end() {
        let pool = pool(1);
        let one = pool.acquire().await.unwrap();
        assert!(pool.acquire().now_or_never().is_none());
        let mut closing = std::pin::pin!(pool.close());
        assert!(closing.as_mut().now_or_never().is_none(), "a read is running");
        one.done();
        closing.await;
        assert!(matches!(pool.acquire().await, Err(Error::PoolClosed)));
        pool.close().await;
    }
}

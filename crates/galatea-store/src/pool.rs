//! Pool of readers, the last used first. sqlx's own looks after each use whether the connection still
//! works, in a task: a round trip to SQLite's thread or to the server, which costs as much as a short
//! read.

use sqlx::{Connection, Error};
use std::{
    ops::{Deref, DerefMut},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

/// How a pool gets a connection.
pub(crate) trait Open: Send + Sync + 'static {
    type Connection: Connection;
    /// A new connection.
    ///
    /// # Errors
    /// Why there is none.
    fn open(&self) -> impl Future<Output = Result<Self::Connection, Error>> + Send;
}

/// Bounds of a pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Connections at most; at least one.
    pub(crate) most: u32,
    /// Longest wait for one that is in use.
    pub(crate) patience: Duration,
    /// One that was idle for so long is closed in place of being used.
    pub(crate) idle: Duration,
    /// One that is so old is closed after its use.
    pub(crate) age: Duration,
}

/// Some connections, each opened when it is first needed.
pub(crate) struct Pool<O: Open> {
    pub(crate) open: O,
    bounds: Bounds,
    permits: Semaphore,
    idle: Mutex<Vec<Idle<O::Connection>>>,
}

struct Idle<C> {
    connection: C,
    made: Instant,
    used: Instant,
}

impl<O: Open> Pool<O> {
    /// Opens nothing yet.
    pub(crate) fn new(open: O, bounds: Bounds) -> Self {
        let bounds = Bounds { most: bounds.most.max(1), ..bounds };
        Self {
            open,
            bounds,
            permits: Semaphore::new(usize::try_from(bounds.most).unwrap_or(1)),
            idle: Mutex::default(),
        }
    }

    /// Connections at most.
    pub(crate) fn most(&self) -> u32 {
        self.bounds.most
    }

    /// A connection for one statement. One whose statement was given up in the middle is closed;
    /// [`Reader::done`] returns it.
    ///
    /// # Errors
    /// `PoolTimedOut` when all are in use for too long, `PoolClosed` after [`Pool::close`], or
    /// why none can be opened.
    pub(crate) async fn acquire(&self) -> Result<Reader<'_, O>, Error> {
        let permit = timeout(self.bounds.patience, self.permits.acquire())
            .await
            .map_err(|_| Error::PoolTimedOut)?
            .map_err(|_| Error::PoolClosed)?;
        // Those below the newest have been idle for longer.
        let idle = self.idle().pop();
        let (connection, made) = match idle {
            Some(idle) if idle.used.elapsed() < self.bounds.idle => (idle.connection, idle.made),
            _ => {
                self.idle().clear();
                (self.open.open().await?, Instant::now())
            }
        };
        Ok(Reader { pool: self, _permit: permit, connection, made })
    }

    /// Waits for running reads and closes all connections.
    pub(crate) async fn close(&self) {
        // Refused only once it is closed.
        let all = self.permits.acquire_many(self.bounds.most).await;
        self.permits.close();
        let idle = std::mem::take(&mut *self.idle());
        for idle in idle {
            if let Err(failure) = idle.connection.close().await {
                tracing::warn!("a connection for reading did not close cleanly: {failure}");
            }
        }
        drop(all);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle<O::Connection>>> {
        // A panic while holding the lock cannot leave the list half changed: every change is one
        // call.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection in use.
pub(crate) struct Reader<'a, O: Open> {
    pool: &'a Pool<O>,
    // Dropped before the connection is; the next one then opens its own, which does no harm.
    _permit: SemaphorePermit<'a>,
    connection: O::Connection,
    made: Instant,
}

impl<O: Open> Reader<'_, O> {
    /// Its statement has ended, and it can take another one.
    pub(crate) fn done(self) {
        let Self { pool, connection, made, .. } = self;
        if made.elapsed() < pool.bounds.age {
            pool.idle().push(Idle { connection, made, used: Instant::now() });
        }
    }
}

impl<O: Open> Deref for Reader<'_, O> {
    type Target = O::Connection;
    fn deref(&self) -> &O::Connection {
        &self.connection
    }
}

impl<O: Open> DerefMut for Reader<'_, O> {
    fn deref_mut(&mut self) -> &mut O::Connection {
        &mut self.connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use sqlx::sqlite::SqliteConnectOptions;

    const LONG: Duration = Duration::from_secs(60);

    fn pool(most: u32) -> Pool<SqliteConnectOptions> {
        bounded(Bounds { most, patience: LONG, idle: LONG, age: LONG })
    }

    fn bounded(bounds: Bounds) -> Pool<SqliteConnectOptions> {
        Pool::new(SqliteConnectOptions::new().in_memory(true), bounds)
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
    async fn an_old_one_and_one_that_was_idle_for_long_are_not_used_again() {
        let bounds = Bounds { most: 3, patience: LONG, idle: LONG, age: LONG };
        let old = bounded(Bounds { age: Duration::ZERO, ..bounds });
        old.acquire().await.unwrap().done();
        assert!(old.idle().is_empty());
        let idle = bounded(Bounds { idle: Duration::ZERO, ..bounds });
        let (first, second) = (idle.acquire().await.unwrap(), idle.acquire().await.unwrap());
        first.done();
        second.done();
        let third = idle.acquire().await.unwrap();
        assert!(idle.idle().is_empty(), "the others were idle for as long");
        third.done();
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

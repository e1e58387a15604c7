//! Pool of readers, the last used first. sqlx's own looks after each use whether the connection still
//! works, in a task: a round trip to SQLite's thread or to the server, which costs as much as a short
//! read.

use parking_lot::{Mutex, MutexGuard};
use sqlx::{Connection, Error};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
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
    /// Takes a connection whose statement was given up in the middle. The permit counts it as long as
    /// it is kept.
    fn give_up(&self, connection: Self::Connection, permit: OwnedSemaphorePermit) {
        drop((connection, permit));
    }
}

/// Bounds of a pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Connections at most; at least one.
    pub(crate) most: u32,
    /// Longest wait for one, and for its opening.
    pub(crate) patience: Duration,
    /// One that was idle for so long is closed in place of being used.
    pub(crate) idle: Duration,
    /// One that is so old is closed after its use.
    pub(crate) age: Duration,
}

/// Some connections, each opened when it is first needed.
pub(crate) struct Pool<O: Open> {
    open: O,
    bounds: Bounds,
    permits: Arc<Semaphore>,
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
            permits: Arc::new(Semaphore::new(usize::try_from(bounds.most).unwrap_or(1))),
            idle: Mutex::default(),
        }
    }

    /// Connections at most.
    pub(crate) fn most(&self) -> u32 {
        self.bounds.most
    }

    /// A connection for one statement. [`Reader::done`] returns it; dropped without that, its
    /// statement may still be running, and it is not used again.
    ///
    /// # Errors
    /// `PoolTimedOut` when all are in use for too long, `PoolClosed` after [`Pool::close`], or
    /// why none can be opened.
    pub(crate) async fn acquire(&self) -> Result<Reader<'_, O>, Error> {
        timeout(self.bounds.patience, self.take()).await.unwrap_or(Err(Error::PoolTimedOut))
    }

    async fn take(&self) -> Result<Reader<'_, O>, Error> {
        let permits = Arc::clone(&self.permits);
        let permit = permits.acquire_owned().await.map_err(|_| Error::PoolClosed)?;
        let kept = self.fresh();
        let (connection, made) = match kept {
            Some(kept) => (kept.connection, kept.made),
            None => (self.open.open().await?, Instant::now()),
        };
        Ok(Reader { pool: self, held: Some((connection, permit)), made })
    }

    /// The connection that was used last. If it has been idle for long, so have all, and they are
    /// closed.
    fn fresh(&self) -> Option<Idle<O::Connection>> {
        let mut idle = self.idle();
        let last = idle.pop()?;
        if last.used.elapsed() < self.bounds.idle {
            return Some(last);
        }
        idle.clear();
        None
    }

    /// Waits for running reads and closes all connections.
    pub(crate) async fn close(&self) {
        // Refused only once it is closed.
        let all = self.permits.acquire_many(self.bounds.most).await;
        self.permits.close();
        let idle = std::mem::take(&mut *self.idle());
        for idle in idle {
            if let Err(failure) = idle.connection.close().await {
                tracing::warn!(error = %failure, "failed to close a read connection; dropping it");
            }
        }
        drop(all);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle<O::Connection>>> {
        self.idle.lock()
    }
}

/// A connection in use.
pub(crate) struct Reader<'a, O: Open> {
    pool: &'a Pool<O>,
    /// Until it is done.
    held: Option<(O::Connection, OwnedSemaphorePermit)>,
    made: Instant,
}

impl<O: Open> Reader<'_, O> {
    /// Its statement has ended, and it can take another one.
    pub(crate) fn done(mut self) {
        if let Some((connection, permit)) = self.held.take() {
            if self.made.elapsed() < self.pool.bounds.age {
                let idle = Idle { connection, made: self.made, used: Instant::now() };
                self.pool.idle().push(idle);
            }
            drop(permit);
        }
    }

    /// Nothing more is expected of its server.
    pub(crate) fn cut_off(mut self) {
        self.held = None;
    }

    /// The connection.
    pub(crate) fn connection(&mut self) -> Result<&mut O::Connection, Error> {
        // Held until `done`, `cut_off` or the drop, each of which takes the reader.
        self.held.as_mut().map(|(connection, _)| connection).ok_or(Error::PoolClosed)
    }
}

impl<O: Open> Drop for Reader<'_, O> {
    fn drop(&mut self) {
        if let Some((connection, permit)) = self.held.take() {
            self.pool.open.give_up(connection, permit);
        }
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
        pool.acquire().await.unwrap().cut_off();
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

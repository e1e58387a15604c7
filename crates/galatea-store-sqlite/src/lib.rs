//! The SQLite store: one writer that commits in groups, a few readers beside it.
//!
//! Writes of all callers wait in one bounded queue. The writer takes whatever waits, carries it out in one statement, which is
//! one transaction, and answers after the commit; with one caller that is one commit for one change, with hundreds it is one
//! flush of the disk for hundreds. Reads see everything that has been answered.

mod agent;
mod apply;
mod audit;
mod cache;
mod change;
mod condition;
mod connect;
mod convert;
mod cursor;
mod effect;
mod embedding;
mod entity;
mod error;
mod event;
mod inbox;
mod lease;
mod memory;
mod open;
mod options;
mod outbox;
mod pool;
mod read;
mod recent;
mod relationship;
mod room;
mod search;
mod step;
mod task;
mod vectors;
mod world;
mod writer;

pub use options::{Durability, SqliteOptions};

use galatea_core::{Clock, Error, Result, Timestamp};
use sqlx::{FromRow, sqlite::SqliteRow};
use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};
use tokio::sync::{mpsc, oneshot};

use crate::{
    change::Change,
    condition::Condition,
    read::{Readers, Select},
    recent::Recent,
    writer::Order,
};

/// A store in one SQLite file. Cheap to clone; all clones are the same store.
///
/// A write that has been handed over is carried out even when its caller stops waiting.
#[derive(Clone)]
pub struct SqliteStore(Arc<Inner>);

struct Inner {
    readers: Readers,
    orders: mpsc::Sender<Order>,
    statements: Arc<AtomicU64>,
    changes: AtomicI64,
    clock: Arc<dyn Clock>,
    /// The latest `now` a reader of the cache named: what expired before it is removed with the next write to the cache.
    cache_now: AtomicI64,
    asked: lease::Asked,
    condition: Arc<Condition>,
    recent: Arc<Recent>,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("statements", &self.statements()).finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens the database file, making it (mode 0600) and its folder when missing, and brings its tables up to date.
    ///
    /// # Errors
    /// `GAL-DB-OPEN` when file or folder cannot be written or the file is another program's, `GAL-DB-LOCKED` when another process
    /// holds it, `GAL-DB-CORRUPT` when it is damaged or no database, `GAL-DB-NEWER` when a later version wrote it.
    pub async fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self> {
        let opened = open::file(path.as_ref(), &options).await?;
        Ok(Self::start(opened, &options))
    }

    /// A store that lives in memory only, for tests: empty, one connection.
    ///
    /// # Errors
    /// As [`SqliteStore::open`], in practice never.
    pub async fn in_memory() -> Result<Self> {
        let options = SqliteOptions::default();
        let opened = open::memory().await?;
        Ok(Self::start(opened, &options))
    }

    fn start(opened: open::Opened, options: &SqliteOptions) -> Self {
        let (orders, receiver) = mpsc::channel(writer::WAITING);
        let statements = Arc::new(AtomicU64::new(0));
        let condition = Arc::new(Condition::default());
        let recent = Arc::new(Recent::default());
        let writer = writer::Writer {
            connection: opened.writer,
            orders: receiver,
            statements: Arc::clone(&statements),
            scrub: false,
            condition: Arc::clone(&condition),
            recent: Arc::clone(&recent),
            version: None,
            idle: options.idle,
        };
        tokio::spawn(writer.run());
        Self(Arc::new(Inner {
            readers: opened.readers,
            orders,
            statements,
            changes: AtomicI64::new(0),
            clock: Arc::clone(&options.clock),
            cache_now: AtomicI64::new(i64::MIN),
            asked: lease::Asked::default(),
            condition,
            recent,
        }))
    }

    /// Finishes every write handed over before, writes the log back into the main file and closes all connections.
    /// Calls made later fail with `Unavailable`. Closing twice is fine.
    pub async fn close(&self) {
        let (done, wait) = oneshot::channel();
        if self.0.orders.send(Order::Close(done)).await.is_ok() {
            // The writer ends only after it has answered; if it is gone already there is nothing to wait for.
            let _ = wait.await;
        }
        if let Readers::Pool(pool) = &self.0.readers {
            pool.close().await;
        }
    }

    /// SQL statements executed since the store was opened, by readers and writer together.
    pub fn statements(&self) -> u64 {
        self.0.statements.load(Ordering::Relaxed)
    }

    /// Why nothing could be stored when it was last tried; none when it could.
    pub fn trouble(&self) -> Option<Error> {
        self.0.condition.trouble()
    }

    /// Waits until the disk could not keep what was written (`GAL-DB-SYNC`). From then on nothing is stored any more: only a new process,
    /// which reads back what is there and writes it anew before anything else, may go on.
    pub async fn broken(&self) -> Error {
        self.0.condition.lost().await;
        self.trouble().unwrap_or_else(error::sync)
    }

    fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// An empty change to fill and [`SqliteStore::write`].
    fn change(&self) -> Change {
        Change::new(self.0.changes.fetch_add(1, Ordering::Relaxed))
    }

    /// Commits a change: for each answered row how many rows it touched.
    async fn write(&self, change: Change) -> Result<Vec<u64>> {
        if change.is_empty() {
            return Ok(Vec::new());
        }
        let (reply, answer) = oneshot::channel();
        self.0.orders.send(Order::Apply(change, reply)).await.map_err(|_| error::closed())?;
        answer.await.map_err(|_| error::closed())?
    }

    async fn all<O>(&self, select: Select<O>) -> Result<Vec<O>>
    where
        O: for<'r> FromRow<'r, SqliteRow> + Send + Unpin + 'static,
    {
        self.0.readers.all(&self.0.statements, select).await
    }

    /// The first row: every caller asks for one at most.
    async fn one<O>(&self, select: Select<O>) -> Result<Option<O>>
    where
        O: for<'r> FromRow<'r, SqliteRow> + Send + Unpin + 'static,
    {
        Ok(self.all(select).await?.into_iter().next())
    }
}

#[cfg(test)]
mod tests;

//! One writer on a thread of its own that commits in groups, a few readers beside it.
//!
//! Writes of all callers wait in one bounded queue. The writer takes whatever waits, commits it as
//! one transaction, and answers after the commit; with one caller that is one commit for one
//! change, with hundreds it is one flush of the disk for hundreds. Reads see everything that has
//! been answered. A search, which executes several statements, does so on a thread of its own.

mod apply;
mod condition;
mod counts;
mod error;
mod filter;
pub(crate) mod functions;
mod group;
mod known;
mod lease;
mod memory;
mod open;
mod options;
mod page;
mod presence;
pub(crate) mod raw;
mod read;
mod recent;
mod threads;
mod writer;

pub use options::{Durability, SqliteOptions};

use galatea_core::{Error, ErrorKind, Result};
use sqlx::{FromRow, sqlite::SqliteRow};
use std::{
    path::Path,
    sync::{Arc, atomic::Ordering, mpsc},
    thread,
};
use tokio::sync::{Semaphore, oneshot};

use self::{
    condition::Condition,
    known::Known,
    lease::Asked,
    presence::Presence,
    raw::Raw,
    read::Readers,
    writer::{Order, Writer},
};
pub(crate) use self::{counts::Counts, error::read_failed};
use crate::{change::Change, dialect::Statement, error as common};

/// One SQLite database.
pub(crate) struct Sqlite {
    readers: Readers,
    orders: mpsc::Sender<Order>,
    /// Places in the writer's queue.
    places: Arc<Semaphore>,
    counts: Arc<Counts>,
    pub(crate) asked: Asked,
    condition: Arc<Condition>,
    pub(crate) known: Known,
}

impl Sqlite {
    pub(crate) async fn open(path: &Path, options: &SqliteOptions) -> Result<Self> {
        let opened = open::file(path, options).await?;
        Self::start(opened, options, Presence::of(path))
    }

    pub(crate) async fn in_memory(options: &SqliteOptions) -> Result<Self> {
        Self::start(open::memory().await?, options, Presence::default())
    }

    fn start(opened: open::Opened, options: &SqliteOptions, presence: Presence) -> Result<Self> {
        let (orders, receiver) = mpsc::channel();
        let counts = Arc::new(Counts::default());
        let condition = Arc::new(Condition::of(presence));
        let known = Known::default();
        let writer = Writer::new(
            receiver,
            Arc::clone(&counts),
            Arc::clone(&condition),
            known.clone(),
            options.idle,
        );
        let failed = |e| {
            Error::new(ErrorKind::Exhausted, "the writer's thread cannot be started").with_source(e)
        };
        // It only waits for sqlx to lend the connection's handle and to close it.
        let waiter = tokio::runtime::Builder::new_current_thread().build().map_err(failed)?;
        let thread = thread::Builder::new().name("galatea-writer".to_owned());
        let started = match (opened.writer, &opened.readers) {
            (Some(connection), _) => thread.spawn(move || writer.run_alone(connection, &waiter)),
            (None, Readers::Shared(connection)) => {
                let connection = Arc::clone(connection);
                thread.spawn(move || writer.run_shared(&connection, &waiter))
            }
            (None, Readers::Pool { .. }) => {
                return Err(Error::unexpected("a database was opened without a writer"));
            }
        };
        started.map_err(failed)?;
        Ok(Self {
            readers: opened.readers,
            orders,
            places: Arc::new(Semaphore::new(writer::WAITING)),
            counts,
            asked: Asked::new(Arc::clone(&options.clock)),
            condition,
            known,
        })
    }

    pub(crate) async fn close(&self) {
        let (done, wait) = oneshot::channel();
        if self.orders.send(Order::Close(done)).is_ok() {
            // The writer ends only after it has answered; if it is gone already there is nothing to
            // wait for.
            let _ = wait.await;
        }
        self.places.close();
        if let Readers::Pool { pool, threads } = &self.readers {
            threads.close().await;
            pool.close().await;
        }
    }

    pub(crate) fn statements(&self) -> u64 {
        self.counts.statements.load(Ordering::Relaxed)
    }

    pub(crate) fn rows(&self) -> u64 {
        self.counts.rows.load(Ordering::Relaxed)
    }

    pub(crate) fn trouble(&self) -> Option<Error> {
        self.condition.trouble()
    }

    pub(crate) async fn broken(&self) -> Error {
        self.condition.lost().await;
        self.trouble().unwrap_or_else(error::sync)
    }

    /// Commits a change: for each write how many rows it touched.
    pub(crate) async fn write(&self, change: Change) -> Result<Vec<u64>> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| common::closed())?;
        let (reply, answer) = oneshot::channel();
        self.orders.send(Order::Apply(change, reply, place)).map_err(|_| common::closed())?;
        answer.await.map_err(|_| common::closed())?
    }

    /// Every row.
    pub(crate) async fn all<O>(&self, statement: Statement) -> Result<Vec<O>>
    where
        O: for<'r> FromRow<'r, SqliteRow> + Send + Unpin + 'static,
    {
        self.readers.all(&self.counts.statements, statement).await
    }

    /// Does the work of a search on a thread that reads: it computes for up to some milliseconds, and
    /// each of its statements needs the result of the one before. All of them see one state of the
    /// database. With a database in memory the caller's task does it.
    ///
    /// # Errors
    /// Those of the work and of the connection.
    pub(crate) async fn search<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Raw<'_>, &Counts) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let counts = Arc::clone(&self.counts);
        match &self.readers {
            Readers::Pool { threads, .. } => {
                threads.run(move |raw| in_transaction(raw, |raw| work(raw, &counts))).await?
            }
            Readers::Shared(connection) => {
                let mut connection = connection.lock().await;
                let mut lent = connection.lock_handle().await.map_err(error::store)?;
                let mut raw = Raw::new(&mut lent).map_err(read_failed)?;
                in_transaction(&mut raw, |raw| work(raw, &counts))
            }
        }
    }

    /// Whether it is a database in memory.
    pub(crate) fn is_in_memory(&self) -> bool {
        matches!(self.readers, Readers::Shared(_))
    }

    /// The first row: every caller asks for one at most.
    pub(crate) async fn fetch_one<O>(&self, statement: Statement) -> Result<Option<O>>
    where
        O: for<'r> FromRow<'r, SqliteRow> + Send + Unpin + 'static,
    {
        Ok(self.all(statement).await?.into_iter().next())
    }
}

/// Reads within one transaction.
fn in_transaction<T>(raw: &mut Raw<'_>, work: impl FnOnce(&mut Raw<'_>) -> Result<T>) -> Result<T> {
    // It is open still if its end failed once.
    if raw.is_autocommit() {
        raw.execute("BEGIN", &[]).map_err(read_failed)?;
    }
    let done = work(raw);
    if let Err(refusal) = raw.execute("COMMIT", &[]) {
        tracing::warn!(error = %refusal, "failed to end the transaction of a search; the next search on this connection sees the same state and ends it");
    }
    done
}

#[cfg(test)]
pub(crate) use self::{filter::statements as filter_statements, open::MIGRATIONS};

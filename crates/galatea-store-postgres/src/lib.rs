//! The PostgreSQL store: one writer that commits in groups, a pool of readers and a connection for leases beside it; several processes may share
//! a database.
//!
//! Writes of all callers wait in one bounded queue. The writer takes whatever waits, carries it out in one statement, which is
//! one transaction and one round trip, and answers after the commit. A connection that breaks is made anew; a change whose
//! answer was lost on the way is asked for again and tells what became of it.

mod agent;
mod apply;
mod audit;
mod cache;
mod change;
mod connect;
mod convert;
mod cursor;
mod effect;
mod embedding;
mod entity;
mod error;
mod event;
mod group;
mod inbox;
mod lease;
mod memory;
mod open;
mod options;
mod outbox;
mod read;
mod relationship;
mod room;
mod search;
mod step;
mod task;
mod world;
mod writer;

pub use open::Seen;
pub use options::PostgresOptions;

use galatea_core::{Clock, Error, Result, Timestamp};
use secrecy::SecretString;
use sqlx::{FromRow, postgres::PgRow};
use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};
use tokio::sync::{mpsc, oneshot};

use crate::{
    change::Change,
    read::{Readers, Select},
    writer::Order,
};

/// A store in one PostgreSQL database, in its schema `galatea`. Cheap to clone; all clones are the same store.
///
/// A write that has been handed over is carried out even when its caller stops waiting.
#[derive(Clone)]
pub struct PostgresStore(Arc<Inner>);

struct Inner {
    place: String,
    created: bool,
    readers: Readers,
    leases: Readers,
    orders: mpsc::Sender<Order>,
    statements: Arc<AtomicU64>,
    changes: AtomicI64,
    clock: Arc<dyn Clock>,
    /// The latest `now` a reader of the cache named: what expired before it is removed with the next write to the cache.
    cache_now: AtomicI64,
    trouble: Arc<Mutex<Option<Error>>>,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("place", &self.0.place).field("statements", &self.statements()).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Connects to `postgres://user:password@host:port/database` and brings its tables up to date. What the address leaves out comes
    /// from the usual `PG…` variables and the password file.
    ///
    /// # Errors
    /// `GAL-DB-URL` for an address that cannot be read, `GAL-DB-HOST` when nobody answers there, `GAL-DB-PASSWORD`, `GAL-DB-MISSING` (no
    /// such database), `GAL-DB-RIGHTS`, `GAL-DB-TLS`, `GAL-DB-BUSY`, `GAL-DB-OLD` for a server before version 14, `GAL-DB-NEWER` when a
    /// later version of this program wrote the tables, `GAL-DB-CORRUPT` when they were changed by somebody else. None holds the password.
    pub async fn open(url: &SecretString, options: PostgresOptions) -> Result<Self> {
        let opened = open::database(url, &options).await?;
        let (orders, receiver) = mpsc::channel(writer::WAITING);
        let statements = Arc::new(AtomicU64::new(0));
        let place = opened.place.show();
        let trouble = Arc::default();
        let writer = writer::Writer {
            place: opened.place,
            connection: Some(opened.writer),
            orders: receiver,
            statements: Arc::clone(&statements),
            settle_within: options.settle_within,
            trouble: Arc::clone(&trouble),
            since: None,
        };
        tokio::spawn(writer.run());
        Ok(Self(Arc::new(Inner {
            place,
            created: opened.created,
            readers: opened.readers,
            leases: opened.leases,
            orders,
            statements,
            changes: AtomicI64::new(0),
            clock: options.clock,
            cache_now: AtomicI64::new(i64::MIN),
            trouble,
        })))
    }

    /// Finishes every write handed over before and closes all connections. Calls made later fail with `Unavailable`. Closing twice is fine.
    pub async fn close(&self) {
        let (done, wait) = oneshot::channel();
        if self.0.orders.send(Order::Close(done)).await.is_ok() {
            // The writer ends only after it has answered; if it is gone already there is nothing to wait for.
            let _ = wait.await;
        }
        tokio::join!(self.0.readers.close(), self.0.leases.close());
    }

    /// Looks at a database without making or changing anything: what would keep it from opening, and whether tables are there.
    ///
    /// # Errors
    /// As [`PostgresStore::open`].
    pub async fn look(url: &SecretString, options: &PostgresOptions) -> Result<Seen> {
        open::look(url, options).await
    }

    /// The tables were made by this opening.
    pub fn created(&self) -> bool {
        self.0.created
    }

    /// Where the database is, for people: host, port and name, never user or password.
    pub fn place(&self) -> &str {
        &self.0.place
    }

    /// SQL statements executed since the store was opened, by readers and writer together.
    pub fn statements(&self) -> u64 {
        self.0.statements.load(Ordering::Relaxed)
    }

    /// Why nothing is known to be stored since it was last tried; none when it is.
    pub fn trouble(&self) -> Option<Error> {
        self.0.trouble.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(error::copy)
    }

    fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// An empty change to fill and [`PostgresStore::write`].
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
        O: for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static,
    {
        self.0.readers.all(&self.0.statements, select).await
    }

    /// The first row: every caller asks for one at most.
    async fn one<O>(&self, select: Select<O>) -> Result<Option<O>>
    where
        O: for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static,
    {
        Ok(self.all(select).await?.into_iter().next())
    }
}

#[cfg(test)]
mod tests;

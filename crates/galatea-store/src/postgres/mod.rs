//! One writer that commits in groups, a pool of readers and a connection for leases beside it;
//! several processes may share a database.
//!
//! Writes of all callers wait in one bounded queue. The writer takes whatever waits and goes
//! together, carries it out in one statement, which is one transaction and one round trip, and
//! answers after the commit. A broken connection is replaced; a change whose answer was lost on the
//! way is sent again, and its result shows whether it had been stored.

mod error;
mod event;
mod filter;
mod group;
mod hints;
mod lease;
mod limits;
mod memory;
mod nearest;
pub(crate) mod open;
mod options;
mod read;
mod signs;
pub(crate) mod statistics;
mod writer;

pub use open::ServerState;
pub(crate) use open::{Place, inspect};
pub use options::PostgresOptions;
pub(crate) use read::Readers;

use galatea_core::{Error, Hints, Result, SecretString};
use parking_lot::Mutex;
use sqlx::{FromRow, postgres::PgRow};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tokio::sync::{mpsc, oneshot};

use self::{hints::Notices, signs::Signs, statistics::Statistics, writer::Order};
use crate::{change::Change, dialect::Statement, error as common};

/// One PostgreSQL database.
pub(crate) struct Postgres {
    address: Place,
    place: String,
    created: bool,
    readers: Readers,
    leases: Readers,
    orders: mpsc::Sender<Order>,
    statements: Arc<AtomicU64>,
    trouble: Arc<Mutex<Option<Error>>>,
    signs: Signs,
}

impl Postgres {
    pub(crate) async fn open(url: &SecretString, options: &PostgresOptions) -> Result<Self> {
        let opened = open::database(url, options).await?;
        let (orders, receiver) = mpsc::channel(writer::WAITING);
        let statements = Arc::new(AtomicU64::new(0));
        let trouble = Arc::default();
        let writer = writer::Writer {
            place: opened.place.clone(),
            connection: Some(opened.writer),
            orders: receiver,
            statements: Arc::clone(&statements),
            settle_within: options.settle_within,
            trouble: Arc::clone(&trouble),
            since: None,
            statistics: Statistics::new(opened.readers.clone()),
        };
        tokio::spawn(writer.run());
        Ok(Self {
            place: opened.place.show(),
            address: opened.place,
            created: opened.created,
            readers: opened.readers,
            leases: opened.leases,
            orders,
            statements,
            trouble,
            signs: Signs::default(),
        })
    }

    pub(crate) async fn close(&self) {
        let (done, wait) = oneshot::channel();
        if self.orders.send(Order::Close(done)).await.is_ok() {
            // The writer ends only after it has answered; if it is gone already there is nothing to
            // wait for.
            let _ = wait.await;
        }
        tokio::join!(self.readers.close(), self.leases.close());
    }

    pub(crate) fn created(&self) -> bool {
        self.created
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    pub(crate) fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    pub(crate) fn trouble(&self) -> Option<Error> {
        self.trouble.lock().as_ref().map(Error::duplicate)
    }

    /// Wake-ups between the processes that share the database, by `LISTEN` and `NOTIFY`.
    pub(crate) fn hints(&self) -> Arc<dyn Hints> {
        Arc::new(Notices::open(self.address.clone(), self.readers.clone()))
    }

    /// Commits a change: for each write how many rows it touched.
    pub(crate) async fn write(&self, change: Change) -> Result<Vec<u64>> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(Order::Apply(change, reply)).await.map_err(|_| common::closed())?;
        answer.await.map_err(|_| common::closed())?
    }

    /// Every row.
    pub(crate) async fn all<O>(&self, statement: Statement) -> Result<Vec<O>>
    where
        O: for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static,
    {
        self.readers.all(&self.statements, statement).await
    }

    /// The first row: every caller asks for one at most.
    async fn fetch_one<O>(&self, statement: Statement) -> Result<Option<O>>
    where
        O: for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static,
    {
        Ok(self.all(statement).await?.into_iter().next())
    }
}

#[cfg(test)]
pub(crate) use self::{
    error::old as old_server,
    event::{AFTER, END, PUBLISH},
    filter::statements as filter_statements,
    group::COMMIT_GROUP,
    hints::NOTIFY,
    lease::{BEAT, CLAIM, CLOCK, KNOWN, LEASES, LEAVE, MEMBERS, PULSE, RELEASE, RENEW},
    limits::{PRUNE_LIMITS, SHARE_LIMITS},
    nearest::{CHANGED, THERE},
    open::{SESSION, database},
};

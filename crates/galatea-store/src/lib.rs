//! The store, in a SQLite file or in a PostgreSQL database.
//!
//! One file per store trait holds its rows, their decoding and the statements of both dialects side
//! by side; `sqlite/` and `postgres/` hold what differs: opening, the writer, pages of memories,
//! leases. Reads are statements (`dialect.rs`). Writes are changes (`change.rs`): whole values that a
//! writer commits in groups, each of which takes effect whole or not at all.

mod agent;
mod audit;
mod backlog;
mod backup;
mod cache;
mod change;
mod channel;
mod chat;
mod connect;
mod connector_state;
mod console;
mod convert;
mod copy;
mod cursor;
mod deleted;
mod derived;
mod dialect;
mod doomed;
mod effect;
mod embedding;
mod entity;
mod error;
mod event;
mod forget;
mod forgotten;
mod grant;
mod house;
mod inbox;
mod index;
mod lease;
mod link;
mod live;
mod memory;
mod neighbour;
mod outbox;
mod plan;
mod pool;
mod postgres;
mod record;
mod relationship;
mod room;
mod rows;
mod search;
mod sqlite;
mod step;
mod stored_setting;
mod task;
mod task_queue;
mod terms;
mod trace;
mod usage;
mod verdict;
mod version;
mod webhook;
mod world;

pub use backup::{backup, check};
pub use postgres::{PostgresOptions, ServerState};
pub use sqlite::{Durability, SqliteOptions};

use galatea_core::{
    AgentId, Clock, Error, Hints, Result, SecretString, Store, Timestamp, redact::Redactor,
};
use parking_lot::Mutex;
use sqlx::{FromRow, postgres::PgRow, sqlite::SqliteRow};
use std::{
    borrow::Cow,
    collections::HashMap,
    fmt,
    path::Path,
    sync::{Arc, atomic::AtomicI64},
    time::Instant,
};

use crate::{
    change::{Change, Write},
    dialect::Statement,
    postgres::Postgres,
    sqlite::Sqlite,
};

/// An open database. Cheap to clone; all clones are the same one.
///
/// A write that has been handed over is carried out even when its caller stops waiting.
#[derive(Clone)]
pub struct Database(Arc<Inner>);

struct Inner {
    backend: Backend,
    clock: Arc<dyn Clock>,
    redactor: Redactor,
    /// The latest `now` a reader of the cache named: what expired before it is removed with the
    /// next write to the cache.
    cache_now: AtomicI64,
    /// When memories were last behind the mark of an agent's embedding model.
    marked: Mutex<HashMap<(AgentId, String), Instant>>,
}

/// What the tables are in.
pub(crate) enum Backend {
    Sqlite(Box<Sqlite>),
    Postgres(Box<Postgres>),
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("place", &self.place())
            .field("statements", &self.statements())
            .finish_non_exhaustive()
    }
}

impl Database {
    /// Opens a SQLite file, making it (mode 0600) and its folder when missing, and brings its
    /// tables up to date.
    ///
    /// # Errors
    /// `GAL-DB-OPEN` when file or folder cannot be written or the file is another program's,
    /// `GAL-DB-LOCKED` when another process holds it, `GAL-DB-CORRUPT` when it is damaged or no
    /// database, `GAL-DB-NEWER` when a later version wrote it, `GAL-DB-EARLIER` when one before 0.1
    /// did.
    pub async fn sqlite(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self> {
        let sqlite = Sqlite::open(path.as_ref(), &options).await?;
        let backend = Backend::Sqlite(Box::new(sqlite));
        let store = Self::over(backend, options.clock, options.redactor);
        store.index_in_background();
        Ok(store)
    }

    /// A SQLite database that lives in memory only, for tests: empty, one connection.
    ///
    /// # Errors
    /// As [`Database::sqlite`], in practice never.
    pub async fn in_memory() -> Result<Self> {
        Self::in_memory_with(SqliteOptions::default()).await
    }

    /// The same with options: `clock` makes the rows of a test independent of the day it runs on.
    ///
    /// # Errors
    /// Those of SQLite, such as no memory.
    pub async fn in_memory_with(options: SqliteOptions) -> Result<Self> {
        let sqlite = Sqlite::in_memory(&options).await?;
        let backend = Backend::Sqlite(Box::new(sqlite));
        Ok(Self::over(backend, options.clock, options.redactor))
    }

    /// Connects to `postgres://user:password@host:port/database`, works in its schema `galatea` and
    /// brings its tables up to date. What the address leaves out comes from the usual `PG…`
    /// variables and the password file.
    ///
    /// # Errors
    /// `GAL-DB-URL` for an address that cannot be read, `GAL-DB-HOST` when no server answers there,
    /// `GAL-DB-PASSWORD`, `GAL-DB-MISSING` (no such database), `GAL-DB-RIGHTS`, `GAL-DB-TLS`,
    /// `GAL-DB-BUSY`, `GAL-DB-POOLER` (a pooler in transaction mode), `GAL-DB-OLD` for a server
    /// before version 14, `GAL-DB-NEWER` when a later version of this program wrote the tables,
    /// `GAL-DB-EARLIER` when one before 0.1 did,
    /// `GAL-DB-CORRUPT` when another program changed them. None holds the password.
    pub async fn postgres(url: &SecretString, options: PostgresOptions) -> Result<Self> {
        let postgres = Postgres::open(url, &options).await?;
        let backend = Backend::Postgres(Box::new(postgres));
        Ok(Self::over(backend, options.clock, options.redactor))
    }

    /// Inspects a PostgreSQL database without making or changing anything: what would keep it from
    /// opening, and whether tables are there.
    ///
    /// # Errors
    /// As [`Database::postgres`].
    pub async fn inspect(url: &SecretString, options: &PostgresOptions) -> Result<ServerState> {
        postgres::inspect(url, options).await
    }

    fn over(backend: Backend, clock: Arc<dyn Clock>, redactor: Redactor) -> Self {
        Self(Arc::new(Inner {
            backend,
            clock,
            redactor,
            cache_now: AtomicI64::new(i64::MIN),
            marked: Mutex::default(),
        }))
    }

    /// Finishes every write handed over before and closes all connections; SQLite writes its log
    /// back into the main file. Calls made later fail with `Unavailable`. Closing twice is fine.
    pub async fn close(&self) {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.close().await,
            Backend::Postgres(postgres) => postgres.close().await,
        }
    }

    /// The PostgreSQL tables were made by this opening.
    pub fn created(&self) -> bool {
        match &self.0.backend {
            Backend::Sqlite(_) => false,
            Backend::Postgres(postgres) => postgres.created(),
        }
    }

    /// Where a PostgreSQL database is, for people: host, port and name, never user or password.
    /// None for a SQLite file.
    pub fn place(&self) -> Option<&str> {
        match &self.0.backend {
            Backend::Sqlite(_) => None,
            Backend::Postgres(postgres) => Some(postgres.place()),
        }
    }

    /// Statements read and groups written since it was opened.
    pub fn statements(&self) -> u64 {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.statements(),
            Backend::Postgres(postgres) => postgres.statements(),
        }
    }

    /// Rows inserted, changed or removed since it was opened; `None` for PostgreSQL, whose server
    /// counts them itself (`pg_stat_database`).
    pub fn written_rows(&self) -> Option<u64> {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => Some(sqlite.rows()),
            Backend::Postgres(_) => None,
        }
    }

    /// Why nothing is known to be stored since it was last tried; none when it is.
    pub fn trouble(&self) -> Option<Error> {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.trouble(),
            Backend::Postgres(postgres) => postgres.trouble(),
        }
    }

    /// Waits until the disk could not keep what was written (`GAL-DB-SYNC`). From then on nothing
    /// is stored any more: only a new process, which reads back what is there and writes it again
    /// before anything else, may go on. A server sees to that by itself.
    pub async fn broken(&self) -> Error {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.broken().await,
            Backend::Postgres(_) => std::future::pending().await,
        }
    }

    /// Its tables.
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    /// Wake-ups between the processes that share it; none where there is one process.
    pub fn hints(&self) -> Option<Arc<dyn Hints>> {
        match &self.0.backend {
            Backend::Sqlite(_) => None,
            Backend::Postgres(postgres) => Some(postgres.hints()),
        }
    }

    /// The text of an error as it is stored: without secrets.
    fn clean(&self, error: String) -> String {
        match self.0.redactor.clean_error(&error) {
            Cow::Owned(clean) => clean,
            Cow::Borrowed(_) => error,
        }
    }

    fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Commits a change: for each write how many rows it touched.
    async fn write(&self, change: Change) -> Result<Vec<u64>> {
        if change.is_empty() {
            return Ok(Vec::new());
        }
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.write(change).await,
            Backend::Postgres(postgres) => postgres.write(change).await,
        }
    }

    /// Commits one rare statement: how many rows it touched.
    async fn write_one(&self, statement: Statement) -> Result<u64> {
        let mut change = Change::default();
        change.push(Write::statement(statement))?;
        Ok(self.write(change).await?.first().copied().unwrap_or(0))
    }

    /// Every row.
    async fn all<O>(&self, statement: Statement) -> Result<Vec<O>>
    where
        O: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static,
    {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.all(statement).await,
            Backend::Postgres(postgres) => postgres.all(statement).await,
        }
    }

    /// The first row: every caller asks for one at most.
    async fn fetch_one<O>(&self, statement: Statement) -> Result<Option<O>>
    where
        O: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static,
    {
        Ok(self.all(statement).await?.into_iter().next())
    }
}

#[cfg(test)]
mod tests;

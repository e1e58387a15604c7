//! Opens a database: the address, the session's settings, the tables.

use galatea_core::Result;
use secrecy::{ExposeSecret, SecretString};
use sqlx::{
    ConnectOptions, Connection, Executor, PgConnection, PgPool, Row,
    migrate::{Migrate, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
    query_as, query_scalar, raw_sql,
};
use std::{str::FromStr, time::Duration};
use tokio::time::timeout;

use super::{
    error,
    options::{LEASING, PostgresOptions, WRITING},
    read::{Readers, Reading},
};
use crate::{
    pool::{Bounds, Pool},
    version,
};

/// The tables, in steps. An applied step is never edited.
pub(crate) static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/postgres");

/// The first migration that was applied to a database, and the number of the newest one.
const APPLIED: &str = "SELECT (SELECT m.description FROM galatea._sqlx_migrations m WHERE m.version = 1), max(version) FROM galatea._sqlx_migrations";

/// The oldest server that is taken: 14, the oldest one still maintained in 2026
/// (<https://www.postgresql.org/support/versioning/>).
const OLDEST: u32 = 140_000;

/// As sqlx's own pool has them: an idle connection may have been cut off on the way, and one that lives
/// for ever never moves to another server of its name.
const IDLE: Duration = Duration::from_secs(600);
const AGE: Duration = Duration::from_secs(1_800);

/// How often two connections are asked for their server processes.
const ROUNDS: usize = 3;

/// Every session works in our schema, so that an elizaOS in the same database keeps its own tables.
/// Who holds a transaction open without doing anything would block others who wait for its locks,
/// so the server ends it after 3 s. No statement is so long that it pays to compile it.
pub(crate) const SESSION: &str = "SET search_path TO galatea; SET idle_in_transaction_session_timeout TO '3s'; SET client_min_messages TO 'warning'; SET jit TO off";

/// Where a database is, and how to get a session there.
#[derive(Clone)]
pub(crate) struct Place {
    options: PgConnectOptions,
    patience: Duration,
}

impl Place {
    /// Reads `postgres://user:password@host:port/database?sslmode=…`; what it leaves out comes from
    /// the usual `PG…` variables.
    pub(crate) fn parse(url: &SecretString, options: &PostgresOptions) -> Result<Self> {
        if is_torn(url.expose_secret()) {
            return Err(error::address());
        }
        let parsed =
            PgConnectOptions::from_str(url.expose_secret()).map_err(|_| error::address())?;
        Ok(Self {
            options: parsed.application_name("galatea").disable_statement_logging(),
            patience: options.patience,
        })
    }

    /// For people: never the password.
    pub(crate) fn show(&self) -> String {
        let options = &self.options;
        let database = options.get_database().unwrap_or(options.get_username());
        match options.get_socket() {
            Some(socket) => format!("{}/{database}", socket.display()),
            None => format!("{}:{}/{database}", options.get_host(), options.get_port()),
        }
    }

    /// Opens the first session. Refuses a transaction-mode pooler. The check runs before any session
    /// setting is changed, because other clients of the pooler would get the changed session.
    async fn first(&self) -> Result<PgConnection> {
        let fail = |e| error::open(&self.show(), e);
        let twins = async {
            let mut first = PgConnection::connect_with(&self.options).await?;
            let mut second = PgConnection::connect_with(&self.options).await?;
            let is_own = has_own_session(&mut first, &mut second).await?;
            // The end of this connection needs no wait.
            let _ = second.close().await;
            if is_own {
                first.execute(SESSION).await?;
            }
            Ok((first, is_own))
        };
        match timeout(self.patience, twins)
            .await
            .unwrap_or(Err(sqlx::Error::PoolTimedOut))
            .map_err(fail)?
        {
            (one, true) => Ok(one),
            (_, false) => Err(error::pooler(&self.show())),
        }
    }

    /// A session.
    pub(crate) async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        let connect = async {
            let mut connection = PgConnection::connect_with(&self.options).await?;
            connection.execute(SESSION).await?;
            Ok(connection)
        };
        timeout(self.patience, connect).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    /// Sessions that read, made when they are needed.
    pub(crate) fn readers(&self, most: u32, limit: Duration) -> Readers {
        let bounds = Bounds { most, patience: self.patience, idle: IDLE, age: AGE };
        // The server gives up after us, so that no abandoned statement keeps running there.
        let longest = (limit + Duration::from_secs(1)).as_millis();
        let session = format!("{SESSION}; SET statement_timeout TO {longest}");
        let open = Reading { options: self.options.clone(), session, limit };
        Readers::new(Pool::new(open, bounds), limit)
    }

    /// A session that listens, in the form that sqlx's listener takes.
    pub(crate) fn listening(&self) -> PgPool {
        PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(self.patience)
            .after_connect(|connection, _| {
                Box::pin(async move { connection.execute(SESSION).await.map(drop) })
            })
            .connect_lazy_with(self.options.clone())
    }
}

/// Whether a plain `/`, `?` or `#` in a password tore the address. What stands before the sign would be
/// read as host and port, and shown. Then an `@` is in the path, the fragment, or a parameter that never
/// has one.
fn is_torn(url: &str) -> bool {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    let (_, after) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (path, query) = after.split_at(after.find('?').unwrap_or(after.len()));
    let mut parameters = query.split(['?', '&', '#']);
    path.contains('@')
        || parameters.any(|one| {
            let name = one.split('=').next().unwrap_or_default();
            one.contains('@') && !MAY_HAVE_AT.contains(&name)
        })
}

/// Parameters of an address whose values may have an `@`: names that people chose.
const MAY_HAVE_AT: &[&str] = &[
    "application_name",
    "dbname",
    "host",
    "options",
    "password",
    "sslcert",
    "sslkey",
    "sslrootcert",
    "user",
];

/// Whether two connections have a server process each, and keep it. Behind a pooler in transaction
/// mode an idle one answers both, or a busy one each time another. In the simple protocol: such a
/// pooler may know no prepared statements.
async fn has_own_session(
    first: &mut PgConnection,
    second: &mut PgConnection,
) -> Result<bool, sqlx::Error> {
    let mut seen = Vec::new();
    for _ in 0..ROUNDS {
        seen.push((process(first).await?, process(second).await?));
    }
    Ok(seen.iter().all(|pair| pair == &seen[0] && pair.0 != pair.1))
}

async fn process(connection: &mut PgConnection) -> Result<i32, sqlx::Error> {
    raw_sql("SELECT pg_backend_pid()").fetch_one(connection).await?.try_get(0)
}

/// What [`crate::Database::inspect`] finds of a server and its database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerState {
    /// Host, port and name; never user or password.
    pub place: String,
    /// The server's version, such as `15.18`.
    pub version: String,
    /// Our tables are there.
    pub tables: bool,
}

/// The connections of a store.
pub(crate) struct Opened {
    pub(crate) place: Place,
    /// The tables were made just now.
    pub(crate) created: bool,
    pub(crate) writer: PgConnection,
    pub(crate) readers: Readers,
    /// The connection reserved for heartbeats.
    pub(crate) leases: Readers,
}

/// Opens a database and brings its tables up to date.
pub(crate) async fn database(url: &SecretString, options: &PostgresOptions) -> Result<Opened> {
    let place = Place::parse(url, options)?;
    let mut writer = place.first().await?;
    version(&writer, &place)?;
    let created = migrate(&mut writer, &place).await?;
    let (readers, leases) = (place.readers(options.readers, WRITING), place.readers(1, LEASING));
    Ok(Opened { place, created, writer, readers, leases })
}

/// Inspects a database without making or changing anything.
pub(crate) async fn inspect(url: &SecretString, options: &PostgresOptions) -> Result<ServerState> {
    let place = Place::parse(url, options)?;
    let fail = |e| error::open(&place.show(), e);
    let mut connection = place.first().await?;
    let version = version(&connection, &place)?;
    let tables = newest(&mut connection, &place).await?.is_some();
    let may_make = "SELECT has_database_privilege(current_database(), 'CREATE') OR to_regnamespace('galatea') IS NOT NULL";
    let may: bool = query_scalar(may_make).fetch_one(&mut connection).await.map_err(fail)?;
    if !tables && !may {
        return Err(error::rights().with("database", place.show()));
    }
    connection.close().await.map_err(fail)?;
    let version = format!("{}.{}", version / 10_000, version % 10_000);
    Ok(ServerState { place: place.show(), version, tables })
}

/// The server's version, if it is new enough.
fn version(connection: &PgConnection, place: &Place) -> Result<u32> {
    let version = connection.server_version_num().unwrap_or(0);
    if version < OLDEST { Err(error::old(&place.show(), version, OLDEST)) } else { Ok(version) }
}

/// The newest step that was applied; none when there are no tables of ours. The tables of a newer or
/// earlier version are refused.
async fn newest(connection: &mut PgConnection, place: &Place) -> Result<Option<i64>> {
    let fail = |e| error::open(&place.show(), e);
    let begun: bool = query_scalar("SELECT to_regclass('galatea._sqlx_migrations') IS NOT NULL")
        .fetch_one(&mut *connection)
        .await
        .map_err(fail)?;
    if !begun {
        return Ok(None);
    }
    let (first, newest): (Option<String>, Option<i64>) =
        query_as(APPLIED).fetch_one(&mut *connection).await.map_err(fail)?;
    version::check(first.as_deref(), newest, &MIGRATIONS)
        .map_err(|refusal| refusal.with("database", place.show()))?;
    Ok(newest)
}

/// Brings the tables up to date: each step in a transaction, under a lock. True when there were
/// none.
async fn migrate(connection: &mut PgConnection, place: &Place) -> Result<bool> {
    let fail = |e| error::open(&place.show(), e);
    // Two programs that see a new database at the same time would both make the schema.
    connection.lock().await.map_err(|e| error::migrate(&place.show(), e))?;
    let there: bool =
        query_scalar("SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'galatea')")
            .fetch_one(&mut *connection)
            .await
            .map_err(fail)?;
    if !there {
        connection.execute("CREATE SCHEMA galatea").await.map_err(fail)?;
    }
    let created = newest(connection, place).await?.is_none();
    MIGRATIONS
        .run_direct(None, &mut *connection, false)
        .await
        .map_err(|e| error::migrate(&place.show(), e))?;
    connection.unlock().await.map_err(|e| error::migrate(&place.show(), e))?;
    Ok(created)
}

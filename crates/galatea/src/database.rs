//! Database: the file in the data folder, or the PostgreSQL that `DATABASE_URL` names. Nobody else knows which.

use galatea_core::{Error, Result, SecretString, Settings, Store};
use galatea_store_postgres::{PostgresOptions, PostgresStore};
use galatea_store_sqlite::{SqliteOptions, SqliteStore};
use std::{path::Path, sync::Arc};

use crate::{config::DATABASE_URL, data_dir::DataDir};

/// Connections for reading of a command that works beside the running process.
const BESIDE: u32 = 1;

/// An open database.
#[derive(Clone)]
pub(crate) enum Database {
    /// A file.
    Sqlite(SqliteStore),
    /// A server.
    Postgres(PostgresStore),
}

impl Database {
    /// Opens it, making its tables when they are missing. Also tells whether it was made just now.
    ///
    /// # Errors
    /// Whatever keeps it from opening, with the place of the setting.
    pub(crate) async fn open(settings: &Settings, data_dir: &DataDir) -> Result<(Self, bool)> {
        if let Some(url) = address(settings) {
            let store = PostgresStore::open(&url, PostgresOptions::default()).await.map_err(|e| located(e, settings))?;
            let created = store.created();
            return Ok((Self::Postgres(store), created));
        }
        let file = data_dir.database();
        let created = !file.exists();
        Ok((Self::Sqlite(SqliteStore::open(&file, SqliteOptions::default()).await?), created))
    }

    /// Opens it beside the process that writes it.
    ///
    /// # Errors
    /// `NotFound` (`GAL-DATA-NONE`) when there is none yet, and whatever keeps it from opening.
    pub(crate) async fn open_beside(settings: &Settings, data_dir: &DataDir) -> Result<Self> {
        if let Some(url) = address(settings) {
            let options = PostgresOptions { readers: BESIDE, ..PostgresOptions::default() };
            let seen = PostgresStore::look(&url, &options).await.map_err(|e| located(e, settings))?;
            if !seen.tables {
                return Err(none_yet(&seen.place));
            }
            return PostgresStore::open(&url, options).await.map(Self::Postgres).map_err(|e| located(e, settings));
        }
        let file = data_dir.database();
        if !file.exists() {
            return Err(none_yet(&data_dir.path().display().to_string()));
        }
        SqliteStore::open(&file, SqliteOptions { readers: BESIDE, ..SqliteOptions::default() }).await.map(Self::Sqlite)
    }

    /// Its tables.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(store) => Arc::new(store.clone()),
            Self::Postgres(store) => Arc::new(store.clone()),
        }
    }

    /// Where it is, and what it is.
    pub(crate) fn show(&self, data_dir: &DataDir, working_dir: &Path) -> (String, &'static str) {
        match self {
            Self::Sqlite(_) => (DataDir::show(&data_dir.database(), working_dir), "SQLite"),
            Self::Postgres(store) => (store.place().to_owned(), "PostgreSQL"),
        }
    }

    /// SQL statements executed so far.
    pub(crate) fn statements(&self) -> u64 {
        match self {
            Self::Sqlite(store) => store.statements(),
            Self::Postgres(store) => store.statements(),
        }
    }

    /// Why nothing could be stored when it was last tried; none when it could.
    pub(crate) fn trouble(&self) -> Option<Error> {
        match self {
            Self::Sqlite(store) => store.trouble(),
            Self::Postgres(store) => store.trouble(),
        }
    }

    /// Waits until the disk could not keep what was written, after which this process may not go on. A server sees to that by itself.
    pub(crate) async fn broken(&self) -> Error {
        match self {
            Self::Sqlite(store) => store.broken().await,
            Self::Postgres(_) => std::future::pending().await,
        }
    }

    /// Finishes what was handed over and closes it.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            Self::Postgres(store) => store.close().await,
        }
    }
}

/// What a look at a PostgreSQL tells, without making or changing anything; none when there is a file instead.
pub(crate) async fn look(settings: &Settings) -> Option<Result<galatea_store_postgres::Seen>> {
    let url = address(settings)?;
    Some(PostgresStore::look(&url, &PostgresOptions::default()).await.map_err(|e| located(e, settings)))
}

fn address(settings: &Settings) -> Option<SecretString> {
    settings.secret(&DATABASE_URL)
}

fn located(error: Error, settings: &Settings) -> Error {
    let named = [DATABASE_URL.name].into_iter().chain(DATABASE_URL.aliases.iter().copied()).find(|name| settings.raw(name).is_some());
    error.with("where", format!("{} from {}", named.unwrap_or(DATABASE_URL.name), settings.origin(&DATABASE_URL)))
}

fn none_yet(place: &str) -> Error {
    Error::not_found("there is no database yet")
        .with_code("GAL-DATA-NONE")
        .with("where", place)
        .with_fix("run it in the folder galatea was started in, or set GALATEA_DATA_DIR or DATABASE_URL as galatea had them")
}

//! Opens a database: the file, its options, its tables.

use galatea_core::Result;
use sqlx::{
    AssertSqlSafe, Connection, SqliteConnection,
    migrate::Migrator,
    query, query_as, query_scalar,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use std::{fs, path::Path, sync::Arc, time::Duration};
use tokio::sync::Mutex;

use super::{
    error, functions,
    options::{Durability, SqliteOptions},
    read::Readers,
    threads::Threads,
};
use crate::{
    pool::{Bounds, Open, Pool},
    version,
};

/// The tables, in steps. An applied step is never edited.
pub(crate) static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite");

/// `PRAGMA application_id` of our files: `GALA`, as the first migration sets it.
const APPLICATION: i64 = 0x4741_4c41;

/// The first migration that was applied to a database, and the number of the newest one.
const APPLIED: &str = "SELECT (SELECT m.description FROM _sqlx_migrations m WHERE m.version = 1), max(version) FROM _sqlx_migrations";

/// Bytes of a page of a new file. A commit writes whole pages, some twenty for an answer in one room:
/// with 4,096 bytes, SQLite's usual number, it writes 133 KiB, with these 81, and takes no more
/// processor time (2026-11-26). A file keeps the pages it was made with.
const PAGE: u32 = 2_048;
/// Bytes of the log between checkpoints instead of SQLite's 1,000 pages: fewer flushes of the main
/// file.
const LOG: i64 = 16 << 20;

/// Waiting as long as sqlx does. A file does not go away, so no connection to it is too old.
const READING: Bounds =
    Bounds { most: 1, patience: Duration::from_secs(30), idle: Duration::MAX, age: Duration::MAX };

impl Open for SqliteConnectOptions {
    type Connection = SqliteConnection;
    async fn open(&self) -> Result<SqliteConnection, sqlx::Error> {
        SqliteConnection::connect_with(self).await
    }
}

/// The connections of a store.
pub(crate) struct Opened {
    /// None for a database in memory: its one connection is its readers'.
    pub(crate) writer: Option<SqliteConnection>,
    pub(crate) readers: Readers,
}

/// Opens a file.
pub(crate) async fn file(path: &Path, options: &SqliteOptions) -> Result<Opened> {
    functions::install()?;
    create(path).map_err(|e| error::file(path, e))?;
    inspect(path, options).await?;
    let connect = connect_options(path, options);
    let mut writer =
        SqliteConnection::connect_with(&connect).await.map_err(|e| error::open(path, e))?;
    migrate(&mut writer, path).await?;
    bound_log(&mut writer).await.map_err(|e| error::open(path, e))?;
    settle(&mut writer, path).await?;
    // Every commit empties a reader's cache, so it need not be large: 1 MiB.
    let connect = connect.pragma("query_only", "ON").pragma("cache_size", "-1024");
    let threads = Threads::new(connect.clone(), options.readers, options.idle);
    let bounds = Bounds { most: options.readers, ..READING };
    let pool = Box::new(Pool::new(connect, bounds));
    Ok(Opened { writer: Some(writer), readers: Readers::Pool { pool, threads } })
}

/// Sets after how many pages the log is written back, which is said in pages of the file.
async fn bound_log(writer: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let page: i64 = query_scalar("PRAGMA page_size").fetch_one(&mut *writer).await?;
    let pages = LOG / page.max(1);
    query_scalar::<_, i64>(AssertSqlSafe(format!("PRAGMA wal_autocheckpoint = {pages}")))
        .fetch_one(writer)
        .await
        .map(drop)
}

/// Writes what an earlier process left in the log into the main file, and flushes it, before
/// anything is answered for: after a failed flush the log may be readable from memory and not be on
/// the disk. Nothing to do after an orderly end.
async fn settle(connection: &mut SqliteConnection, path: &Path) -> Result<()> {
    // Passive: it never waits, and without another process it checkpoints everything.
    match query("PRAGMA wal_checkpoint(PASSIVE)").fetch_one(connection).await {
        Err(failure) if error::is_sync(&failure) => Err(error::open(path, failure)),
        Err(failure) => {
            tracing::warn!(file = %path.display(), error = %failure, "failed to write the write-ahead log back; SQLite does so after later commits");
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

/// Makes a database in memory.
pub(crate) async fn memory() -> Result<Opened> {
    functions::install()?;
    let path = Path::new(":memory:");
    let connect = common(SqliteConnectOptions::new().in_memory(true));
    let mut writer =
        SqliteConnection::connect_with(&connect).await.map_err(|e| error::open(path, e))?;
    migrate(&mut writer, path).await?;
    Ok(Opened { writer: None, readers: Readers::Shared(Arc::new(Mutex::new(writer))) })
}

/// Makes folder and file when missing, the file for its owner only: SQLite gives its log the same
/// mode.
fn create(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let mut open = fs::OpenOptions::new();
    open.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    let file = open.open(path)?;
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&file.metadata()?.permissions()) & 0o007 != 0 {
        tracing::warn!(file = %path.display(), "every user of this machine may open the database; chmod 600 it");
    }
    drop(file);
    Ok(())
}

fn connect_options(path: &Path, options: &SqliteOptions) -> SqliteConnectOptions {
    let synchronous = match options.durability {
        Durability::Full => SqliteSynchronous::Full,
        Durability::Normal => SqliteSynchronous::Normal,
    };
    let connect = common(SqliteConnectOptions::new().filename(path))
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        .busy_timeout(options.busy_timeout)
        .page_size(PAGE)
        // The log is cut back to 64 MiB after a burst.
        .pragma("journal_size_limit", "67108864");
    match options.max_pages {
        Some(pages) => connect.pragma("max_page_count", pages.to_string()),
        None => connect,
    }
}

fn common(connect: SqliteConnectOptions) -> SqliteConnectOptions {
    connect
        .foreign_keys(true)
        .statement_cache_capacity(256)
        // Deleted text is overwritten, in the file and in freed pages.
        .pragma("secure_delete", "ON")
        // A file of another program must not run functions with side effects from its schema.
        .pragma("trusted_schema", "OFF")
        .pragma("temp_store", "MEMORY")
        // Negative: KiB.
        .pragma("cache_size", "-8192")
}

/// Refuses a file that is not ours to touch, before any option that would change it.
async fn inspect(path: &Path, options: &SqliteOptions) -> Result<()> {
    let fail = |e| error::open(path, e);
    let connect =
        common(SqliteConnectOptions::new().filename(path)).busy_timeout(options.busy_timeout);
    let mut connection = SqliteConnection::connect_with(&connect).await.map_err(fail)?;
    let tables: i64 = query_scalar("SELECT count(*) FROM sqlite_schema")
        .fetch_one(&mut connection)
        .await
        .map_err(fail)?;
    if tables > 0 {
        let application: i64 =
            query_scalar("PRAGMA application_id").fetch_one(&mut connection).await.map_err(fail)?;
        if application != APPLICATION {
            return Err(error::foreign(path));
        }
        let (first, newest): (Option<String>, Option<i64>) =
            query_as(APPLIED).fetch_one(&mut connection).await.map_err(fail)?;
        version::check(first.as_deref(), newest, &MIGRATIONS)
            .map_err(|refusal| refusal.with("file", path.display()))?;
    }
    connection.close().await.map_err(fail)
}

/// Brings the tables up to date in one exclusive transaction.
async fn migrate(connection: &mut SqliteConnection, path: &Path) -> Result<()> {
    let mut tx =
        connection.begin_with("BEGIN IMMEDIATE").await.map_err(|e| error::open(path, e))?;
    MIGRATIONS.run_direct(None, &mut *tx, false).await.map_err(|e| error::migrate(path, e))?;
    tx.commit().await.map_err(|e| error::open(path, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn number(connection: &mut SqliteConnection, pragma: &'static str) -> i64 {
        query_scalar(pragma).fetch_one(connection).await.unwrap()
    }

    #[tokio::test]
    async fn a_new_file_has_small_pages_and_an_old_one_keeps_its_own() {
        functions::install().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("old.db");
        let options = SqliteConnectOptions::new().filename(&old).create_if_missing(true);
        let mut before = SqliteConnection::connect_with(&options.page_size(4_096)).await.unwrap();
        // As another version began it.
        migrate(&mut before, &old).await.unwrap();
        before.close().await.unwrap();
        for (path, page) in [(folder.path().join("new.db"), 2_048), (old, 4_096)] {
            let opened = file(&path, &SqliteOptions::default()).await.unwrap();
            let mut writer = opened.writer.unwrap();
            assert_eq!(number(&mut writer, "PRAGMA page_size").await, page);
            assert_eq!(number(&mut writer, "PRAGMA wal_autocheckpoint").await * page, LOG);
        }
    }
}

//! Databases of an earlier version: the first opening brings the tables up to date, every row reads
//! as it was written, and work that was not finished goes on.

mod reads;
mod rows;
mod work;

use galatea_testkit::postgres::Database as Server;
use sqlx::{
    AssertSqlSafe, Connection, Executor, PgConnection, SqliteConnection, migrate::Migrator,
    query_scalar, sqlite::SqliteConnectOptions,
};
use std::path::Path;

use crate::{Database, SqliteOptions, postgres, sqlite};

/// The versions to come from, by their newest migration: the last one without functions in the
/// database, the one after it, the first one with links of accounts, and the version before this.
const EARLIER: [i64; 4] = [9, 10, LINKS, 21];
/// The migration that adds links of accounts.
const LINKS: i64 = 15;
/// The migration that moves values of plugins to keys of their own.
const PLUGIN_KEYS: i64 = 20;

/// Tables of both databases that hold rows of ours.
const TABLES: [&str; 16] = [
    "agents",
    "worlds",
    "rooms",
    "entities",
    "participants",
    "components",
    "relationships",
    "tasks",
    "cache",
    "cursors",
    "usage",
    "blocks",
    "memories",
    "inbox",
    "embeddings",
    "step",
];

/// Those that only PostgreSQL has.
const SHARED: [&str; 3] = ["members", "leases", "events"];

/// The migrations up to this one: what the earlier version knew.
fn up_to(newest: i64, all: &Migrator) -> Migrator {
    let known = all.iter().filter(|m| m.version <= newest).cloned().collect::<Vec<_>>();
    assert!(known.len() < all.iter().count(), "today's version has migrations after {newest}");
    Migrator::with_migrations(known)
}

/// The tables of a version whose rows are counted.
fn tables(newest: i64) -> impl Iterator<Item = &'static str> {
    TABLES.into_iter().chain(["outbox"]).chain((newest >= LINKS).then_some("identity_links"))
}

fn count(table: &str) -> AssertSqlSafe<String> {
    // Migration 0020 copies this row for processes of the version before.
    let copied = if table == "cache" { " WHERE key <> 'plugin:knowledge:sources'" } else { "" };
    AssertSqlSafe(format!("SELECT count(*) FROM {table}{copied}"))
}

async fn sqlite_rows(connection: &mut SqliteConnection, newest: i64) -> Vec<i64> {
    let mut counts = Vec::new();
    for table in tables(newest) {
        counts.push(query_scalar(count(table)).fetch_one(&mut *connection).await.unwrap());
    }
    counts
}

/// The rows have the keys of before. A later version would have written them to the new ones.
fn moves_keys(migrations: &Migrator) -> AssertSqlSafe<String> {
    let moves = migrations.iter().find(|migration| migration.version == PLUGIN_KEYS);
    AssertSqlSafe(moves.unwrap().sql.as_str().to_owned())
}

/// A file as the earlier version left it: how many rows each table has.
async fn old_file(path: &Path, newest: i64) -> Vec<i64> {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    let migrations = up_to(newest, &sqlite::MIGRATIONS);
    migrations.run_direct(None, &mut connection, false).await.unwrap();
    for statement in rows::statements(&rows::SQLITE, newest >= LINKS) {
        connection.execute(AssertSqlSafe(statement)).await.unwrap();
    }
    if newest >= PLUGIN_KEYS {
        connection.execute(moves_keys(&sqlite::MIGRATIONS)).await.unwrap();
    }
    let counts = sqlite_rows(&mut connection, newest).await;
    connection.close().await.unwrap();
    counts
}

#[tokio::test]
async fn a_sqlite_file_of_an_earlier_version_reads_and_its_work_goes_on() {
    for newest in EARLIER {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("galatea.db");
        let before = old_file(&path, newest).await;
        assert!(before.iter().all(|rows| *rows > 0), "a table is not tried: {before:?}");
        let store = Database::sqlite(&path, SqliteOptions::default()).await.unwrap();
        reads::check(&store).await;
        let options = SqliteConnectOptions::new().filename(&path);
        let mut other = SqliteConnection::connect_with(&options).await.unwrap();
        assert_eq!(sqlite_rows(&mut other, newest).await, before, "from {newest}");
        other.close().await.unwrap();
        if newest >= LINKS {
            reads::check_links(&store).await;
        }
        work::check(&store).await;
        store.close().await;
    }
}

async fn postgres_rows(connection: &mut PgConnection, newest: i64) -> Vec<i64> {
    let mut counts = Vec::new();
    for table in tables(newest).chain(SHARED) {
        counts.push(query_scalar(count(table)).fetch_one(&mut *connection).await.unwrap());
    }
    counts
}

/// A database as the earlier version left it: how many rows each table has.
async fn old_database(connection: &mut PgConnection, newest: i64) -> Vec<i64> {
    connection.execute("CREATE SCHEMA galatea; SET search_path TO galatea").await.unwrap();
    let migrations = up_to(newest, &postgres::MIGRATIONS);
    migrations.run_direct(None, &mut *connection, false).await.unwrap();
    for statement in rows::statements(&rows::POSTGRES, newest >= LINKS) {
        connection.execute(AssertSqlSafe(statement)).await.unwrap();
    }
    if newest >= PLUGIN_KEYS {
        connection.execute(moves_keys(&postgres::MIGRATIONS)).await.unwrap();
    }
    postgres_rows(connection, newest).await
}

#[tokio::test]
async fn a_postgresql_database_of_an_earlier_version_reads_and_its_work_goes_on() {
    for newest in EARLIER {
        let server = Server::fresh().await;
        let mut connection = PgConnection::connect(&server.url()).await.unwrap();
        let before = old_database(&mut connection, newest).await;
        assert!(before.iter().all(|rows| *rows > 0), "a table is not tried: {before:?}");
        let store = super::postgres::open(&server).await;
        assert!(!store.created(), "the tables were there");
        assert_eq!(postgres_rows(&mut connection, newest).await, before, "from {newest}");
        connection.close().await.unwrap();
        reads::check(&store).await;
        if newest >= LINKS {
            reads::check_links(&store).await;
        }
        work::check(&store).await;
        work::check_lease(&store).await;
        store.close().await;
    }
}

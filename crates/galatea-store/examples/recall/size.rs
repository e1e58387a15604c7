//! What a filled database takes, by table, and how far its index of words is.

use galatea_core::{Error, Result};
use serde_json::{Map, Value, json};
use sqlx::{
    ConnectOptions, Connection, PgConnection, SqliteConnection, query_as, query_scalar,
    sqlite::SqliteConnectOptions,
};
use std::path::Path;

fn failed(failure: sqlx::Error) -> Error {
    Error::unexpected("the database cannot be measured").with_source(failure)
}

/// A look at a SQLite file beside the store.
pub(crate) async fn look(path: &Path) -> Result<SqliteConnection> {
    SqliteConnectOptions::new().filename(path).read_only(true).connect().await.map_err(failed)
}

/// Messages whose words are not indexed yet.
pub(crate) async fn unindexed(connection: &mut SqliteConnection) -> Result<i64> {
    let behind = "SELECT coalesce((SELECT max(seq) FROM memories), 0) - seq FROM terms_progress";
    query_scalar(behind).fetch_one(connection).await.map_err(failed)
}

/// The group of a table or index: what it is for.
fn group(name: &str) -> &'static str {
    match name {
        name if name.starts_with("recall_terms") || name == "memories_words" => "index of words",
        name if name.starts_with("embeddings_near") => "signs",
        name if name.starts_with("embeddings") => "vectors",
        name if name.contains("inbox") => "inbox",
        name if name.contains("memories") => "messages",
        _ => "rest",
    }
}

fn sums(rows: Vec<(String, i64)>) -> Value {
    let mut sums = Map::new();
    for (name, bytes) in rows {
        let sum = sums.entry(group(&name)).or_insert(json!(0));
        *sum = json!(sum.as_i64().unwrap_or(0) + bytes);
    }
    sums.into()
}

/// Bytes of a SQLite file, by group.
pub(crate) async fn of_sqlite(connection: &mut SqliteConnection) -> Result<Value> {
    let rows = "SELECT name, pgsize FROM dbstat WHERE aggregate = TRUE";
    query_as(rows).fetch_all(connection).await.map(sums).map_err(failed)
}

/// Bytes of PostgreSQL's tables and indexes, by group. Cleans up first, as the server does by itself
/// within a minute.
pub(crate) async fn of_postgres(url: &str) -> Result<Value> {
    let mut connection = PgConnection::connect(url).await.map_err(failed)?;
    sqlx::query("VACUUM (ANALYZE)").execute(&mut connection).await.map_err(failed)?;
    let rows = "SELECT c.relname::text, CASE WHEN c.relkind = 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END FROM pg_class c \
                JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'galatea' AND c.relkind IN ('r', 'i')";
    let sums = query_as(rows).fetch_all(&mut connection).await.map(sums).map_err(failed);
    connection.close().await.map_err(failed)?;
    sums
}

/// Resident memory of this process in MiB.
pub(crate) fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

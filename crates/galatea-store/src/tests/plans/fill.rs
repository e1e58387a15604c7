//! Databases with 100,000 memories of two agents and 1,000 people in 100 Rooms, each with an answer
//! that was sent. Half of them are messages, the other half are of all other kinds: PostgreSQL plans
//! a kind of which it has no row as if every index were as good for it.

use sqlx::{
    AssertSqlSafe, Connection, Executor, PgConnection, SqliteConnection, query_as, query_scalar,
    sqlite::SqliteConnectOptions,
};
use std::path::Path;

use super::reads::Schema;
use crate::{Database, SqliteOptions};

/// Tables that hold a row for each process, agent, model, step of the index or limit of a day, or
/// that a change empties before its end. All others grow with messages, people or Rooms.
const SMALL: &[&str] = &[
    "created_agents",
    "doomed",
    "embedding_marks",
    "leases",
    "members",
    "shared_limits",
    "stored_settings",
    "terms_progress",
    "users",
    "webhooks",
    "_sqlx_migrations",
];

/// Rows in growing tables beside the queues and the messages.
const OTHERS: usize = 20_000;

/// The rows of 100,000 memories. `$numbers` gives n from 1 to 100,000 and an id of a kind.
macro_rules! filled {
    ($numbers:literal, $memory:literal, $answer:literal, $room:literal, $person:literal, $agent:literal, $turn:literal, $words:literal, $words_value:literal) => {
        [
            concat!(
                "INSERT INTO memories (id, type, agent_id, entity_id, room_id, created_at, metadata, content", $words, ") SELECT ",
                $memory, ", CASE n / 1000 % 14 WHEN 0 THEN 'facts' WHEN 2 THEN 'summaries' WHEN 4 THEN 'profiles' WHEN 6 THEN 'action_result' \
                    WHEN 8 THEN 'documents' WHEN 10 THEN 'fragments' WHEN 12 THEN 'custom' ELSE 'messages' END, ", $agent, ", ", $person, ", ", $room, ", n, '{}', '{\"text\":\"hello\"}'", $words_value, " FROM ", $numbers
            ),
            concat!(
                "INSERT INTO inbox (id, agent_id, entity_id, room_id, source, account, room_remote, remote, envelope, state, turn_id, verdict, received_at, finished_at) SELECT ",
                $memory, ", ", $agent, ", ", $person, ", ", $room, ", 'test', '7', '1', n, '{}', 'done', ", $turn, ", '{}', n, n FROM ", $numbers
            ),
            concat!(
                "INSERT INTO outbox (id, turn_id, part, agent_id, source, account, room_id, room_remote, key, memory_id, state, attempt, not_before, created_at, remote, body) SELECT ",
                $answer, ", ", $turn, ", 0, ", $agent, ", 'test', '7', ", $room, ", '1', 'k', ", $memory, ", 'sent', 1, n, n, n, '{}' FROM ", $numbers
            ),
        ]
    };
}

const SQLITE: [&str; 3] = filled!(
    "(WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000) SELECT n FROM numbers)",
    "unhex(printf('%032x', n))",
    "unhex(printf('%032x', n + 1000000))",
    "unhex(printf('%032x', n % 100 + 2000000))",
    "unhex(printf('%032x', n % 1000))",
    "unhex(printf('%032x', n % 2 + 4000000))",
    "unhex(printf('%032x', n + 3000000))",
    "",
    ""
);
const POSTGRES: [&str; 3] = filled!(
    "generate_series(1, 100000) n",
    "lpad(to_hex(n), 32, '0')::uuid",
    "lpad(to_hex(n + 1000000), 32, '0')::uuid",
    "lpad(to_hex(n % 100 + 2000000), 32, '0')::uuid",
    "lpad(to_hex(n % 1000), 32, '0')::uuid",
    "lpad(to_hex(n % 2 + 4000000), 32, '0')::uuid",
    "lpad(to_hex(n + 3000000), 32, '0')::uuid",
    ", words",
    ", 'hello'"
);

fn growing(tables: Vec<String>) -> impl Iterator<Item = String> {
    tables.into_iter().filter(|table| !SMALL.contains(&table.as_str()))
}

/// SQLite keeps no statistics, so its plans do not depend on what the tables hold.
pub(super) async fn sqlite(path: &Path) -> (SqliteConnection, Schema) {
    Database::sqlite(path, SqliteOptions::default()).await.unwrap().close().await;
    let mut connection =
        SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(path)).await.unwrap();
    connection.execute("PRAGMA synchronous = OFF; BEGIN").await.unwrap();
    for rows in SQLITE {
        connection.execute(rows).await.unwrap();
    }
    connection.execute("COMMIT").await.unwrap();
    let of = |condition: &str| {
        AssertSqlSafe(format!("SELECT name FROM sqlite_schema WHERE {condition}"))
    };
    // The index of words is a virtual table and tables beneath it.
    let tables = of("type = 'table' AND sql LIKE '%STRICT%'");
    let tables: Vec<String> = query_scalar(tables).fetch_all(&mut connection).await.unwrap();
    let partial = of("type = 'index' AND sql LIKE '% WHERE %'");
    let partial: Vec<String> = query_scalar(partial).fetch_all(&mut connection).await.unwrap();
    let growing = growing(tables).collect();
    (connection, Schema { growing, partial: partial.into_iter().collect() })
}

/// A value of a column that must have one, for row n: of 100 agents and 1,000 Rooms, so that what an
/// agent has is not the table.
fn value(name: &str, kind: &str) -> &'static str {
    match (kind, name) {
        ("uuid", "agent_id") => "lpad(to_hex(n % 100 + 4000000), 32, '0')::uuid",
        ("uuid", "room_id" | "world_id" | "owner") => {
            "lpad(to_hex(n % 1000 + 2000000), 32, '0')::uuid"
        }
        ("uuid", _) => "lpad(to_hex(n), 32, '0')::uuid",
        ("text", "source" | "account" | "type" | "model" | "kind") => "'test'",
        ("text", _) => "'x' || n",
        ("json" | "jsonb", _) => "'{}'",
        ("ARRAY", _) => "'{}'",
        ("bytea", _) => "'\\x00'",
        ("boolean", _) => "false",
        _ => "n",
    }
}

/// Fills a table whose columns are asked for, so that a new one needs no line here.
async fn fill(connection: &mut PgConnection, table: &str) {
    let columns = "SELECT column_name::text, data_type::text FROM information_schema.columns \
         WHERE table_schema = 'galatea' AND table_name = $1 AND is_generated = 'NEVER' AND identity_generation IS NULL \
            AND (is_nullable = 'NO' AND column_default IS NULL OR column_name IN ('owner', 'type', 'world_id', 'before_seq'))";
    let columns: Vec<(String, String)> =
        query_as(columns).bind(table).fetch_all(&mut *connection).await.unwrap();
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let values: Vec<&str> = columns.iter().map(|(name, kind)| value(name, kind)).collect();
    let (names, values) = (names.join(", "), values.join(", "));
    let insert = format!(
        "INSERT INTO {table} ({names}) SELECT {values} FROM generate_series(1, {OTHERS}) n ON CONFLICT DO NOTHING"
    );
    connection
        .execute(AssertSqlSafe(insert.clone()))
        .await
        .unwrap_or_else(|e| panic!("{insert}\n{e}"));
}

/// The server plans by what the tables hold, so all that grow hold much.
pub(super) async fn postgres(connection: &mut PgConnection) -> Schema {
    connection.execute("SET search_path TO galatea").await.unwrap();
    let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'galatea'";
    let tables: Vec<String> = query_scalar(tables).fetch_all(&mut *connection).await.unwrap();
    let growing: Vec<String> = growing(tables).collect();
    for rows in POSTGRES {
        connection.execute(rows).await.unwrap();
    }
    let queues = ["memories", "inbox", "outbox"];
    // Tables that refer to others come after these.
    let late = ["embeddings", "embedding_due", "memory_sources"];
    let others = growing.iter().map(String::as_str).filter(|table| !queues.contains(table));
    let (last, first): (Vec<&str>, Vec<&str>) = others.partition(|table| late.contains(table));
    for table in first.into_iter().chain(last) {
        fill(connection, table).await;
    }
    connection.execute("ANALYZE").await.unwrap();
    let partial = "SELECT indexrelid::regclass::text FROM pg_index WHERE indpred IS NOT NULL";
    let partial: Vec<String> = query_scalar(partial).fetch_all(&mut *connection).await.unwrap();
    Schema { growing: growing.into_iter().collect(), partial: partial.into_iter().collect() }
}

//! On a database of 100,000 messages no statement of a message's way reads a growing table whole.

use galatea_core::{
    Cursor,
    store::{InboxStore, Ingest, MemoryStore, OutboxState, OutboxStore},
};
use galatea_testkit::{
    postgres::Database as Server,
    store_suite::fixtures::{SOURCE, Scene, account, settlement},
};
use sqlx::{
    AssertSqlSafe, Connection, Executor, PgConnection, Row, SqlSafeStr, SqliteConnection,
    Statement, TypeInfo, query, query_as, query_scalar, sqlite::SqliteConnectOptions,
};

use super::statements::{self, WHOLE};
use crate::{Database, PostgresOptions, SqliteOptions};

/// What grows with every message, person or Room, by the names and aliases that statements give it.
const GROWING: &[&str] = &[
    "memories",
    "m",
    "inbox",
    "i",
    "outbox",
    "o",
    "d",
    "k",
    "said",
    "usage",
    "before",
    "rooms",
    "worlds",
    "entities",
    "participants",
    "tasks",
    "cache",
    "cursors",
    "connector_state",
    "step",
    "e",
    "b",
];

/// The rows of 100,000 messages in 100 Rooms, each with an answer that was sent. `$numbers` gives n
/// from 1 to 100,000 and an id of a kind.
macro_rules! filled {
    ($numbers:literal, $memory:literal, $answer:literal, $room:literal, $turn:literal, $words:literal, $words_value:literal) => {
        [
            concat!(
                "INSERT INTO memories (id, type, agent_id, entity_id, room_id, created_at, metadata, content", $words, ") SELECT ",
                $memory, ", 'messages', ", $room, ", ", $room, ", ", $room, ", n, '{}', '{\"text\":\"hello\"}'", $words_value, " FROM ", $numbers
            ),
            concat!(
                "INSERT INTO inbox (id, agent_id, entity_id, room_id, source, account, room_remote, remote, envelope, state, turn_id, verdict, received_at, finished_at) SELECT ",
                $memory, ", ", $room, ", ", $room, ", ", $room, ", 'test', '7', '1', n, '{}', 'done', ", $turn, ", '{}', n, n FROM ", $numbers
            ),
            concat!(
                "INSERT INTO outbox (id, turn_id, part, agent_id, source, account, room_id, room_remote, key, memory_id, state, attempt, not_before, created_at, remote, body) SELECT ",
                $answer, ", ", $turn, ", 0, ", $room, ", 'test', '7', ", $room, ", '1', 'k', ", $memory, ", 'sent', 1, n, n, n, '{}' FROM ", $numbers
            ),
        ]
    };
}

const SQLITE: [&str; 3] = filled!(
    "(WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000) SELECT n FROM numbers)",
    "unhex(printf('%032x', n))",
    "unhex(printf('%032x', n + 1000000))",
    "unhex(printf('%032x', n % 100 + 2000000))",
    "unhex(printf('%032x', n + 3000000))",
    "",
    ""
);
const POSTGRES: [&str; 3] = filled!(
    "generate_series(1, 100000) n",
    "lpad(to_hex(n), 32, '0')::uuid",
    "lpad(to_hex(n + 1000000), 32, '0')::uuid",
    "lpad(to_hex(n % 100 + 2000000), 32, '0')::uuid",
    "lpad(to_hex(n + 3000000), 32, '0')::uuid",
    ", words",
    ", 'hello'"
);

#[tokio::test]
async fn sqlite_reads_no_growing_table_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    Database::sqlite(&path, SqliteOptions::default()).await.unwrap().close().await;
    let mut connection =
        SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(&path)).await.unwrap();
    connection.execute("PRAGMA synchronous = OFF; BEGIN").await.unwrap();
    for rows in SQLITE {
        connection.execute(rows).await.unwrap();
    }
    connection.execute("COMMIT").await.unwrap();
    let statements = statements::of_sqlite();
    assert!(statements.len() > 100, "{}", statements.len());
    for statement in statements {
        assert!(!statement.contains("LIMIT $"), "{statement}\nis prepared again each time");
        let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
        let rows = query(explain).fetch_all(&mut connection).await;
        let rows = rows.unwrap_or_else(|e| panic!("{statement}\n{e}"));
        // Forgetting a person and moving a Room go through the queues once (migration 0006).
        let rare = statement.contains("room_remote = $3 WHERE room_id = $1")
            || statement.contains("entity_id = $2 AND agent_id = $1")
            || statement.starts_with("UPDATE tasks SET room_id");
        if rare || WHOLE.iter().any(|whole| whole.sqlite == statement) {
            continue;
        }
        let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
        for table in GROWING {
            let scan = format!("SCAN {table}");
            assert!(!plan.contains(&scan), "{statement}\n{}", plan.join("\n"));
        }
    }
    let scan = query("EXPLAIN QUERY PLAN SELECT * FROM inbox").fetch_one(&mut connection).await;
    assert_eq!(scan.unwrap().get::<String, _>("detail"), "SCAN inbox", "the check can fail");
}

async fn filled_server() -> (Server, Database, PgConnection) {
    let server = Server::fresh().await;
    let url = server.url();
    let store = Database::postgres(&url.as_str().into(), PostgresOptions::default()).await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    connection.execute("SET search_path TO galatea").await.unwrap();
    for rows in POSTGRES {
        connection.execute(rows).await.unwrap();
    }
    connection.execute("ANALYZE").await.unwrap();
    (server, store, connection)
}

#[tokio::test]
async fn postgres_reads_no_growing_table_whole() {
    let (_server, store, mut connection) = filled_server().await;
    connection.execute("SET plan_cache_mode TO force_generic_plan").await.unwrap();
    let statements = statements::of_postgres();
    assert!(statements.len() > 100, "{}", statements.len());
    for statement in statements {
        let prepared = connection.prepare(AssertSqlSafe(statement.clone()).into_sql_str()).await;
        let prepared = prepared.unwrap_or_else(|e| panic!("{statement}\n{e}"));
        let parameters = prepared.parameters().unwrap().left().unwrap_or_default();
        let types: Vec<String> = parameters.iter().map(|t| t.name().to_owned()).collect();
        let nulls = vec!["NULL"; types.len()].join(", ");
        let (of, with) = if types.is_empty() {
            (String::new(), String::new())
        } else {
            (format!("({})", types.join(", ")), format!("({nulls})"))
        };
        let prepare = format!("PREPARE planned {of} AS {statement}");
        connection
            .execute(AssertSqlSafe(prepare))
            .await
            .unwrap_or_else(|e| panic!("{statement}\n{types:?}\n{e}"));
        let explain = AssertSqlSafe(format!("EXPLAIN EXECUTE planned{with}"));
        let plan: Vec<String> = query_scalar(explain).fetch_all(&mut connection).await.unwrap();
        connection.execute("DEALLOCATE planned").await.unwrap();
        if WHOLE.iter().any(|whole| whole.postgres == statement) {
            continue;
        }
        let plan = plan.join("\n");
        for table in ["memories", "inbox", "outbox"] {
            assert!(!plan.contains(&format!("Seq Scan on {table}")), "{statement}\n{plan}");
        }
    }
    store.close().await;
}

/// The function's own statements: counted by the server while whole turns go through.
#[tokio::test]
async fn commit_group_reads_no_growing_table_whole() {
    let (_server, store, mut connection) = filled_server().await;
    let mut scans = async || -> Vec<(String, i64)> {
        connection.execute("SELECT pg_stat_clear_snapshot()").await.unwrap();
        let count = "SELECT relname::text, seq_tup_read::bigint FROM pg_stat_user_tables WHERE relname IN ('memories', 'inbox', 'outbox') ORDER BY 1";
        query_as(count).fetch_all(&mut connection).await.unwrap()
    };
    let before = scans().await;
    let scene = Scene::new();
    for n in 0..20 {
        let message = scene.message("hello", n);
        let cursor = Cursor { stream: "updates".to_owned(), position: n.to_string() };
        let ingest = Ingest {
            cursor: Some((scene.agent, SOURCE, account(), cursor)),
            ..Scene::batch(std::slice::from_ref(&message))
        };
        store.ingest(ingest).await.unwrap();
        store.begin_turn(&[message.memory.id]).await.unwrap();
        let record = scene.turn(&[&message]);
        let delivery = record.deliveries[0].delivery.id;
        store.finish_turn(record).await.unwrap();
        store.settle(vec![settlement(delivery, OutboxState::Sent)]).await.unwrap();
        store.delete_memories(scene.agent, &[message.memory.id]).await.unwrap();
    }
    // A session reports its counts when it ends.
    store.close().await;
    let mut read = scans().await;
    for _ in 0..100 {
        if read != before {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        read = scans().await;
    }
    assert_eq!(before, read, "rows read by scans");
}

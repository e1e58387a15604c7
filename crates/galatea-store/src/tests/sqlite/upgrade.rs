//! What the version before stored is there after the upgrade.

use galatea_core::{
    AgentId, Source,
    store::{AuditStore, InboxStore},
};
use galatea_testkit::store_suite::fixtures::account;
use serde_json::json;
use sqlx::{
    AssertSqlSafe, Connection, Row, SqliteConnection, query, query_as, query_scalar,
    sqlite::{SqliteConnectOptions, SqliteRow},
};

use super::open;
use crate::{
    rows,
    sqlite::{MIGRATIONS, install_functions},
};

/// The last migration before connectors had a state.
const BEFORE: i64 = 11;

#[tokio::test]
async fn state_kept_in_cursors_moves_and_positions_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    let agent = AgentId(uuid::Uuid::from_u128(7));
    let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut old = SqliteConnection::connect_with(&options).await.unwrap();
    MIGRATIONS.run_direct(Some(BEFORE), &mut old, false).await.unwrap();
    let gaps = r#"[{"noticed":5,"from":null,"to":null,"place":null,"count":1,"reason":"lost"}]"#;
    for (source, stream, position) in [
        ("telegram", "polled", "1700000000000"),
        ("telegram", "updates", "42"),
        ("telegram", "gaps", gaps),
        ("discord", "identify", "[1,2]"),
        ("discord", "direct", "[7,8]"),
        ("discord", "asked", r#"[{"id":"interaction:1","application":5,"at":9}]"#),
        ("discord", "shard 0", "s 7"),
        ("discord", "refused", r#"{"times":[[1,2]],"in_a_row":0,"until":0}"#),
        ("x", "spent", r#"{"day":20000,"spent":5,"told":false,"cap":9}"#),
        ("x", "posts", "1 2"),
    ] {
        query("INSERT INTO cursors (agent_id, source, account, stream, position) VALUES ($1, $2, $3, $4, $5)")
            .bind(agent.0)
            .bind(source)
            .bind(account().0)
            .bind(stream)
            .bind(position)
            .execute(&mut old)
            .await
            .unwrap();
    }
    old.close().await.unwrap();
    let store = open(&path).await.unwrap();
    for (source, key, value) in [
        ("telegram", "polled", json!(1_700_000_000_000_i64)),
        ("discord", "identify", json!([1, 2])),
        ("discord", "direct", json!([7, 8])),
        ("discord", "asked", json!([{ "id": "interaction:1", "application": 5, "at": 9 }])),
        ("discord", "refused", json!({"times": [[1, 2]], "in_a_row": 0, "until": 0})),
        ("x", "spent", json!({"day": 20_000, "spent": 5, "told": false, "cap": 9})),
    ] {
        let source = Source::from_name(source.to_owned());
        let stored = store.connector_state(agent, &source, &account(), key).await.unwrap();
        assert_eq!(stored, Some(value), "{key}");
        assert_eq!(store.cursor(agent, &source, &account(), key).await.unwrap(), None, "{key}");
    }
    assert_eq!(store.missing().await.unwrap()[0].gap.reason, "lost");
    for (source, stream, position) in
        [("telegram", "updates", "42"), ("discord", "shard 0", "s 7"), ("x", "posts", "1 2")]
    {
        let source = Source::from_name(source.to_owned());
        let cursor = store.cursor(agent, &source, &account(), stream).await.unwrap();
        assert_eq!(cursor.map(|cursor| cursor.position).as_deref(), Some(position));
    }
}

/// The last migration whose conditions are lists.
const WITH_LISTS: i64 = 22;

#[tokio::test]
async fn conditions_hold_without_lists_and_no_write_of_a_turn_builds_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    install_functions().unwrap();
    let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut database = SqliteConnection::connect_with(&options).await.unwrap();
    let writes = [
        rows::RECEIVE,
        rows::BEGIN,
        rows::FINISH,
        rows::REMEMBER,
        rows::DELIVER,
        rows::SETTLE,
        rows::MOVE_CURSOR,
        rows::ADD_USAGE,
    ];
    MIGRATIONS.run_direct(Some(WITH_LISTS), &mut database, false).await.unwrap();
    assert!(tables_built(&mut database, &writes).await >= 8, "the test would not notice any");
    MIGRATIONS.run_direct(None, &mut database, false).await.unwrap();
    // A new connection reads the conditions from the file.
    for mut connection in [database, SqliteConnection::connect_with(&options).await.unwrap()] {
        assert_eq!(tables_built(&mut connection, &writes).await, 0);
        let found: String =
            query_scalar("PRAGMA integrity_check").fetch_one(&mut connection).await.unwrap();
        assert_eq!(found, "ok");
        for (table, column) in [("inbox", "state"), ("outbox", "state"), ("memories", "scope")] {
            // Of the other columns the smallest value of their type.
            let columns: Vec<(String, String)> = query_as(AssertSqlSafe(format!(
                "SELECT name, CASE type WHEN 'INTEGER' THEN '0' WHEN 'TEXT' THEN '''''' ELSE 'x''''' END \
                 FROM pragma_table_info('{table}') WHERE \"notnull\" AND name <> '{column}'"
            )))
            .fetch_all(&mut connection)
            .await
            .unwrap();
            let (names, values): (Vec<String>, Vec<String>) = columns.into_iter().unzip();
            let insert = format!(
                "INSERT INTO {table} ({}, {column}) VALUES ({}, 'unknown')",
                names.join(", "),
                values.join(", ")
            );
            let refused = query(AssertSqlSafe(insert)).execute(&mut connection).await.unwrap_err();
            assert!(refused.to_string().contains("CHECK constraint failed"), "{refused}");
        }
    }
}

/// How many tables SQLite builds while it executes these statements once.
async fn tables_built(database: &mut SqliteConnection, statements: &[&str]) -> usize {
    let mut built = 0;
    for statement in statements {
        let steps = query(AssertSqlSafe(format!("EXPLAIN {statement}")));
        let steps = steps.fetch_all(&mut *database).await.unwrap();
        let opens = |step: &&SqliteRow| step.get::<String, _>("opcode") == "OpenEphemeral";
        built += steps.iter().filter(opens).count();
    }
    built
}

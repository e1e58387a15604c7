//! Conditions of the tables: each refuses an unknown state, and none costs a temporary table.

use sqlx::{
    AssertSqlSafe, Connection, Row, SqliteConnection, query, query_as,
    sqlite::{SqliteConnectOptions, SqliteRow},
};

use super::open;
use crate::rows;

#[tokio::test]
async fn no_write_of_a_turn_builds_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    open(&path).await.unwrap().close().await;
    let options = SqliteConnectOptions::new().filename(&path);
    let mut database = SqliteConnection::connect_with(&options).await.unwrap();
    let list = "UPDATE inbox SET attempts = 1 WHERE state IN ('new', 'done', 'dead')";
    assert!(tables_built(&mut database, &[list]).await > 0, "the test would not notice any");
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
    assert_eq!(tables_built(&mut database, &writes).await, 0);
}

#[tokio::test]
async fn an_unknown_state_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    open(&path).await.unwrap().close().await;
    let options = SqliteConnectOptions::new().filename(&path);
    let mut database = SqliteConnection::connect_with(&options).await.unwrap();
    for (table, column, known) in
        [("inbox", "state", "new"), ("outbox", "state", "sent"), ("memories", "scope", "room")]
    {
        // Of the other columns the smallest value of their type.
        let columns: Vec<(String, String)> = query_as(AssertSqlSafe(format!(
            "SELECT name, CASE type WHEN 'INTEGER' THEN '0' WHEN 'TEXT' THEN '''''' ELSE 'x''''' END \
             FROM pragma_table_info('{table}') WHERE \"notnull\" AND name <> '{column}'"
        )))
        .fetch_all(&mut database)
        .await
        .unwrap();
        let (names, values): (Vec<String>, Vec<String>) = columns.into_iter().unzip();
        let insert = |value: &str| {
            AssertSqlSafe(format!(
                "INSERT INTO {table} ({}, {column}) VALUES ({}, '{value}')",
                names.join(", "),
                values.join(", ")
            ))
        };
        let refused = query(insert("unknown")).execute(&mut database).await.unwrap_err();
        assert!(refused.to_string().contains("CHECK constraint failed"), "{refused}");
        query(insert(known)).execute(&mut database).await.unwrap();
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

//! What the version before stored is there after the upgrade.

use galatea_core::{
    AgentId, Source,
    store::{AuditStore, InboxStore},
};
use galatea_testkit::{postgres::Database, store_suite::fixtures::account};
use serde_json::json;
use sqlx::{Connection, Executor, PgConnection, query};

use crate::postgres::open::MIGRATIONS;

/// The last migration before connectors had a state.
const BEFORE: i64 = 11;

#[tokio::test]
async fn state_kept_in_cursors_moves_and_positions_stay() {
    let database = Database::fresh().await;
    let agent = AgentId(uuid::Uuid::from_u128(7));
    let mut old = PgConnection::connect(&database.url()).await.unwrap();
    old.execute("CREATE SCHEMA galatea; SET search_path TO galatea").await.unwrap();
    MIGRATIONS.run_direct(Some(BEFORE), &mut old, false).await.unwrap();
    let gaps = r#"[{"noticed":5,"from":null,"to":null,"place":null,"count":1,"reason":"lost"}]"#;
    for (source, stream, position) in [
        ("telegram", "polled", "1700000000000"),
        ("telegram", "updates", "42"),
        ("x", "gaps", gaps),
        ("discord", "identify", "[1,2]"),
        ("discord", "direct", "[7,8]"),
        ("discord", "asked", r#"[{"id":"interaction:1","application":5,"at":9}]"#),
        ("discord", "shard 0", "s 7"),
    ] {
        query("INSERT INTO galatea.cursors (agent_id, source, account, stream, position) VALUES ($1, $2, $3, $4, $5)")
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
    let store = super::open(&database).await;
    for (source, key, value) in [
        ("telegram", "polled", json!(1_700_000_000_000_i64)),
        ("discord", "identify", json!([1, 2])),
        ("discord", "direct", json!([7, 8])),
        ("discord", "asked", json!([{ "id": "interaction:1", "application": 5, "at": 9 }])),
    ] {
        let source = Source::from_name(source.to_owned());
        let stored = store.connector_state(agent, &source, &account(), key).await.unwrap();
        assert_eq!(stored, Some(value), "{key}");
        assert_eq!(store.cursor(agent, &source, &account(), key).await.unwrap(), None, "{key}");
    }
    assert_eq!(store.missing().await.unwrap()[0].gap.reason, "lost");
    for (source, stream, position) in [("telegram", "updates", "42"), ("discord", "shard 0", "s 7")]
    {
        let source = Source::from_name(source.to_owned());
        let cursor = store.cursor(agent, &source, &account(), stream).await.unwrap();
        assert_eq!(cursor.map(|cursor| cursor.position).as_deref(), Some(position));
    }
}

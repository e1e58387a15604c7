//! Statements: each fits the tables, and there are few of them.

use galatea_core::{
    MemoryKind, RemoteId, RoomId, Timestamp, WorldId,
    store::{ConnectionChange, Effect, InboxStore, MemoryQuery, MemoryStore, OutboxState, OutboxStore, RoomStore, Settlement},
};
use galatea_testkit::{
    postgres::Database,
    store_suite::fixtures::{Scene, object, settlement},
};
use serde_json::json;
use sqlx::{AssertSqlSafe, Executor, SqlSafeStr, query_scalar};

use super::open;
use crate::{
    PostgresStore, agent, apply, cache, cursor, effect, embedding, entity, event, inbox, lease,
    memory::{self, filter_statements},
    outbox, relationship, room, step, task, world,
};

fn queries() -> Vec<MemoryQuery> {
    let scene = Scene::new();
    let base = MemoryQuery::new(scene.agent, 10);
    let full = MemoryQuery {
        world: Some(WorldId::fresh()),
        entity: Some(scene.person),
        since: Some(Timestamp(1)),
        before: Some(Timestamp(2)),
        ..base.clone().room(scene.room).kind(MemoryKind::Facts)
    };
    let paged = [base.clone(), base.clone().room(scene.room), base.room(scene.room).kind(MemoryKind::Messages).kind(MemoryKind::ActionResult), full];
    let found = paged.clone().map(|q| MemoryQuery { matching: Some("word".to_owned()), ..q });
    paged.into_iter().chain(found).collect()
}

fn every_statement() -> Vec<String> {
    let fixed = [
        apply::APPLY,
        agent::AGENTS,
        cache::CACHED,
        cursor::CURSOR,
        step::STORED,
        entity::ENTITIES,
        entity::ENTITIES_IN_ROOM,
        lease::BEAT,
        lease::LEAVE,
        lease::KNOWN,
        event::PUBLISH,
        event::END,
        event::AFTER,
        lease::CLAIM,
        lease::RENEW,
        lease::RELEASE,
        lease::LEASES,
        lease::MEMBERS,
        memory::MEMORY,
        relationship::RELATIONSHIPS,
        room::ROOM,
        room::ROOMS,
        room::PARTICIPANTS,
        room::PARTICIPANT_STATE,
        task::DUE_TASKS,
        task::TASKS,
        world::WORLD,
        world::WORLDS,
    ];
    let built = queries().into_iter().flat_map(|q| filter_statements(&q));
    fixed.into_iter().map(str::to_owned).chain(inbox::statements()).chain(outbox::statements()).chain(embedding::statements()).chain(built).collect()
}

#[tokio::test]
async fn every_statement_fits_the_tables() {
    let database = Database::fresh().await;
    let opened = crate::open::database(&database.url().into(), &crate::PostgresOptions::default()).await.unwrap();
    let mut connection = opened.writer;
    let statements = every_statement();
    assert!(statements.len() > 40);
    for statement in statements {
        connection.prepare(AssertSqlSafe(statement.clone()).into_sql_str()).await.unwrap_or_else(|e| panic!("{statement}\n{e}"));
    }
    assert!(connection.prepare("SELECT nothing FROM memories".into_sql_str()).await.is_err(), "the check can fail");
}

/// Both are single statements of the writer, for which everybody else waits.
#[tokio::test]
async fn neither_a_forgotten_person_nor_a_moved_room_reads_a_queue_whole() {
    let database = Database::fresh().await;
    let opened = crate::open::database(&database.url().into(), &crate::PostgresOptions::default()).await.unwrap();
    let mut connection = opened.writer;
    let steps = effect::STEPS.iter().chain(room::STEPS).filter(|(op, _)| ["forget_person", "move_room"].contains(op));
    let statements: Vec<&str> = steps.flat_map(|(_, body)| body.split(';')).map(str::trim).filter(|statement| !statement.is_empty()).collect();
    assert!(statements.len() > 10);
    for statement in statements {
        let explain = format!("EXPLAIN {}", statement.replace("b ->", "(SELECT '{}'::jsonb) ->"));
        let plan: Vec<String> = query_scalar(AssertSqlSafe(explain)).fetch_all(&mut connection).await.unwrap_or_else(|e| panic!("{statement}\n{e}"));
        let plan = plan.join("\n");
        for table in ["memories", "inbox", "outbox", "rooms", "participants", "entities"] {
            assert!(!plan.contains(&format!("Seq Scan on {table}")), "{statement}\n{plan}");
        }
    }
}

async fn cost<T>(store: &PostgresStore, work: impl Future<Output = galatea_core::Result<T>>) -> u64 {
    let before = store.statements();
    work.await.unwrap();
    store.statements() - before
}

#[tokio::test]
async fn whole_changes_cost_one_round_trip() {
    let database = Database::fresh().await;
    let store = open(&database).await;
    let scene = Scene::new();
    assert_eq!(cost(&store, store.connect(ConnectionChange::default())).await, 0, "nothing changed");
    assert_eq!(cost(&store, store.connect(scene.connections())).await, 1);
    let messages: Vec<_> = (0..10).map(|n| scene.message("hello", n)).collect();
    assert_eq!(cost(&store, store.ingest(Scene::batch(&messages))).await, 1);
    let query = MemoryQuery::new(scene.agent, 20).room(scene.room).kind(MemoryKind::Messages);
    assert_eq!(cost(&store, store.memories(&query)).await, 1);
    let mut record = scene.turn(&messages.iter().collect::<Vec<_>>());
    record.deliveries.extend((1..5).map(|part| scene.delivery(record.turn, part)));
    record.effects = vec![
        Effect::SetParticipantState { room: scene.room, entity: scene.itself(), state: None },
        Effect::MergeRoomMetadata { room: scene.room, metadata: object(json!({"a": 1})) },
    ];
    let settlements: Vec<Settlement> = record.deliveries.iter().map(|d| settlement(d.delivery.id, OutboxState::Sent)).collect();
    assert_eq!(cost(&store, store.finish_turn(record)).await, 1);
    assert_eq!(cost(&store, store.settle(settlements)).await, 1);
    assert_eq!(cost(&store, store.move_room(scene.room, RoomId::fresh(), &RemoteId::new(1))).await, 1);
    assert_eq!(cost(&store, store.room(scene.room)).await, 1);
}

//! Statements: each fits the tables, the hot ones use an index, and there are few of them.

use galatea_core::{
    MemoryKind, Timestamp, WorldId,
    store::{ConnectionChange, Effect, InboxStore, MemoryQuery, MemoryStore, OutboxState, OutboxStore, RoomStore, Settlement, TurnRecord},
};
use galatea_testkit::store_suite::fixtures::{Scene, object, settlement};
use serde_json::json;
use sqlx::{AssertSqlSafe, Row, SqliteConnection};

use super::batch;
use crate::{
    SqliteStore, agent, apply, cache, cursor, entity, inbox,
    memory::{self, filter_statements},
    outbox,
    read::Readers,
    relationship, room, search, step, task, world,
};

fn queries() -> Vec<Vec<MemoryQuery>> {
    let scene = Scene::new();
    let base = MemoryQuery::new(scene.agent, 10);
    let full = MemoryQuery {
        world: Some(WorldId::fresh()),
        entity: Some(scene.person),
        since: Some(Timestamp(1)),
        before: Some(Timestamp(2)),
        ..base.clone().room(scene.room).kind(MemoryKind::Facts)
    };
    let paged =
        vec![base.clone(), base.clone().room(scene.room), base.clone().room(scene.room).kind(MemoryKind::Messages).kind(MemoryKind::ActionResult), full];
    let found = paged.iter().map(|q| MemoryQuery { matching: Some("word".to_owned()), ..q.clone() }).collect();
    vec![paged, found]
}

fn every_statement() -> Vec<String> {
    let fixed = [
        apply::APPLY,
        apply::APPLY_ANSWERED,
        agent::AGENTS,
        cache::CACHED,
        cursor::CURSOR,
        step::STEPS,
        entity::ENTITIES,
        entity::ENTITIES_IN_ROOM,
        memory::MEMORY,
        relationship::RELATIONSHIPS,
        room::ROOM,
        room::ROOMS,
        room::PARTICIPANTS,
        room::PARTICIPANT_STATE,
        search::BEHIND,
        task::DUE_TASKS,
        task::TASKS,
        world::WORLD,
        world::WORLDS,
    ];
    let built = queries().concat().into_iter().flat_map(|q| filter_statements(&q));
    fixed.into_iter().map(str::to_owned).chain(inbox::statements()).chain(outbox::statements()).chain(built).collect()
}

/// The plan, one step a line. Planning compiles the statement, for [`apply::APPLY`] with every trigger.
async fn plan(connection: &mut SqliteConnection, statement: &str) -> String {
    let rows = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"))).fetch_all(connection).await;
    let rows = rows.unwrap_or_else(|e| panic!("{statement}\n{e}"));
    rows.iter().map(|row| row.get::<String, _>("detail")).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn every_statement_fits_the_tables() {
    let opened = crate::open::memory().await.unwrap();
    let mut connection = opened.writer.lock().await;
    let statements = every_statement();
    assert!(statements.len() > 30);
    for statement in statements {
        plan(&mut connection, &statement).await;
        assert!(!statement.contains("LIMIT ?"), "{statement}\nis prepared anew for every execution");
    }
    assert!(sqlx::query("EXPLAIN QUERY PLAN SELECT nothing FROM memories").fetch_all(&mut *connection).await.is_err(), "the check can fail");
}

#[tokio::test]
async fn no_table_is_read_whole() {
    let opened = crate::open::memory().await.unwrap();
    let mut connection = opened.writer.lock().await;
    let counted = [inbox::COUNTS, outbox::COUNTS, agent::AGENTS];
    // `m` is a page of memories already chosen; the triggers of a moved room go through its queue once.
    for statement in every_statement().into_iter().filter(|s| !counted.contains(&s.as_str())) {
        let plan = plan(&mut connection, &statement).await;
        for table in ["memories", "m", "inbox", "i", "outbox", "rooms", "worlds", "entities", "participants", "tasks", "cache", "cursors", "step", "e"] {
            let apply = statement == apply::APPLY || statement == apply::APPLY_ANSWERED;
            if !(apply && ["inbox", "outbox", "tasks"].contains(&table)) {
                let scans = plan.lines().filter(|line| *line == format!("SCAN {table}")).count();
                assert_eq!(scans, 0, "{table} is scanned:\n{statement}\n{plan}");
            }
        }
    }
    let of_entity = MemoryQuery { entity: Some(Scene::new().person), ..queries()[0][0].clone() };
    let indexes =
        [(&queries()[0][1], "memories_of_room (room_id=?"), (&queries()[0][3], "memories_of_room (room_id=?"), (&of_entity, "memories_of_entity (entity_id=?")];
    for (query, index) in indexes {
        for statement in filter_statements(query) {
            let plan = plan(&mut connection, &statement).await;
            assert!(plan.contains(index) && !plan.contains("memories_of_agent"), "{index}\n{plan}");
        }
    }
}

async fn cost<T>(store: &SqliteStore, work: impl Future<Output = galatea_core::Result<T>>) -> u64 {
    let before = store.statements();
    work.await.unwrap();
    store.statements() - before
}

/// elizaOS 1.7 spends 48 statements on one mention and one reply.
#[tokio::test]
async fn an_answered_message_costs_five_statements() {
    let store = SqliteStore::in_memory().await.unwrap();
    let scene = Scene::new();
    store.ingest(batch(scene, 3)).await.unwrap();
    let message = scene.message("hello", 1);
    let mut ingest = batch(scene, 0);
    ingest.connections = ConnectionChange::default();
    ingest.messages.push(message.clone());
    let before = store.statements();
    store.ingest(ingest).await.unwrap();
    store.begin_turn(&[message.memory.id]).await.unwrap();
    store.memories(&MemoryQuery::new(scene.agent, 20).room(scene.room).kind(MemoryKind::Messages)).await.unwrap();
    let record = scene.turn(&[&message]);
    let id = record.deliveries[0].delivery.id;
    store.finish_turn(record).await.unwrap();
    store.settle(vec![settlement(id, OutboxState::Sent)]).await.unwrap();
    assert_eq!(store.statements() - before, 5);
}

#[tokio::test]
async fn whole_changes_cost_one_statement() {
    let store = SqliteStore::in_memory().await.unwrap();
    let scene = Scene::new();
    assert_eq!(cost(&store, store.connect(ConnectionChange::default())).await, 0, "nothing changed");
    assert_eq!(cost(&store, store.ingest(batch(scene, 100))).await, 1, "with new connections and a cursor");
    for change in [
        ConnectionChange { worlds: vec![scene.world_change()], ..ConnectionChange::default() },
        ConnectionChange { rooms: vec![scene.room_change()], ..ConnectionChange::default() },
        ConnectionChange { entities: vec![scene.entity_change(scene.person, &["New"])], ..ConnectionChange::default() },
        scene.connections(),
    ] {
        assert_eq!(cost(&store, store.connect(change)).await, 1);
    }
    let messages: Vec<_> = (0..10).map(|n| scene.message("hello", n)).collect();
    assert_eq!(cost(&store, store.ingest(Scene::batch(&messages))).await, 1);
    let mut record: TurnRecord = scene.turn(&messages.iter().collect::<Vec<_>>());
    record.deliveries.extend((1..5).map(|part| scene.delivery(record.turn, part)));
    record.effects = vec![
        Effect::SetParticipantState { room: scene.room, entity: scene.itself(), state: None },
        Effect::MergeRoomMetadata { room: scene.room, metadata: object(json!({"a": 1})) },
    ];
    let settlements: Vec<Settlement> = record.deliveries.iter().map(|d| settlement(d.delivery.id, OutboxState::Sent)).collect();
    assert_eq!(cost(&store, store.finish_turn(record)).await, 1);
    assert_eq!(cost(&store, store.settle(settlements)).await, 1);
    assert_eq!(cost(&store, store.move_room(scene.room, galatea_core::RoomId::fresh(), &galatea_core::RemoteId::new(1))).await, 1);
    assert_eq!(cost(&store, store.room(scene.room)).await, 1);
}

#[tokio::test]
async fn readers_cannot_write() {
    let folder = tempfile::tempdir().unwrap();
    let store = super::open(&folder.path().join("galatea.db")).await.unwrap();
    let Readers::Pool(pool) = &store.0.readers else { panic!("a file has a pool") };
    assert!(sqlx::query("DELETE FROM memories").execute(&mut *pool.acquire().await.unwrap()).await.is_err());
}

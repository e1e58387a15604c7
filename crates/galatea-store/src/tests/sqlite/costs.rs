//! A whole change is one commit, and readers cannot write.

use galatea_core::{
    MemoryKind,
    store::{
        ConnectionChange, InboxStore, MemoryQuery, MemoryStore, OutboxState, OutboxStore,
        RequestedChange, RoomStore, Settlement, TurnRecord,
    },
};
use galatea_testkit::store_suite::fixtures::{Scene, object, settlement};
use serde_json::json;

use super::batch;
use crate::{Database, dialect::Dialects};

async fn cost<T>(store: &Database, work: impl Future<Output = galatea_core::Result<T>>) -> u64 {
    let before = store.statements();
    work.await.unwrap();
    store.statements() - before
}

/// elizaOS 1.7 spends 48 statements on one mention and one reply.
#[tokio::test]
async fn an_answered_message_costs_five_statements() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    store.ingest(batch(scene, 3)).await.unwrap();
    let message = scene.message("hello", 1);
    let mut ingest = batch(scene, 0);
    ingest.connections = ConnectionChange::default();
    ingest.messages.push(message.clone());
    let before = store.statements();
    store.ingest(ingest).await.unwrap();
    store.begin_turn(&[message.memory.id]).await.unwrap();
    store
        .memories(&MemoryQuery::new(scene.agent, 20).room(scene.room).kind(MemoryKind::Messages))
        .await
        .unwrap();
    let record = scene.turn(&[&message]);
    let id = record.deliveries[0].delivery.id;
    store.finish_turn(record).await.unwrap();
    store.settle(vec![settlement(id, OutboxState::Sent)]).await.unwrap();
    assert_eq!(store.statements() - before, 5);
}

#[tokio::test]
async fn whole_changes_are_one_commit() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    assert_eq!(
        cost(&store, store.connect(ConnectionChange::default())).await,
        0,
        "nothing changed"
    );
    assert_eq!(
        cost(&store, store.ingest(batch(scene, 100))).await,
        1,
        "with new connections and a cursor"
    );
    for change in [
        ConnectionChange { worlds: vec![scene.world_change()], ..ConnectionChange::default() },
        ConnectionChange { rooms: vec![scene.room_change()], ..ConnectionChange::default() },
        ConnectionChange {
            entities: vec![scene.entity_change(scene.person, &["New"])],
            ..ConnectionChange::default()
        },
        scene.connections(),
    ] {
        assert_eq!(cost(&store, store.connect(change)).await, 1);
    }
    let messages: Vec<_> = (0..10).map(|n| scene.message("hello", n)).collect();
    assert_eq!(cost(&store, store.ingest(Scene::batch(&messages))).await, 1);
    let mut record: TurnRecord = scene.turn(&messages.iter().collect::<Vec<_>>());
    record.deliveries.extend((1..5).map(|part| scene.delivery(record.turn, part)));
    record.effects = vec![
        RequestedChange::SetParticipantState {
            room: scene.room,
            entity: scene.itself(),
            state: None,
        },
        RequestedChange::MergeRoomMetadata { room: scene.room, metadata: object(json!({"a": 1})) },
    ];
    let settlements: Vec<Settlement> =
        record.deliveries.iter().map(|d| settlement(d.delivery.id, OutboxState::Sent)).collect();
    assert_eq!(cost(&store, store.finish_turn(record)).await, 1);
    assert_eq!(cost(&store, store.settle(settlements)).await, 1);
    assert_eq!(
        cost(
            &store,
            store.move_room(
                scene.room,
                galatea_core::RoomId::fresh(),
                &galatea_core::RemoteId::new(1)
            )
        )
        .await,
        1
    );
    assert_eq!(cost(&store, store.room(scene.room)).await, 1);
}

#[tokio::test]
async fn readers_cannot_write() {
    let folder = tempfile::tempdir().unwrap();
    let store = super::open(&folder.path().join("galatea.db")).await.unwrap();
    let write = Dialects::same("DELETE FROM memories").with(Vec::new());
    assert!(store.all::<(i64,)>(write).await.is_err());
}

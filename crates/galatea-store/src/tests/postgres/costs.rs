//! A whole change is one commit.

use galatea_core::{
    MemoryKind, RemoteId, RoomId,
    store::{
        ConnectionChange, InboxStore, MemoryQuery, MemoryStore, OutboxState, OutboxStore,
        RequestedChange, RoomStore, Settlement,
    },
};
use galatea_testkit::{
    postgres::Database,
    store_suite::fixtures::{Scene, object, settlement},
};
use serde_json::json;

use super::{Store, open};

async fn cost<T>(store: &Store, work: impl Future<Output = galatea_core::Result<T>>) -> u64 {
    let before = store.statements();
    work.await.unwrap();
    store.statements() - before
}

#[tokio::test]
async fn whole_changes_are_one_commit() {
    let database = Database::fresh().await;
    let store = open(&database).await;
    let scene = Scene::new();
    assert_eq!(
        cost(&store, store.connect(ConnectionChange::default())).await,
        0,
        "nothing changed"
    );
    assert_eq!(cost(&store, store.connect(scene.connections())).await, 1);
    let messages: Vec<_> = (0..10).map(|n| scene.message("hello", n)).collect();
    assert_eq!(cost(&store, store.ingest(Scene::batch(&messages))).await, 1);
    let query = MemoryQuery::new(scene.agent, 20).room(scene.room).kind(MemoryKind::Messages);
    assert_eq!(cost(&store, store.memories(&query)).await, 1);
    let mut record = scene.turn(&messages.iter().collect::<Vec<_>>());
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
        cost(&store, store.move_room(scene.room, RoomId::fresh(), &RemoteId::new(1))).await,
        1
    );
    assert_eq!(cost(&store, store.room(scene.room)).await, 1);
}

//! Work that the earlier version had not finished: today's store claims it, commits it, and takes
//! more behind it.

use galatea_core::{
    AgentId, DeliveryId, EntityId, ErrorKind, MemberId, MemoryId, RemoteId, RoomId, TurnId,
    WorldId,
    store::{
        InFlightRows, InboxState, InboxStore, Ingest, LeaseStore, OutboxState, OutboxStore,
        Partition, StepStore, room_partition,
    },
};
use galatea_testkit::store_suite::fixtures::{Scene, settlement};
use std::time::Duration;

use super::{
    reads::{SOURCE, account},
    rows::{self, id},
};
use crate::Database;

fn scene() -> Scene {
    Scene {
        agent: AgentId(id(rows::AGENT)),
        world: WorldId(id(rows::WORLD)),
        room: RoomId(id(rows::ROOM)),
        person: EntityId(id(rows::PERSON)),
    }
}

/// Messages are answered once, deliveries are settled, duplicates stay duplicates, and new rows
/// come after the old ones.
pub(super) async fn check(store: &Database) {
    messages(store).await;
    deliveries(store).await;
    newcomers(store).await;
}

async fn messages(store: &Database) {
    let scene = scene();
    let open = [MemoryId(id(rows::NEW)), MemoryId(id(rows::BEGUN))];
    let part = room_partition(scene.room);
    let unfinished = [
        store.unfinished(scene.agent, &SOURCE, &account(), 9).await.unwrap(),
        store.unfinished_in_room(scene.room, 9).await.unwrap(),
        store
            .unfinished_in_parts(scene.agent, &[part], &[SOURCE], &InFlightRows::default(), 9)
            .await
            .unwrap(),
    ];
    for found in &unfinished {
        let ids: Vec<_> = found.iter().map(|item| item.entry.memory.id).collect();
        assert_eq!(ids, open);
    }
    store.begin_turn(&open[1..]).await.unwrap();
    assert_eq!(store.inbox_item(open[1]).await.unwrap().unwrap().attempts, 3);
    for item in &unfinished[0] {
        let record = scene.turn(&[&item.entry]);
        store.finish_turn(record.clone()).await.unwrap();
        let item = store.inbox_item(item.entry.memory.id).await.unwrap().unwrap();
        assert_eq!((item.state, item.turn), (InboxState::Done, Some(record.turn)));
    }
    assert_eq!(store.unfinished_in_room(scene.room, 9).await.unwrap(), []);
    assert_eq!(store.steps(open[1]).await.unwrap(), [], "its journal goes with the commit");
    let done = store.inbox_item(MemoryId(id(rows::DONE))).await.unwrap().unwrap();
    assert_eq!(done.turn, Some(TurnId(id(rows::TURN))));
    let again = store.finish_turn(scene.turn(&[&done.entry])).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Conflict, "an older answer is final");
}

async fn deliveries(store: &Database) {
    let scene = scene();
    let [pending, sending] = [0, 1].map(|n| DeliveryId(id(rows::FIRST_PART + n)));
    let open = store.unsettled(scene.agent, &SOURCE, &account(), &[], 9).await.unwrap();
    assert_eq!(open.len(), 4, "two older parts, two of the turns just finished");
    assert_eq!([open[0].delivery.id, open[1].delivery.id], [pending, sending], "older ones first");
    assert_eq!(store.unsettled_in_room(scene.room, &[], 9).await.unwrap().len(), 4);
    let around = store.read_back_context(&open[1].delivery).await.unwrap();
    assert!(around.ours.contains(&RemoteId::new("s2")), "{around:?}");
    for delivery in [pending, sending] {
        let mut sent = settlement(delivery, OutboxState::Sent);
        sent.remote = Some(RemoteId::new("later"));
        assert_eq!(store.settle(vec![sent]).await.unwrap(), []);
        assert_eq!(store.outbox_item(delivery).await.unwrap().unwrap().state, OutboxState::Sent);
    }
}

async fn newcomers(store: &Database) {
    let scene = scene();
    let known = store.inbox_item(MemoryId(id(rows::SKIPPED))).await.unwrap().unwrap().entry;
    let new = scene.message("after the upgrade", 200);
    let ingest = Ingest { connections: scene.connections(), ..Scene::batch(&[known, new.clone()]) };
    assert_eq!(store.ingest(ingest).await.unwrap().new, [false, true]);
    let open = store.unfinished_in_room(scene.room, 9).await.unwrap();
    assert_eq!(open.iter().map(|item| item.entry.memory.id).collect::<Vec<_>>(), [new.memory.id]);
}

/// The lease of a process that died under the earlier version goes to the next one, with a higher
/// epoch.
pub(super) async fn check_lease(store: &Database) {
    let part = Partition::account(&SOURCE, AgentId(id(rows::AGENT)), &account());
    let held = store
        .claim(MemberId::fresh(), std::slice::from_ref(&part), 1, Duration::from_secs(600))
        .await
        .unwrap();
    assert_eq!(held.len(), 1);
    assert_eq!((&held[0].part, held[0].epoch), (&part, 4));
    let members = store.members().await.unwrap();
    assert_eq!((members.len(), members[0].membership.name.as_str()), (1, "old"));
    assert_eq!(members[0].left, Duration::ZERO, "its membership has ended");
}

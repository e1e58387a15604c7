//! The outbox: order of commit, final states and moved rooms.

use galatea_core::{
    Account, DeliveryId, MemoryKind, ParticipantState, RemoteId, RoomId, Store, Timestamp, TurnId,
    store::{
        LiveEvent, MESSAGE_DECIDED, MESSAGE_SENT, MemoryQuery, NewDelivery, OpenAccount,
        OutboxState, RoomChange, Settlement, TurnRecord,
    },
};
use serde_json::json;
use std::sync::Arc;

use super::fixtures::{SOURCE, Scene, account, object, set_participant_state, settlement};

async fn unsettled_ids(store: &Arc<dyn Store>, scene: Scene, limit: u32) -> Vec<DeliveryId> {
    store
        .unsettled(scene.agent, &SOURCE, &account(), &[], limit)
        .await
        .unwrap()
        .into_iter()
        .map(|i| i.delivery.id)
        .collect()
}

/// Unsettled deliveries are in the order of commit, not that of ids, parts or time.
pub async fn unsettled_is_in_the_order_of_commit(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let mut expected = Vec::new();
    for (turn, parts) in [(TurnId::fresh(), [1, 0]), (TurnId(uuid::Uuid::nil()), [3, 2])] {
        let deliveries: Vec<NewDelivery> =
            parts.into_iter().map(|part| scene.delivery(turn, part)).collect();
        expected.extend(deliveries.iter().map(|d| d.delivery.id));
        store.enqueue(deliveries, vec![scene.memory("sent", 1)]).await.unwrap();
        let ordered: Vec<u32> =
            store.deliveries_of(turn).await.unwrap().iter().map(|i| i.delivery.part).collect();
        assert!(ordered.is_sorted() && ordered.len() == 2);
    }
    assert_eq!(unsettled_ids(&store, scene, 10).await, expected);
    assert_eq!(unsettled_ids(&store, scene, 3).await, expected[..3]);
    let rest = store.unsettled(scene.agent, &SOURCE, &account(), &expected[..2], 1).await.unwrap();
    assert_eq!(
        rest.iter().map(|item| item.delivery.id).collect::<Vec<_>>(),
        expected[2..3],
        "deliveries in flight are left out and do not count towards the limit"
    );
    let memories = store.memories(&MemoryQuery::new(scene.agent, 10)).await.unwrap();
    assert_eq!(memories.len(), 2);
}

/// What is too old, waits, and belongs to an account without a connector.
pub async fn overdue_parts_of_other_accounts_are_found(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let part = |name: &str, expires: Option<i64>, sending: bool| {
        let mut row = scene.delivery(TurnId::fresh(), 0);
        row.delivery.address.account = Account(name.to_owned());
        NewDelivery { expires: expires.map(Timestamp), sending, ..row }
    };
    let old = part("elsewhere", Some(10), false);
    let rows = vec![
        part("here", Some(10), false),
        old.clone(),
        part("elsewhere", Some(20), false),
        part("elsewhere", None, false),
        part("elsewhere", Some(10), true),
    ];
    store.enqueue(rows, Vec::new()).await.unwrap();
    let served = [(SOURCE, Account("here".to_owned()))];
    let found = async |agent| store.overdue(agent, &served, Timestamp(20)).await.unwrap();
    let ids: Vec<_> = found(scene.agent).await.iter().map(|item| item.delivery.id).collect();
    assert_eq!(ids, [old.delivery.id]);
    assert_eq!(found(Scene::new().agent).await, []);
    assert_eq!(store.overdue(scene.agent, &[], Timestamp(20)).await.unwrap().len(), 2);
}

/// A part that its commit delivers is sent under its key, with an event in the same commit, before the event of the
/// decision; a commit that is refused leaves neither.
pub async fn the_commit_delivers_a_part_and_tells_of_it(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let message = scene.message("asked", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    let turn = scene.turn(&[&message]);
    let decided = LiveEvent {
        seq: 0,
        at: Timestamp(5),
        agent: Some(scene.agent),
        kind: MESSAGE_DECIDED.to_owned(),
        data: json!({ "memory": message.memory.id }),
    };
    let deliveries: Vec<NewDelivery> =
        turn.deliveries.iter().map(|row| NewDelivery { delivered: true, ..row.clone() }).collect();
    let turn = TurnRecord { deliveries, told: vec![decided], ..turn };
    store.finish_turn(turn.clone()).await.unwrap();
    let again = TurnRecord { turn: TurnId::fresh(), ..turn.clone() };
    assert!(store.finish_turn(again).await.is_err(), "the message is finished already");

    let row = store.delivery(turn.deliveries[0].delivery.id).await.unwrap().unwrap();
    assert_eq!((row.state, row.remote), (OutboxState::Sent, Some(RemoteId::new("key0"))));
    assert_eq!(unsettled_ids(&store, scene, 10).await, []);
    let events = store.live_after(0, 10).await.unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, [MESSAGE_SENT, MESSAGE_DECIDED]);
    assert_eq!(events[0].data["delivery"], json!(row.delivery.id));
    assert_eq!(events[0].data["memory"], json!(row.memory));

    let beside = NewDelivery { delivered: true, ..scene.delivery(TurnId::fresh(), 0) };
    store.enqueue(vec![beside.clone()], Vec::new()).await.unwrap();
    let last = store.live_after(events[1].seq, 10).await.unwrap();
    assert_eq!(last.len(), 1);
    assert_eq!(last[0].data["turn"], json!(beside.delivery.turn));
}

/// Accounts with open parts, of all agents, each once and with the first end.
pub async fn accounts_with_open_parts_are_told(store: Arc<dyn Store>) {
    assert_eq!(store.open_accounts().await.unwrap(), []);
    let (scene, other) = (Scene::new(), Scene::new());
    let part = |scene: Scene, expires: Option<i64>| NewDelivery {
        expires: expires.map(Timestamp),
        ..scene.delivery(TurnId::fresh(), 0)
    };
    let rows =
        vec![part(scene, Some(30)), part(scene, Some(20)), part(scene, None), part(other, None)];
    store.enqueue(rows.clone(), Vec::new()).await.unwrap();
    let open = |agent, ends: Option<i64>| OpenAccount {
        agent,
        source: SOURCE,
        account: account(),
        ends: ends.map(Timestamp),
    };
    let told = async || {
        let mut told = store.open_accounts().await.unwrap();
        told.sort_by_key(|open| open.ends);
        told
    };
    assert_eq!(told().await, [open(other.agent, None), open(scene.agent, Some(20))]);
    for state in [OutboxState::Sending, OutboxState::Sent] {
        let ids = [&rows[1], &rows[3]];
        let settled = ids.iter().map(|row| settlement(row.delivery.id, state)).collect();
        store.settle(settled).await.unwrap();
    }
    assert_eq!(told().await, [open(scene.agent, Some(30))], "what has ended is not open");
}

/// A delivery goes pending → sending → pending → sent; a final state never changes.
pub async fn settling_moves_a_row_and_final_states_stay(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let delivery = scene.delivery(TurnId::fresh(), 0);
    let id = delivery.delivery.id;
    store.enqueue(vec![delivery.clone()], Vec::new()).await.unwrap();
    let item = || async { store.outbox_item(id).await.unwrap().unwrap() };
    assert_eq!(
        (item().await.state, &item().await.delivery),
        (OutboxState::Pending, &delivery.delivery)
    );

    store.settle(vec![settlement(id, OutboxState::Sending)]).await.unwrap();
    assert_eq!(item().await.state, OutboxState::Sending);
    let retry = Settlement {
        attempt: 2,
        not_before: Timestamp(77),
        error: Some("busy".to_owned()),
        ..settlement(id, OutboxState::Pending)
    };
    store.settle(vec![retry]).await.unwrap();
    let waiting = item().await;
    assert_eq!(
        (waiting.state, waiting.delivery.attempt, waiting.not_before, waiting.error.as_deref()),
        (OutboxState::Pending, 2, Timestamp(77), Some("busy"))
    );

    let sent = Settlement {
        attempt: 3,
        remote: Some(RemoteId::new("m1")),
        ..settlement(id, OutboxState::Sent)
    };
    store.settle(vec![sent]).await.unwrap();
    let after = item().await;
    assert_eq!(
        (after.state, after.remote.clone(), after.error.clone()),
        (OutboxState::Sent, Some(RemoteId::new("m1")), None)
    );
    for state in [
        OutboxState::Pending,
        OutboxState::Sending,
        OutboxState::Ambiguous,
        OutboxState::Expired,
        OutboxState::Dead,
    ] {
        let undo = Settlement {
            remote: Some(RemoteId::new("m2")),
            error: Some("late".to_owned()),
            ..settlement(id, state)
        };
        assert_eq!(
            store.settle(vec![undo]).await.unwrap(),
            [id],
            "the refused settlement is returned"
        );
        assert_eq!(item().await, after);
    }
    assert_eq!(unsettled_ids(&store, scene, 10).await, []);

    for state in [OutboxState::Ambiguous, OutboxState::Expired, OutboxState::Dead] {
        let delivery = scene.delivery(TurnId::fresh(), 0);
        store.enqueue(vec![delivery.clone()], Vec::new()).await.unwrap();
        store
            .settle(vec![
                settlement(delivery.delivery.id, state),
                settlement(delivery.delivery.id, OutboxState::Sent),
            ])
            .await
            .unwrap();
        assert_eq!(store.outbox_item(delivery.delivery.id).await.unwrap().unwrap().state, state);
    }
    store.settle(vec![settlement(DeliveryId::fresh(), OutboxState::Sent)]).await.unwrap();
    let (gone, open) = (DeliveryId::fresh(), scene.delivery(TurnId::fresh(), 0));
    store.enqueue(vec![open.clone()], Vec::new()).await.unwrap();
    let marks = [open.delivery.id, gone].map(|id| settlement(id, OutboxState::Sending));
    assert_eq!(store.settle(marks.to_vec()).await.unwrap(), [gone]);
    assert_eq!(store.outbox_item(DeliveryId::fresh()).await.unwrap(), None);
}

/// Many deliveries settle at once, in one call and in many.
pub async fn many_rows_settle_at_once(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let turn = TurnId::fresh();
    let deliveries: Vec<NewDelivery> = (0..200).map(|part| scene.delivery(turn, part)).collect();
    let ids: Vec<DeliveryId> = deliveries.iter().map(|d| d.delivery.id).collect();
    store.enqueue(deliveries, Vec::new()).await.unwrap();
    let all = ids[..100]
        .iter()
        .map(|id| Settlement {
            remote: Some(RemoteId::new(id)),
            ..settlement(*id, OutboxState::Sent)
        })
        .collect();
    let tasks: Vec<_> = ids[100..]
        .iter()
        .map(|id| {
            let (store, id) = (Arc::clone(&store), *id);
            tokio::spawn(async move {
                store
                    .settle(vec![Settlement {
                        remote: Some(RemoteId::new(id)),
                        ..settlement(id, OutboxState::Sent)
                    }])
                    .await
            })
        })
        .collect();
    store.settle(all).await.unwrap();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    for item in store.deliveries_of(turn).await.unwrap() {
        assert_eq!(
            (item.state, item.remote),
            (OutboxState::Sent, Some(RemoteId::new(item.delivery.id)))
        );
    }
}

/// Unsettled deliveries are listed for one account only, up to the limit.
pub async fn unsettled_is_scoped_and_limited(store: Arc<dyn Store>) {
    let (scene, stranger) = (Scene::new(), Scene::new());
    let mine = scene.delivery(TurnId::fresh(), 0);
    let mut other_login = scene.delivery(TurnId::fresh(), 0);
    other_login.delivery.address.account = Account("8".to_owned());
    store
        .enqueue(vec![mine.clone(), other_login, stranger.delivery(TurnId::fresh(), 0)], Vec::new())
        .await
        .unwrap();
    assert_eq!(unsettled_ids(&store, scene, 10).await, [mine.delivery.id]);
    assert_eq!(unsettled_ids(&store, scene, 0).await, []);
}

/// A room that gets another id keeps its history, its queue and its participants' states.
pub async fn a_moved_room_takes_everything_along(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let mut place = scene.connections();
    place.rooms[0].name = Some("Workshop".to_owned());
    place.rooms[0].metadata = object(json!({"k": "v"}));
    let topic = RoomChange { id: RoomId::fresh(), parent: Some(scene.room), ..scene.room_change() };
    place.rooms.push(topic.clone());
    store.connect(place).await.unwrap();
    set_participant_state(
        &*store,
        scene.agent,
        scene.room,
        scene.itself(),
        Some(ParticipantState::Muted),
    )
    .await;
    let message = scene.message("hello", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    let delivery = scene.delivery(TurnId::fresh(), 0);
    store.enqueue(vec![delivery.clone()], Vec::new()).await.unwrap();

    let (to, remote) = (RoomId::fresh(), RemoteId::new("-100500"));
    store.move_room(scene.room, to, &remote).await.unwrap();
    assert_eq!(store.room(scene.room).await.unwrap(), None);
    let room = store.room(to).await.unwrap().unwrap();
    assert_eq!(
        (room.remote.clone(), room.name.as_str(), room.metadata.get("k")),
        (remote.clone(), "Workshop", Some(&json!("v")))
    );
    assert_eq!(store.room(topic.id).await.unwrap().unwrap().parent_id, Some(to));
    assert_eq!(store.participants(scene.room).await.unwrap(), []);
    assert_eq!(store.participants(to).await.unwrap().len(), 2);
    assert_eq!(
        store.participant_state(to, scene.itself()).await.unwrap(),
        Some(ParticipantState::Muted)
    );
    assert_eq!(store.memory(message.memory.id).await.unwrap().unwrap().room_id, to);
    let waiting = store.unfinished_in_room(to, 10).await.unwrap();
    assert_eq!(
        (waiting.len(), waiting[0].entry.room_remote.clone(), waiting[0].entry.memory.room_id),
        (1, remote.clone(), to)
    );
    let address = store.outbox_item(delivery.delivery.id).await.unwrap().unwrap().delivery.address;
    assert_eq!((address.room, address.remote), (to, remote.clone()));

    store.move_room(to, to, &RemoteId::new("-100600")).await.unwrap();
    assert_eq!(store.room(to).await.unwrap().unwrap().remote, RemoteId::new("-100600"));
    assert_eq!(
        store.participants(to).await.unwrap().len(),
        2,
        "a room that keeps its id keeps its participants"
    );
}

/// The first message under the new id may arrive before the platform reports the move; both rooms
/// are then merged.
pub async fn a_room_moves_into_one_that_exists(store: Arc<dyn Store>) {
    let old = Scene::new();
    let new = old.other_room();
    let mut place = old.connections();
    place.rooms[0].metadata = object(json!({"old": 1, "both": "old"}));
    store.connect(place).await.unwrap();
    let mut place = new.connections();
    place.rooms[0].metadata = object(json!({"new": 1, "both": "new"}));
    place.rooms[0].name = Some("New".to_owned());
    store.connect(place).await.unwrap();
    set_participant_state(
        &*store,
        old.agent,
        old.room,
        old.itself(),
        Some(ParticipantState::Muted),
    )
    .await;
    set_participant_state(
        &*store,
        new.agent,
        new.room,
        old.person,
        Some(ParticipantState::Followed),
    )
    .await;
    store.ingest(Scene::batch(&[old.message("before", 1), new.message("after", 2)])).await.unwrap();

    store.move_room(old.room, new.room, &new.room_remote()).await.unwrap();
    assert_eq!(store.room(old.room).await.unwrap(), None);
    let room = store.room(new.room).await.unwrap().unwrap();
    assert_eq!(
        (room.name.as_str(), room.metadata),
        ("New", object(json!({"old": 1, "both": "new", "new": 1})))
    );
    assert_eq!(store.participants(new.room).await.unwrap().len(), 2);
    assert_eq!(
        store.participant_state(new.room, old.itself()).await.unwrap(),
        Some(ParticipantState::Muted)
    );
    assert_eq!(
        store.participant_state(new.room, old.person).await.unwrap(),
        Some(ParticipantState::Followed)
    );
    let memories = store
        .memories(&MemoryQuery::new(old.agent, 10).room(new.room).kind(MemoryKind::Messages))
        .await
        .unwrap();
    assert_eq!(
        memories.iter().map(|m| m.content.text.as_str()).collect::<Vec<_>>(),
        ["after", "before"]
    );
    assert_eq!(store.unfinished_in_room(new.room, 10).await.unwrap().len(), 2);
}

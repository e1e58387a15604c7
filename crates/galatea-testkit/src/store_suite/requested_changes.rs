//! Changes that a turn requests: they are applied with its commit, in their order, and only to its
//! own agent.

use galatea_core::{
    Memory, ParticipantState, Role, RoomId, Store, Timestamp, World,
    store::{InboxState, NewDelivery, OutboxState, RequestedChange, Resolution, TurnRecord},
};
use serde_json::json;
use std::sync::Arc;

use super::fixtures::{Scene, object, settlement};

/// All kinds of effects are applied, in their order.
pub async fn effects_are_applied(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let mut place = scene.connections();
    place.rooms[0].metadata = object(json!({"keep": 1, "drop": 2}));
    place.worlds[0].metadata = object(json!({"roles": {scene.itself().to_string(): "OWNER"}}));
    store.connect(place).await.unwrap();
    let record = TurnRecord {
        effects: vec![
            RequestedChange::SetParticipantState {
                room: scene.room,
                entity: scene.itself(),
                state: Some(ParticipantState::Muted),
            },
            RequestedChange::SetParticipantState {
                room: scene.room,
                entity: scene.itself(),
                state: Some(ParticipantState::Followed),
            },
            RequestedChange::MergeRoomMetadata {
                room: scene.room,
                metadata: object(json!({"drop": null, "language": "el"})),
            },
            RequestedChange::MergeEntityMetadata {
                entity: scene.person,
                metadata: object(json!({"suite": {"likes": "ivory"}})),
            },
            RequestedChange::SetRole {
                world: scene.world,
                entity: scene.person,
                role: Role::Admin,
            },
        ],
        ..scene.turn(&[])
    };
    store.finish_turn(record).await.unwrap();
    assert_eq!(
        store.participant_state(scene.room, scene.itself()).await.unwrap(),
        Some(ParticipantState::Followed)
    );
    assert_eq!(
        store.room(scene.room).await.unwrap().unwrap().metadata,
        object(json!({"keep": 1, "language": "el"}))
    );
    assert_eq!(
        store.entities(&[scene.person]).await.unwrap()[0].metadata,
        object(json!({"suite": {"likes": "ivory"}}))
    );
    let keep = |days| {
        let effects = vec![RequestedChange::SetRetention { world: scene.world, days }];
        store.finish_turn(TurnRecord { effects, ..scene.turn(&[]) })
    };
    let kept = async || store.world(scene.world).await.unwrap().unwrap().retention_days();
    assert_eq!(kept().await, None);
    keep(30).await.unwrap();
    assert_eq!(kept().await, Some(30));
    assert!(keep(1_000_000).await.is_err());
    keep(0).await.unwrap();
    assert_eq!(kept().await, None);
    let set = |value: Option<&str>| {
        let (key, value) = ("tone".to_owned(), value.map(str::to_owned));
        let effects = vec![RequestedChange::SetWorldSetting { world: scene.world, key, value }];
        store.finish_turn(TurnRecord { effects, ..scene.turn(&[]) })
    };
    let tone = async || {
        let world = store.world(scene.world).await.unwrap().unwrap();
        world.setting("tone").map(str::to_owned)
    };
    set(Some("casual")).await.unwrap();
    keep(7).await.unwrap();
    assert_eq!((tone().await.as_deref(), kept().await), (Some("casual"), Some(7)));
    set(None).await.unwrap();
    keep(0).await.unwrap();
    assert_eq!(tone().await, None);
    let roles = store.world(scene.world).await.unwrap().unwrap().metadata.roles;
    assert_eq!(
        (roles.get(&scene.person), roles.get(&scene.itself())),
        (Some(&Role::Admin), Some(&Role::Owner))
    );
    let clear = RequestedChange::SetParticipantState {
        room: scene.room,
        entity: scene.itself(),
        state: None,
    };
    store.finish_turn(TurnRecord { effects: vec![clear], ..scene.turn(&[]) }).await.unwrap();
    assert_eq!(store.participant_state(scene.room, scene.itself()).await.unwrap(), None);
}

/// Forgetting a person deletes their messages, the answers to them and their names; other people's
/// data stays.
pub async fn a_person_is_forgotten(store: Arc<dyn Store>) {
    let scene = Scene::new();
    store.connect(scene.connections()).await.unwrap();
    let message = scene.message("a", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    let mut answered = scene.turn(&[&message]);
    let mut answer = scene.memory("the answer", 2);
    answer.entity_id = scene.itself();
    answer.metadata.insert("turn".into(), json!(answered.turn));
    let mut other = scene.memory("to someone else", 3);
    other.entity_id = scene.itself();
    other.metadata.insert("turn".into(), json!(galatea_core::TurnId::fresh()));
    // The turn's message in another Room.
    let elsewhere = Memory { room_id: RoomId::fresh(), ..scene.memory("there", 2) };
    let elsewhere =
        Memory { entity_id: scene.itself(), metadata: answer.metadata.clone(), ..elsewhere };
    answered.memories = vec![answer.clone(), other.clone(), elsewhere.clone()];
    let said = scene.delivery(answered.turn, 1);
    answered.deliveries.push(said.clone());
    let mut unsaid = [2, 3, 4].map(|part| scene.delivery(answered.turn, part));
    unsaid[2].memory = Some(elsewhere.id);
    answered.deliveries.extend(unsaid.clone());
    let others = scene.turn(&[]);
    let kept = others.deliveries[0].delivery.id;
    store.finish_turn(answered).await.unwrap();
    store.finish_turn(others).await.unwrap();
    for state in [OutboxState::Sending, OutboxState::Sent] {
        let settled = [said.delivery.id, kept].map(|id| settlement(id, state));
        assert_eq!(store.settle(settled.into()).await.unwrap(), [], "none is refused");
    }
    let [_, on_its_way, _] = unsaid.each_ref().map(|part| part.delivery.id);
    store.settle(vec![settlement(on_its_way, OutboxState::Sending)]).await.unwrap();
    let forget = RequestedChange::ForgetPerson { entity: scene.person };
    let command = scene.message("forget me", 4);
    store.ingest(Scene::batch(std::slice::from_ref(&command))).await.unwrap();
    let forgets = TurnRecord { effects: vec![forget], ..scene.turn(&[&command]) };
    let mut answer_to_it = scene.delivery(forgets.turn, 7);
    answer_to_it.memory = None;
    let forgets = TurnRecord { deliveries: vec![answer_to_it.clone()], ..forgets };
    store.finish_turn(forgets).await.unwrap();
    assert_eq!(
        (store.memory(message.memory.id).await.unwrap(), store.memory(answer.id).await.unwrap()),
        (None, None)
    );
    assert_eq!(store.memory(elsewhere.id).await.unwrap(), None);
    assert!(store.memory(other.id).await.unwrap().is_some());
    let body = async |id| store.outbox_item(id).await.unwrap().unwrap().delivery.body.0;
    assert!(body(said.delivery.id).await.is_null(), "what was only said goes, too");
    assert!(!body(kept).await.is_null());
    for NewDelivery { delivery, .. } in &unsaid {
        // Neither what comes of it nor an operator brings it back.
        for state in [OutboxState::Pending, OutboxState::Sent] {
            store.settle(vec![settlement(delivery.id, state)]).await.unwrap();
        }
        assert!(!store.resolve(delivery.id, Resolution::Retry, Timestamp(9)).await.unwrap());
        let row = store.outbox_item(delivery.id).await.unwrap().unwrap();
        assert_eq!((row.state, row.delivery.body.0.is_null()), (OutboxState::Dead, true));
    }
    let row = store.outbox_item(answer_to_it.delivery.id).await.unwrap().unwrap();
    assert!(row.state == OutboxState::Pending && !row.delivery.body.0.is_null());
    let person = &store.entities(&[scene.person]).await.unwrap()[0];
    assert!(person.names.is_empty() && person.metadata.is_empty(), "{person:?}");
    let row = store.inbox_item(message.memory.id).await.unwrap().unwrap();
    assert_eq!(
        (row.state, row.entry.envelope.user_name),
        (InboxState::Done, None),
        "the row stays, without its text"
    );
}

/// A turn with forged effects cannot change another agent's rooms, roles or people.
pub async fn effects_stay_within_their_agent(store: Arc<dyn Store>) {
    let (scene, victim) = (Scene::new(), Scene::new());
    store.connect(victim.connections()).await.unwrap();
    let record = TurnRecord {
        effects: vec![
            RequestedChange::SetParticipantState {
                room: victim.room,
                entity: victim.itself(),
                state: Some(ParticipantState::Muted),
            },
            RequestedChange::MergeRoomMetadata {
                room: victim.room,
                metadata: object(json!({"x": 1})),
            },
            RequestedChange::MergeEntityMetadata {
                entity: victim.person,
                metadata: object(json!({"x": 1})),
            },
            RequestedChange::SetRole {
                world: victim.world,
                entity: scene.person,
                role: Role::Owner,
            },
        ],
        ..scene.turn(&[])
    };
    store.finish_turn(record).await.unwrap();
    assert_eq!(store.participant_state(victim.room, victim.itself()).await.unwrap(), None);
    assert!(store.room(victim.room).await.unwrap().unwrap().metadata.is_empty());
    assert!(store.entities(&[victim.person]).await.unwrap()[0].metadata.is_empty());
    let World { metadata, .. } = store.world(victim.world).await.unwrap().unwrap();
    assert!(metadata.roles.is_empty());
}

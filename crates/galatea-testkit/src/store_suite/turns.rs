//! Transaction T2: a turn is committed exactly once and as a whole.

use galatea_core::{
    AgentId, ErrorKind, MemoryId, ParticipantState, Role, StepOutcome, Store, Timestamp, TurnId,
    World,
    store::{InboxState, NewDelivery, OutboxState, RequestedChange, Resolution, TurnRecord},
};
use serde_json::json;
use std::{collections::HashMap, sync::Arc};

use super::fixtures::{SOURCE, Scene, account, finished, object, settlement};

/// A turn stores its memories, deliveries and inbox states.
pub async fn a_turn_is_written_whole(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let message = scene.message("hello", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    let mut record = scene.turn(&[&message]);
    record.deliveries.push(scene.delivery(record.turn, 1));
    record.deliveries[0].sending = true;
    store.finish_turn(record.clone()).await.unwrap();

    assert_eq!(
        store.memory(record.memories[0].id).await.unwrap().as_ref(),
        record.memories.first()
    );
    let item = store.inbox_item(message.memory.id).await.unwrap().unwrap();
    assert_eq!(
        (item.state, item.turn, item.finished_at),
        (InboxState::Done, Some(record.turn), Some(record.at))
    );
    assert_eq!(item.verdict.as_ref(), Some(&record.finished[0].verdict));
    let parts = store.deliveries_of(record.turn).await.unwrap();
    assert_eq!(
        parts.iter().map(|p| &p.delivery).collect::<Vec<_>>(),
        record.deliveries.iter().map(|d| &d.delivery).collect::<Vec<_>>()
    );
    assert_eq!(
        parts.iter().map(|p| p.state).collect::<Vec<_>>(),
        [OutboxState::Sending, OutboxState::Pending]
    );
    assert_eq!(
        (parts[0].memory, parts[0].expires, parts[1].memory),
        (record.deliveries[0].memory, Some(Timestamp(5_000)), None)
    );
    assert_eq!(store.unfinished(scene.agent, &SOURCE, &account(), 10).await.unwrap(), []);
}

/// Two turns for the same message: exactly one commits.
pub async fn of_two_turns_for_one_message_one_wins(store: Arc<dyn Store>) {
    for _ in 0..20 {
        let scene = Scene::new();
        let message = scene.message("hello", 1);
        store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
        let (a, b) = (scene.turn(&[&message]), scene.turn(&[&message]));
        let (left, right) =
            tokio::join!(store.finish_turn(a.clone()), store.finish_turn(b.clone()));
        let (winner, loser, error) = match (left, right) {
            (Ok(()), Err(error)) => (a, b, error),
            (Err(error), Ok(())) => (b, a, error),
            other => panic!("one must win: {other:?}"),
        };
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert_eq!(store.deliveries_of(winner.turn).await.unwrap().len(), 1);
        assert_eq!(store.deliveries_of(loser.turn).await.unwrap(), []);
        assert_eq!(store.memory(loser.memories[0].id).await.unwrap(), None);
        assert_eq!(
            store.inbox_item(message.memory.id).await.unwrap().unwrap().turn,
            Some(winner.turn)
        );
    }
}

/// A refused turn stores nothing, and turns committed at the same time are not affected.
pub async fn a_conflict_writes_nothing(store: Arc<dyn Store>) {
    let scene = Scene::new();
    store.connect(scene.connections()).await.unwrap();
    let messages = [scene.message("a", 1), scene.message("b", 2), scene.message("c", 3)];
    store.ingest(Scene::batch(&messages)).await.unwrap();
    store.finish_turn(scene.turn(&[&messages[0]])).await.unwrap();

    let mut refused = scene.turn(&[&messages[1], &messages[0]]);
    refused.effects.push(RequestedChange::SetParticipantState {
        room: scene.room,
        entity: scene.itself(),
        state: Some(ParticipantState::Muted),
    });
    let beside = scene.turn(&[&messages[2]]);
    let (no, yes) =
        tokio::join!(store.finish_turn(refused.clone()), store.finish_turn(beside.clone()));
    assert_eq!(no.unwrap_err().kind(), ErrorKind::Conflict);
    yes.unwrap();
    assert_eq!(
        store.inbox_item(messages[1].memory.id).await.unwrap().unwrap().state,
        InboxState::New
    );
    assert_eq!(store.memory(refused.memories[0].id).await.unwrap(), None);
    assert_eq!(store.deliveries_of(refused.turn).await.unwrap(), []);
    assert_eq!(store.participant_state(scene.room, scene.itself()).await.unwrap(), None);
    assert_eq!(store.deliveries_of(beside.turn).await.unwrap().len(), 1);

    let unknown = TurnRecord {
        finished: vec![finished(MemoryId::fresh(), InboxState::Done)],
        ..scene.turn(&[])
    };
    assert_eq!(store.finish_turn(unknown).await.unwrap_err().kind(), ErrorKind::Conflict);
}

/// Messages answered together finish in one commit, each with its own state and verdict.
pub async fn merged_messages_finish_together(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let messages = [scene.message("a", 1), scene.message("b", 2), scene.message("c", 3)];
    store.ingest(Scene::batch(&messages)).await.unwrap();
    let mut record = scene.turn(&[&messages[0], &messages[1], &messages[2]]);
    record.finished[0].state = InboxState::Skipped;
    record.finished[1].state = InboxState::Expired;
    record.finished[0].verdict.step("merged", StepOutcome::Note, "answered with a later one");
    store.finish_turn(record.clone()).await.unwrap();
    for finished in &record.finished {
        let item = store.inbox_item(finished.id).await.unwrap().unwrap();
        assert_eq!(
            (item.state, item.turn, item.verdict.as_ref()),
            (finished.state, Some(record.turn), Some(&finished.verdict))
        );
    }
}

/// The pair of turn and part is unique, also for deliveries outside a turn.
pub async fn a_part_is_written_once(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let record = scene.turn(&[]);
    store.finish_turn(record.clone()).await.unwrap();
    let again = TurnRecord {
        memories: vec![scene.memory("again", 1)],
        deliveries: vec![scene.delivery(record.turn, 0)],
        ..record.clone()
    };
    assert_eq!(store.finish_turn(again.clone()).await.unwrap_err().kind(), ErrorKind::Conflict);
    let enqueued = store
        .enqueue(
            vec![scene.delivery(record.turn, 1), scene.delivery(record.turn, 0)],
            again.memories.clone(),
        )
        .await;
    assert_eq!(enqueued.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(store.deliveries_of(record.turn).await.unwrap().len(), 1);
    assert_eq!(store.memory(again.memories[0].id).await.unwrap(), None);
}

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
    let mut other = scene.memory("to somebody else", 3);
    other.entity_id = scene.itself();
    other.metadata.insert("turn".into(), json!(galatea_core::TurnId::fresh()));
    answered.memories = vec![answer.clone(), other.clone()];
    let told = scene.delivery(answered.turn, 1);
    answered.deliveries.push(told.clone());
    let unsaid = [2, 3].map(|part| scene.delivery(answered.turn, part));
    answered.deliveries.extend(unsaid.clone());
    let others = scene.turn(&[]);
    let kept = others.deliveries[0].delivery.id;
    store.finish_turn(answered).await.unwrap();
    store.finish_turn(others).await.unwrap();
    for state in [OutboxState::Sending, OutboxState::Sent] {
        let settled = [told.delivery.id, kept].map(|id| settlement(id, state));
        assert_eq!(store.settle(settled.into()).await.unwrap(), [], "none is refused");
    }
    let [_, on_its_way] = unsaid.each_ref().map(|part| part.delivery.id);
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
    assert!(store.memory(other.id).await.unwrap().is_some());
    let body = async |id| store.outbox_item(id).await.unwrap().unwrap().delivery.body.0;
    assert!(body(told.delivery.id).await.is_null(), "what was only said goes, too");
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

/// A turn that finishes another agent's message is a conflict.
pub async fn a_turn_finishes_its_own_agents_messages_only(store: Arc<dyn Store>) {
    let (scene, other) = (Scene::new(), Scene::new());
    let message = scene.message("hello", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    assert_eq!(
        store.finish_turn(other.turn(&[&message])).await.unwrap_err().kind(),
        ErrorKind::Conflict
    );
    assert_eq!(store.inbox_item(message.memory.id).await.unwrap().unwrap().state, InboxState::New);
}

/// An invalid turn is refused before anything is stored.
pub async fn impossible_turns_are_refused(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let message = scene.message("hello", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    assert_eq!(
        store.finish_turn(scene.turn(&[&message, &message])).await.unwrap_err().kind(),
        ErrorKind::Invalid
    );
    let still_new = TurnRecord {
        finished: vec![finished(message.memory.id, InboxState::New)],
        ..scene.turn(&[])
    };
    assert_eq!(store.finish_turn(still_new).await.unwrap_err().kind(), ErrorKind::Invalid);
    store.finish_turn(scene.turn(&[&message])).await.unwrap();
}

/// A hundred rooms commit turns at the same moment, and every tenth commits twice; nothing is lost.
pub async fn a_hundred_turns_at_once_lose_nothing(store: Arc<dyn Store>) {
    let agent = AgentId::fresh();
    let scenes: Vec<Scene> = (0..100).map(|_| Scene { agent, ..Scene::new() }).collect();
    let tasks: Vec<_> = scenes
        .iter()
        .enumerate()
        .map(|(n, scene)| {
            let (store, scene) = (Arc::clone(&store), *scene);
            tokio::spawn(async move {
                let message = scene.message("hello", 1);
                store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
                store.begin_turn(&[message.memory.id]).await.unwrap();
                let record = scene.turn(&[&message]);
                store.finish_turn(record.clone()).await.unwrap();
                if n % 10 == 0 {
                    let twice = scene.turn(&[&message]);
                    assert_eq!(
                        store.finish_turn(twice).await.unwrap_err().kind(),
                        ErrorKind::Conflict
                    );
                }
                record.turn
            })
        })
        .collect();
    let mut turns: Vec<TurnId> = Vec::new();
    for task in tasks {
        turns.push(task.await.unwrap());
    }
    for turn in turns {
        assert_eq!(store.deliveries_of(turn).await.unwrap().len(), 1);
    }
    assert_eq!(store.unsettled(agent, &SOURCE, &account(), &[], 1_000).await.unwrap().len(), 100);
    assert_eq!(store.unfinished(agent, &SOURCE, &account(), 1_000).await.unwrap().len(), 0);
}

/// Received = answered + skipped + expired + dead + new.
pub async fn every_message_is_counted_in_one_state(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let messages: Vec<_> = (0..15).map(|n| scene.message("hello", n)).collect();
    store.ingest(Scene::batch(&messages)).await.unwrap();
    let states = [InboxState::Done, InboxState::Skipped, InboxState::Expired, InboxState::Dead];
    let mut expected = HashMap::from([(InboxState::New, 15 - 10)]);
    for (n, message) in messages.iter().take(10).enumerate() {
        let state = states[n % states.len()];
        *expected.entry(state).or_insert(0) += 1;
        let record =
            TurnRecord { finished: vec![finished(message.memory.id, state)], ..scene.turn(&[]) };
        store.finish_turn(record).await.unwrap();
    }
    let lines = store.audit().await.unwrap();
    let [line] = lines.as_slice() else { panic!("one source: {lines:?}") };
    assert!(line.source == SOURCE && line.received == 15 && line.balances(), "{line:?}");
    let counts = [
        (InboxState::New, line.pending),
        (InboxState::Done, line.answered + line.answering + line.undelivered),
        (InboxState::Skipped, line.skipped),
        (InboxState::Expired, line.expired),
        (InboxState::Dead, line.dead),
    ];
    assert_eq!(HashMap::from(counts), expected);
}

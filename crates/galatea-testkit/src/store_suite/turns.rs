//! Transaction T2: a turn is committed exactly once and as a whole.

use galatea_core::{
    AgentId, ErrorKind, MemoryId, ParticipantState, StepOutcome, Store, Timestamp, TurnId,
    store::{InboxState, OutboxState, RequestedChange, TurnRecord},
};
use std::{collections::HashMap, sync::Arc};

use super::fixtures::{SOURCE, Scene, account, finished};

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

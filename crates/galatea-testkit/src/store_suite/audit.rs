//! The audit of all messages, operators' decisions on deliveries, and the agreement of the store
//! with the pure delivery protocol.

use galatea_core::{
    Account, DeliveryId, Gap, Store, Timestamp, TurnId,
    gap::GAPS,
    protocol::Tables,
    store::{
        ConnectorState, FinishedMessage, InboxEntry, InboxState, Ingest, OutboxQuery, OutboxState,
        Resolution, Settlement, TurnRecord,
    },
};
use std::sync::Arc;

use super::fixtures::{SOURCE, Scene, finished, settlement};

/// Stores one answered message whose only delivery is in this state; returns the delivery's id.
async fn answered(store: &Arc<dyn Store>, scene: Scene, part: OutboxState) -> DeliveryId {
    let message = scene.message("hello", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    let record = scene.turn(&[&message]);
    let id = record.deliveries[0].delivery.id;
    store.finish_turn(record).await.unwrap();
    if part != OutboxState::Pending {
        store.settle(vec![settlement(id, part)]).await.unwrap();
    }
    id
}

/// Stores one message without an answer, in this state.
async fn unanswered(store: &Arc<dyn Store>, scene: Scene, state: InboxState) -> InboxEntry {
    let message = scene.message("hello", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    if state != InboxState::New {
        let record = TurnRecord {
            memories: Vec::new(),
            deliveries: Vec::new(),
            finished: vec![finished(message.memory.id, state)],
            ..scene.turn(&[&message])
        };
        store.finish_turn(record).await.unwrap();
    }
    message
}

/// The number of received messages equals the sum of all outcomes, and each outcome is counted
/// apart.
pub async fn every_message_is_accounted_for(store: Arc<dyn Store>) {
    let scene = Scene::new();
    assert_eq!(store.audit().await.unwrap(), []);
    for (count, part) in [
        (1, OutboxState::Pending),
        (2, OutboxState::Sending),
        (3, OutboxState::Sent),
        (4, OutboxState::Ambiguous),
        (5, OutboxState::Dead),
    ] {
        for _ in 0..count {
            answered(&store, scene, part).await;
        }
    }
    for (count, state) in [
        (6, InboxState::Skipped),
        (7, InboxState::Expired),
        (8, InboxState::Dead),
        (9, InboxState::New),
        (1, InboxState::Done),
    ] {
        for _ in 0..count {
            unanswered(&store, scene, state).await;
        }
    }
    // One was deleted before its turn, one during it. No turn finished either, and the verdict
    // states the deletion.
    let deleted = [
        unanswered(&store, scene, InboxState::New).await,
        unanswered(&store, scene, InboxState::New).await,
    ];
    store.begin_turn(&[deleted[1].memory.id]).await.unwrap();
    store.delete_memories(scene.agent, &deleted.map(|entry| entry.memory.id)).await.unwrap();
    let [line] = &store.audit().await.unwrap()[..] else { panic!("one source") };
    assert!(line.balances(), "{line:?}");
    assert_eq!(line.source, SOURCE);
    assert_eq!((line.received, line.answered, line.answering, line.undelivered), (48, 4, 3, 9));
    assert_eq!((line.skipped, line.expired, line.dead, line.pending), (8, 7, 8, 9));
    let exceptions = store.exceptions(100).await.unwrap();
    assert_eq!(
        (
            exceptions.messages.len(),
            exceptions.parts.len(),
            exceptions.unexplained.len(),
            exceptions.more
        ),
        (15, 9, 0, false)
    );
    let few = store.exceptions(4).await.unwrap();
    assert_eq!((few.messages.len(), few.parts.len(), few.more), (4, 4, true));
}

/// A dead part makes the whole answer undelivered; an answer with an open part still counts as
/// being delivered.
pub async fn an_answer_is_as_good_as_its_worst_part(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let message = scene.message("hello", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    let mut record = scene.turn(&[&message]);
    record.deliveries.push(scene.delivery(record.turn, 1));
    let ids: Vec<DeliveryId> = record.deliveries.iter().map(|d| d.delivery.id).collect();
    store.finish_turn(record).await.unwrap();
    let line = || async { store.audit().await.unwrap().remove(0) };
    store.settle(vec![settlement(ids[0], OutboxState::Sent)]).await.unwrap();
    assert_eq!((line().await.answering, line().await.answered), (1, 0));
    store.settle(vec![settlement(ids[1], OutboxState::Dead)]).await.unwrap();
    assert_eq!((line().await.undelivered, line().await.answering), (1, 0));
    assert!(store.resolve(ids[1], Resolution::Retry, Timestamp(5)).await.unwrap());
    store.settle(vec![settlement(ids[1], OutboxState::Sent)]).await.unwrap();
    assert_eq!((line().await.answered, line().await.undelivered), (1, 0));
}

/// Retry resets a delivery and drop ends it; both change only deliveries in states they fit.
pub async fn operators_decide_where_it_fits(store: Arc<dyn Store>) {
    let scene = Scene::new();
    for state in OutboxState::ALL {
        for resolution in [Resolution::Retry, Resolution::Drop] {
            let id = answered(&store, scene, state).await;
            let before = store.outbox_item(id).await.unwrap().unwrap();
            let done = store.resolve(id, resolution, Timestamp(77)).await.unwrap();
            let after = store.outbox_item(id).await.unwrap().unwrap();
            assert_eq!(done, resolution.fits(state), "{resolution:?} of {state:?}");
            match (done, resolution) {
                (false, _) => assert_eq!(after, before),
                (true, Resolution::Retry) => {
                    assert_eq!(
                        (after.state, after.delivery.attempt, after.not_before, after.expires),
                        (OutboxState::Pending, 0, Timestamp(77), None)
                    );
                }
                (true, Resolution::Drop) => assert_eq!(after.state, OutboxState::Dead),
            }
        }
    }
    assert!(!store.resolve(DeliveryId::fresh(), Resolution::Retry, Timestamp(0)).await.unwrap());
}

/// The outbox is listed by state, newest first, up to the limit.
pub async fn outbox_rows_are_selected(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let mut ids = Vec::new();
    for state in OutboxState::ALL {
        ids.push(answered(&store, scene, state).await);
    }
    let select = |states: &[OutboxState], limit| {
        let (store, query) = (Arc::clone(&store), OutboxQuery { states: states.to_vec(), limit });
        async move {
            store
                .outbox(&query)
                .await
                .unwrap()
                .into_iter()
                .map(|item| item.delivery.id)
                .collect::<Vec<_>>()
        }
    };
    ids.reverse();
    assert_eq!(select(&[], 100).await, ids);
    assert_eq!(select(&[], 2).await, ids[..2]);
    assert_eq!(select(&[OutboxState::Dead, OutboxState::Ambiguous], 100).await, [ids[0], ids[2]]);
}

/// An unknown outcome is stored with the delivery until a later settlement clears it.
pub async fn an_unknown_outcome_is_stored(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let id = answered(&store, scene, OutboxState::Pending).await;
    let outcome_unknown =
        || async { store.outbox_item(id).await.unwrap().unwrap().outcome_unknown };
    assert!(!outcome_unknown().await);
    store
        .settle(vec![Settlement { outcome_unknown: true, ..settlement(id, OutboxState::Sending) }])
        .await
        .unwrap();
    assert!(outcome_unknown().await);
    store.settle(vec![settlement(id, OutboxState::Pending)]).await.unwrap();
    assert!(!outcome_unknown().await, "a later settlement clears it");
}

/// Gaps are kept in the account's state and listed for every account.
pub async fn gaps_are_listed_with_their_account(store: Arc<dyn Store>) {
    let scene = Scene::new();
    assert!(store.missing().await.unwrap().is_empty());
    let gap = |n| Gap {
        place: Some(format!("channel {n}")),
        ..Gap::new(Timestamp(n), "its history cannot be read")
    };
    for (account, gaps) in [("8", vec![gap(1), gap(2)]), ("9", vec![gap(3)])] {
        let mut value = None;
        for gap in gaps {
            value = Gap::noted(Gap::read(value.as_ref()), gap);
        }
        let state = ConnectorState {
            agent: scene.agent,
            source: SOURCE,
            account: Account(account.to_owned()),
            key: GAPS.to_owned(),
            value: value.unwrap(),
        };
        let ingest = Ingest { state: vec![state], ..Ingest::default() };
        store.ingest(ingest).await.unwrap();
    }
    let missing = store.missing().await.unwrap();
    let reported: Vec<_> =
        missing.iter().map(|m| (m.source.clone(), m.account.0.as_str(), m.gap.clone())).collect();
    assert_eq!(reported, [(SOURCE, "8", gap(1)), (SOURCE, "8", gap(2)), (SOURCE, "9", gap(3))]);
}

/// A seeded random walk of 300 steps: the store accepts and refuses the same steps as [`Tables`]
/// and ends in the same states.
pub async fn the_store_and_the_protocol_agree(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let (mut tables, mut messages, mut turns) = (Tables::default(), Vec::new(), Vec::new());
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut dice = |sides: usize| {
        // xorshift64 (Marsaglia, 2003). Any walk will do, as long as it is the same in every run.
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % sides as u64).unwrap_or(0)
    };
    for step in 0..300 {
        match dice(5) {
            0 => {
                let message = if !messages.is_empty() && dice(3) == 0 {
                    let known: &InboxEntry = &messages[dice(messages.len())];
                    known.clone()
                } else {
                    scene.message("hello", step)
                };
                let new = store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
                assert_eq!(new.new, [tables.ingest(message.memory.id)], "step {step}");
                messages.push(message);
            }
            1 | 2 if !messages.is_empty() => {
                let message = &messages[dice(messages.len())];
                let mut record = scene.turn(&[message]);
                let state = [InboxState::Done, InboxState::Skipped, InboxState::Dead][dice(3)];
                record.finished =
                    vec![FinishedMessage { state, ..finished(message.memory.id, state) }];
                if !turns.is_empty() && dice(4) == 0 {
                    let known: TurnId = turns[dice(turns.len())];
                    record.turn = known;
                    record.deliveries[0].delivery.turn = known;
                }
                let parts: Vec<_> = record
                    .deliveries
                    .iter()
                    .map(|d| (d.delivery.id, d.delivery.part, OutboxState::Pending))
                    .collect();
                let expected =
                    tables.finish_turn(record.turn, &[(message.memory.id, state)], &parts).is_ok();
                turns.push(record.turn);
                assert_eq!(store.finish_turn(record).await.is_ok(), expected, "step {step}");
            }
            3 if !messages.is_empty() => {
                let id = messages[dice(messages.len())].memory.id;
                tables.begin_turn(&[id]);
                store.begin_turn(&[id]).await.unwrap();
            }
            4 if !tables.outbox.is_empty() => {
                let ids: Vec<DeliveryId> = tables.outbox.keys().copied().collect();
                let (id, state) =
                    (ids[dice(ids.len())], OutboxState::ALL[dice(OutboxState::ALL.len())]);
                let taken = tables.settle(id, state).is_ok();
                let refused = store.settle(vec![settlement(id, state)]).await.unwrap();
                assert_eq!(
                    refused,
                    if taken || state == OutboxState::Sent { vec![] } else { vec![id] }
                );
            }
            _ => {}
        }
    }
    assert!(
        tables.inbox.len() > 20 && tables.outbox.len() > 20,
        "the walk must create enough rows to prove anything"
    );
    for (id, (state, begun)) in &tables.inbox {
        let item = store.inbox_item(*id).await.unwrap().unwrap();
        assert_eq!((item.state, item.attempts), (*state, *begun));
    }
    for (id, state) in &tables.outbox {
        assert_eq!(store.outbox_item(*id).await.unwrap().unwrap().state, *state);
    }
}

//! The context of a read-back: what is stored around a delivery whose outcome is unknown.

use galatea_core::{
    Delivery, ReadBackContext, RemoteId, RoomId, Store, Timestamp, TurnId,
    store::{NewDelivery, OutboxState, Settlement},
};
use std::sync::Arc;

use super::fixtures::{Scene, settlement};

/// The read-back context names the messages around a lost delivery: where to search, and which
/// messages are not the lost one.
pub async fn a_trail_tells_what_lies_around_a_delivery(store: Arc<dyn Store>) {
    let (scene, stranger) = (Scene::new(), Scene::new());
    let mut lost = scene.delivery(TurnId::fresh(), 0);
    lost.sending = true;
    assert_eq!(
        store.read_back_context(&lost.delivery).await.unwrap(),
        ReadBackContext::default(),
        "the store does not know the delivery"
    );

    store
        .ingest(Scene::batch(&[scene.message("first", 1), scene.message("second", 2)]))
        .await
        .unwrap();
    store.ingest(Scene::batch(&[stranger.message("foreign", 3)])).await.unwrap();
    let (before, elsewhere, foreign) = (
        scene.delivery(TurnId::fresh(), 0),
        scene.delivery(TurnId::fresh(), 0),
        stranger.delivery(TurnId::fresh(), 0),
    );
    let elsewhere = NewDelivery { delivery: in_room(elsewhere.delivery, "elsewhere"), ..elsewhere };
    let mut sending = elsewhere.clone();
    sending.delivery = in_room(scene.delivery(TurnId::fresh(), 0).delivery, "sending");
    sending.sending = true;
    let after = scene.delivery(TurnId::fresh(), 0);
    for delivery in [&before, &elsewhere, &foreign, &sending, &lost, &after] {
        store.enqueue(vec![delivery.clone()], Vec::new()).await.unwrap();
    }
    for (delivery, remote) in
        [(&before, "m1"), (&elsewhere, "m2"), (&foreign, "m3"), (&after, "m4")]
    {
        store
            .settle(vec![Settlement {
                remote: Some(RemoteId::new(remote)),
                ..settlement(delivery.delivery.id, OutboxState::Sent)
            }])
            .await
            .unwrap();
    }
    lost.delivery.created_at = Timestamp(i64::MAX);
    let mut context = store.read_back_context(&lost.delivery).await.unwrap();
    context.ours.sort();
    context.others.sort();
    assert_eq!(context.received.len(), 2);
    assert_ne!(context.received[0], context.received[1]);
    let mut received = context.received.clone();
    received.sort();
    assert_eq!(context.others, received, "of this account only");
    assert_eq!(context.sent, [RemoteId::new("m1")]);
    assert_eq!(context.ours, ["m1", "m2", "m4"].map(RemoteId::new));
    assert_eq!(context.outcome_unknown, [RemoteId::new("sending")]);
    assert!(!context.cut);
    lost.delivery.created_at = Timestamp(0);
    assert_eq!(
        store.read_back_context(&lost.delivery).await.unwrap().received,
        [],
        "messages received later do not belong to the context"
    );
}

/// A delivery that waited long has a read-back context too, however many messages came later.
pub async fn a_trail_reaches_back_to_what_waited_long(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let asked = scene.message("asked", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&asked))).await.unwrap();
    let record = scene.turn(&[&asked]);
    let lost = record.deliveries[0].clone();
    let before = scene.delivery(TurnId::fresh(), 0);
    let held = scene.delivery(TurnId::fresh(), 0);
    let since: Vec<_> = (0..1_500)
        .map(|n| {
            let delivery = scene.delivery(TurnId::fresh(), 0);
            NewDelivery {
                delivery: in_room(delivery.delivery, &format!("elsewhere-{n}")),
                ..delivery
            }
        })
        .collect();
    store.enqueue(vec![before.clone(), held.clone()], Vec::new()).await.unwrap();
    store.finish_turn(record).await.unwrap();
    store.enqueue(since.clone(), Vec::new()).await.unwrap();
    let sent = |delivery: &NewDelivery, n: usize| Settlement {
        remote: Some(RemoteId::new(n)),
        ..settlement(delivery.delivery.id, OutboxState::Sent)
    };
    let mut settlements: Vec<_> =
        since.iter().enumerate().map(|(n, delivery)| sent(delivery, n)).collect();
    settlements.push(sent(&before, 9_999));
    settlements.push(Settlement {
        outcome_unknown: true,
        ..settlement(held.delivery.id, OutboxState::Ambiguous)
    });
    store.settle(settlements).await.unwrap();
    let later: Vec<_> = (0..700).map(|n| scene.message(&format!("later {n}"), 2)).collect();
    store.ingest(Scene::batch(&later)).await.unwrap();
    let context = store.read_back_context(&lost.delivery).await.unwrap();
    assert_eq!(context.sent, [RemoteId::new(9_999)]);
    assert_eq!(context.ours.len(), 1_501);
    assert_eq!(context.others.len(), 701);
    assert_eq!(
        context.outcome_unknown,
        std::slice::from_ref(&lost.delivery.address.remote),
        "the earlier delivery with an unknown outcome"
    );
}

/// The read-back context follows the order of commit, whatever times the clock reported.
pub async fn a_trail_goes_by_commits_and_not_by_the_clock(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let asked = scene.message("first", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&asked))).await.unwrap();
    for (created_at, text) in [(Timestamp(i64::MAX), "second"), (Timestamp(0), "third")] {
        let question = scene.message(text, 2);
        store.ingest(Scene::batch(std::slice::from_ref(&question))).await.unwrap();
        let mut record = scene.turn(&[&question]);
        record.deliveries[0].delivery.created_at = created_at;
        let lost = record.deliveries[0].delivery.clone();
        store.finish_turn(record).await.unwrap();
        let later = scene.message("later", 3);
        store.ingest(Scene::batch(std::slice::from_ref(&later))).await.unwrap();
        let received = store.read_back_context(&lost).await.unwrap().received;
        assert!(
            received.contains(&question.remote) && !received.contains(&later.remote),
            "{received:?}"
        );
    }
}

fn in_room(mut delivery: Delivery, remote: &str) -> Delivery {
    delivery.address.room = RoomId::fresh();
    delivery.address.remote = RemoteId::new(remote);
    delivery
}

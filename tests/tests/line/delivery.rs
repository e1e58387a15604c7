//! Delivery of a committed answer to the platform.

use galatea_core::{
    Clock,
    store::{OutboxQuery, OutboxState, Resolution},
};
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
use std::{sync::Arc, time::Duration};

use crate::{
    house::{House, Plan, dm},
    models::echo,
    platform::{Doing, Platform},
};

async fn house(clock: &ManualClock) -> House {
    Plan::new(echo()).clock(clock.shared()).build().await
}

/// Advances the clock from sleep to sleep until the platform satisfies `enough`.
async fn drive(
    clock: &ManualClock,
    platform: &Platform,
    what: &str,
    enough: impl Fn(&Platform) -> bool,
) {
    let moving = async {
        loop {
            clock.wait_for_sleepers(1).await;
            clock.advance_to_next();
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = platform.until(what, enough) => {}
        () = moving => {}
    }
}

#[tokio::test]
async fn a_flood_wait_holds_that_room_only_and_exactly_as_long() {
    let clock = ManualClock::new();
    let house = house(&clock).await;
    house.platform.does("7", [Doing::Flood(Duration::from_secs(40))]);
    let id = house.say(&dm("7"), "hello").await;
    clock.wait_for_sleepers(1).await;
    house.say(&dm("8"), "hi").await;
    house.platform.until_shown("8", 1).await;
    clock.advance(Duration::from_millis(39_999));
    assert_eq!(clock.sleepers(), 1, "still waiting");
    clock.advance(Duration::from_millis(1));
    house.platform.until_shown("7", 1).await;
    house.quiet().await;
    let delivery = &house.explain(id).await.deliveries[0];
    assert_eq!(
        (delivery.state, delivery.attempts),
        (OutboxState::Sent, 1),
        "a flood wait is not a failed attempt"
    );
}

#[tokio::test]
async fn a_part_that_waits_for_the_platform_is_not_called_undelivered() {
    let clock = ManualClock::new();
    let house = house(&clock).await;
    house.platform.does("7", [Doing::Flood(Duration::from_secs(40))]);
    let id = house.say(&dm("7"), "hello").await;
    clock.wait_for_sleepers(1).await;
    let stored = async {
        loop {
            let said = house.explain(id).await;
            if said.deliveries.first().is_some_and(|d| d.error.is_some()) {
                return said;
            }
            tokio::task::yield_now().await;
        }
    };
    let said = tokio::time::timeout(crate::platform::PATIENCE, stored).await.unwrap();
    assert!(said.summary.starts_with("answered; 1 of 1 parts wait to be sent"), "{}", said.summary);
    let delivery = &said.deliveries[0];
    assert_eq!(delivery.state, OutboxState::Pending);
    assert!(
        delivery.waits_until.is_some() && delivery.error.as_deref().unwrap().contains("slow down"),
        "{delivery:?}"
    );
    clock.advance_to_next();
    house.platform.until_shown("7", 1).await;
    house.quiet().await;
    let said = house.explain(id).await;
    assert!(
        said.summary.starts_with("answered: ") && said.deliveries[0].waits_until.is_none(),
        "{said:?}"
    );
}

#[tokio::test]
async fn what_an_operator_drops_while_it_waits_is_not_sent() {
    let clock = ManualClock::new();
    let house = house(&clock).await;
    house.platform.does("7", [Doing::Flood(Duration::from_secs(40))]);
    let id = house.say(&dm("7"), "hello").await;
    clock.wait_for_sleepers(1).await;
    let waiting = async {
        loop {
            let query = OutboxQuery { states: vec![OutboxState::Pending], limit: 1 };
            if let Some(item) = house.store.outbox(&query).await.unwrap().pop() {
                return item.delivery.id;
            }
            tokio::task::yield_now().await;
        }
    };
    let delivery = tokio::time::timeout(crate::platform::PATIENCE, waiting).await.unwrap();
    // Another process with the same store drops the delivery.
    assert!(house.store.resolve(delivery, Resolution::Drop, clock.now()).await.unwrap());
    clock.advance(Duration::from_secs(40));
    house.quiet().await;
    assert_eq!((house.platform.texts("7").len(), house.platform.attempts()), (0, 1));
    let dropped = &house.explain(id).await.deliveries[0];
    assert_eq!(
        (dropped.state, dropped.error.as_deref()),
        (OutboxState::Dead, Some("dropped by the operator"))
    );
}

#[tokio::test]
async fn what_follows_a_part_that_died_stays_unsaid() {
    let house = Plan::new(Arc::new(ScriptedModel::answering(|_| {
        Ok(ScriptedModel::text("one||two||three"))
    })))
    .build()
    .await;
    house.platform.does("7", [Doing::Fine, Doing::Never]);
    let id = house.say(&dm("7"), "tell me").await;
    house.quiet().await;
    assert_eq!((house.platform.texts("7"), house.platform.attempts()), (vec!["one".to_owned()], 2));
    let said = house.explain(id).await;
    let states: Vec<_> = said.deliveries.iter().map(|d| d.state).collect();
    assert_eq!(states, [OutboxState::Sent, OutboxState::Dead, OutboxState::Dead]);
    assert!(said.deliveries[2].error.as_deref().unwrap().contains("an earlier part"), "{said:?}");
    // The next answer is independent of the dead one.
    house.say(&dm("7"), "once more").await;
    assert_eq!(house.platform.until_shown("7", 4).await[1..], ["one", "two", "three"]);
}

#[tokio::test]
async fn a_refusal_for_good_is_dead_and_explained() {
    let house = Plan::new(echo()).build().await;
    house.platform.does("7", [Doing::Never]);
    let id = house.say(&dm("7"), "hello").await;
    house.quiet().await;
    let said = house.explain(id).await;
    assert_eq!((said.deliveries[0].state, house.platform.attempts()), (OutboxState::Dead, 1));
    assert!(said.summary.contains("1 of 1 parts are not delivered"), "{}", said.summary);
    assert!(said.deliveries[0].error.as_deref().unwrap().contains("blocked by the person"));
}

#[tokio::test]
async fn an_answer_that_would_be_too_late_is_not_sent() {
    let house = Plan::new(echo()).set("ANSWER_TTL_MINUTES", "10").build().await;
    house.platform.does("7", [Doing::Flood(Duration::from_secs(20 * 60))]);
    let id = house.say(&dm("7"), "hello").await;
    house.quiet().await;
    assert_eq!(house.explain(id).await.deliveries[0].state, OutboxState::Expired);
    assert_eq!(house.platform.attempts(), 1);
}

#[tokio::test]
async fn a_lost_answer_is_looked_for_and_not_sent_twice() {
    let clock = ManualClock::new();
    let house = house(&clock).await;
    house.platform.does("7", [Doing::LostAfter]);
    let id = house.say(&dm("7"), "hello").await;
    clock.wait_for_sleepers(1).await;
    clock.advance_to_next();
    house.quiet().await;
    assert_eq!(
        (house.platform.texts("7").len(), house.platform.attempts(), house.platform.finds()),
        (1, 1, 1)
    );
    let delivery = house.explain(id).await.deliveries.remove(0);
    assert!(delivery.error.as_deref().unwrap().contains("read-back found it"), "{delivery:?}");
    assert_eq!((delivery.state, delivery.remote.unwrap().as_str()), (OutboxState::Sent, "own-1"));
}

#[tokio::test]
async fn what_is_provably_not_there_is_sent_again() {
    let clock = ManualClock::new();
    let house = house(&clock).await;
    house.platform.does("7", [Doing::LostBefore]);
    let id = house.say(&dm("7"), "hello").await;
    drive(&clock, &house.platform, "the second attempt", |p| p.texts("7").len() == 1).await;
    house.quiet().await;
    assert_eq!((house.platform.attempts(), house.platform.finds()), (2, 1));
    assert_eq!(house.explain(id).await.deliveries[0].error, None);
}

#[tokio::test]
async fn an_unknown_outcome_is_stored_with_the_delivery() {
    let clock = ManualClock::new();
    let house = house(&clock).await;
    house.platform.blind();
    house.platform.does("7", [Doing::LostBefore]);
    house.platform.does("8", [Doing::LostBefore, Doing::Never]);
    let resent = house.say(&dm("7"), "hello").await;
    drive(&clock, &house.platform, "the second attempt", |p| p.texts("7").len() == 1).await;
    let refused = house.say(&dm("8"), "hello").await;
    drive(&clock, &house.platform, "the refusal", |p| p.attempts() == 4).await;
    house.quiet().await;
    let first = house.explain(resent).await.deliveries.remove(0);
    assert_eq!(first.state, OutboxState::Sent);
    assert!(first.error.unwrap().contains("may have arrived"));
    assert_eq!(house.explain(refused).await.deliveries[0].state, OutboxState::Ambiguous);
}

#[tokio::test]
async fn an_answer_of_unknown_outcome_is_held_back_where_the_operator_wants_it() {
    let clock = ManualClock::new();
    let house =
        Plan::new(echo()).clock(clock.shared()).set("DELIVERY_WHEN_UNSURE", "hold").build().await;
    house.platform.blind();
    house.platform.does("7", [Doing::LostBefore]);
    let id = house.say(&dm("7"), "hello").await;
    drive(&clock, &house.platform, "the look", |p| p.finds() == 1).await;
    house.quiet().await;
    assert_eq!(house.platform.attempts(), 1);
    let row = house.explain(id).await.deliveries.remove(0);
    assert_eq!(row.state, OutboxState::Ambiguous);
    assert!(row.error.unwrap().contains("DELIVERY_WHEN_UNSURE"));
}

#[tokio::test]
async fn a_crashing_connector_costs_one_attempt() {
    let clock = ManualClock::new();
    let house = house(&clock).await;
    house.platform.does("7", [Doing::Panic]);
    house.say(&dm("7"), "hello").await;
    drive(&clock, &house.platform, "the second attempt", |p| p.texts("7").len() == 1).await;
    house.quiet().await;
    house.say(&dm("7"), "again").await;
    house.platform.until_shown("7", 2).await;
}

#[tokio::test]
async fn waiting_for_a_broken_platform_uses_up_no_attempts() {
    let clock = ManualClock::new();
    let house = house(&clock).await;
    house.platform.does("7", vec![Doing::Unavailable; 6]);
    house.say(&dm("7"), "hello").await;
    drive(&clock, &house.platform, "five failures", |p| p.attempts() >= 5).await;
    let rooms = ["20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31"];
    let mut ids = Vec::new();
    for room in rooms {
        ids.push(house.say(&dm(room), "me too").await);
    }
    drive(&clock, &house.platform, "every room", |p| {
        p.texts("7").len() == 1 && rooms.iter().all(|room| p.texts(room).len() == 1)
    })
    .await;
    house.quiet().await;
    for id in ids {
        assert_eq!(house.explain(id).await.deliveries[0].attempts, 1);
    }
}

#[tokio::test]
async fn parts_keep_their_order_when_one_has_to_wait() {
    let clock = ManualClock::new();
    let model = Arc::new(ScriptedModel::saying("one||two||three"));
    let house = Plan::new(model).clock(clock.shared()).build().await;
    house.platform.does("7", [Doing::Fine, Doing::Unavailable, Doing::Unavailable]);
    house.say(&dm("7"), "tell me").await;
    drive(&clock, &house.platform, "three parts", |p| p.texts("7").len() == 3).await;
    assert_eq!(house.platform.texts("7"), ["one", "two", "three"]);
}

#[tokio::test]
async fn an_answer_that_cannot_be_shown_is_said_and_not_lost() {
    let model = Arc::new(ScriptedModel::new());
    for answer in ["UNENCODABLE", "UNENCODABLE", "fine"] {
        model.enqueue(answer);
    }
    let house = Plan::new(model).build().await;
    let id = house.say(&dm("7"), "hello").await;
    assert!(house.platform.until_shown("7", 1).await[0].starts_with("Sorry"));
    house.quiet().await;
    assert!(house.explain(id).await.summary.starts_with("given up: this cannot be shown here"));
    // The room got a failure notice a moment ago, so this message gets none.
    house.say(&dm("7"), "hello?").await;
    house.quiet().await;
    house.say(&dm("7"), "and now?").await;
    assert_eq!(house.platform.until_shown("7", 2).await[1], "fine");
}

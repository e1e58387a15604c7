//! Rooms whose platform id changes.

use galatea_core::{
    Incoming, IncomingEvent, ParticipantState, RemoteId,
    store::{InboxState, MemoryQuery},
};
use galatea_testkit::store_suite::fixtures::set_participant_state;
use std::sync::Arc;

use crate::{
    house::{House, Plan, group},
    models::{Gated, echo},
};

async fn moves(house: &House, from: &'static str, to: &'static str) {
    let mut connection = group(from, "7").connection();
    connection.entity = None;
    house
        .receive(vec![Incoming {
            connection,
            event: IncomingEvent::RoomMoved { to: RemoteId::new(to) },
            at: house.clock.now(),
        }])
        .await;
}

#[tokio::test]
async fn a_moved_room_keeps_its_history_and_its_switches() {
    let model = echo();
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    let (old, new) = (group("-5", "7").mentioning(), group("-1005", "7").mentioning());
    house.say(&old, "before the move").await;
    house.quiet().await;
    let (room, followed) = (house.room(&old), Some(ParticipantState::Followed));
    let itself = house.identity.entity();
    set_participant_state(&*house.store, house.agent, room, itself, followed).await;
    moves(&house, "-5", "-1005").await;
    assert_eq!(house.store.room(house.room(&old)).await.unwrap(), None);
    assert_eq!(
        house.store.participant_state(house.room(&new), house.identity.entity()).await.unwrap(),
        Some(ParticipantState::Followed)
    );
    house.say(&new, "after the move").await;
    house.platform.until_shown("-1005", 1).await;
    let last = model.requests().pop().unwrap();
    assert!(last.messages.iter().any(|m| m.text().contains("before the move")));
    house.quiet().await;
    let query = MemoryQuery::new(house.agent, 10).room(house.room(&new));
    assert_eq!(house.store.memories(&query).await.unwrap().len(), 4);
}

#[tokio::test]
async fn messages_that_wait_while_their_room_moves_are_answered_in_the_new_one() {
    let model = Gated::new(echo(), "slow");
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    let old = group("-5", "7").mentioning();
    house.say(&old, "slow").await;
    model.reached(1).await;
    let mut waiting = Vec::new();
    for n in 0..3 {
        waiting.push(house.say(&old, &format!("waiting {n}")).await);
    }
    moves(&house, "-5", "-1005").await;
    model.open(1);
    let texts = house.platform.until_shown("-1005", 4).await;
    assert_eq!(texts, ["re: slow", "re: waiting 0", "re: waiting 1", "re: waiting 2"]);
    house.quiet().await;
    for id in waiting {
        assert_eq!(house.explain(id).await.state, InboxState::Done);
    }
}

//! Parts of an account that no connector has.

use galatea_core::{
    Account, DeliveryId, Timestamp, TurnId,
    store::{NewDelivery, OutboxState},
};
use std::time::Duration;

use crate::{
    house::{Plan, dm},
    models::echo,
    platform::PATIENCE,
};

#[tokio::test]
async fn a_part_of_an_account_without_a_connector_expires_with_the_reason() {
    let mut plan = Plan::new(echo());
    plan.reconcile_every = Duration::from_millis(5);
    let house = plan.build().await;
    let known = house.say(&dm("7"), "one").await;
    house.platform.until_shown("7", 1).await;
    house.quiet().await;
    let turn = house.store.inbox_item(known).await.unwrap().unwrap().turn.unwrap();
    let sent = house.store.deliveries_of(turn).await.unwrap().remove(0).delivery;
    let now = house.clock.now();
    let part = |expires: i64| {
        let mut delivery = sent.clone();
        (delivery.id, delivery.turn) = (DeliveryId::fresh(), TurnId::fresh());
        delivery.key = delivery.id.to_string();
        delivery.address.account = Account("gone".to_owned());
        let expires = Some(Timestamp(now.0 + expires));
        NewDelivery { delivery, memory: None, sending: false, delivered: false, expires }
    };
    let (old, new) = (part(-3_600_000), part(3_600_000));
    let ids = [old.delivery.id, new.delivery.id];
    house.store.enqueue(vec![old, new], Vec::new()).await.unwrap();
    let item = async |id| house.store.outbox_item(id).await.unwrap().unwrap();
    let ended = async {
        while item(ids[0]).await.state == OutboxState::Pending {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, ended).await.is_ok(), "it waits for ever");
    let old = item(ids[0]).await;
    assert_eq!(old.state, OutboxState::Expired);
    let why = old.error.unwrap_or_default();
    assert!(why.contains("account gone") && why.contains("too old"), "{why}");
    assert_eq!(item(ids[1]).await.state, OutboxState::Pending, "its connector may still come");
    assert_eq!(house.platform.texts("7"), ["re: one"]);
}

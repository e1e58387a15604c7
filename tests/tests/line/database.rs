//! Failures of PostgreSQL: it commits a change, loses its answer and is away for longer than the
//! store waits for it; it refuses a change; or its Rooms move to another process and back.

use galatea_core::{
    Account, Address, Batch, Content, Error, Outgoing, RemoteId, SecretString,
    store::{AuditStore, LeaseStore},
};
use galatea_store::{Database as Stored, PostgresOptions};
use galatea_testkit::{
    models::ScriptedModel,
    postgres::{Database, Obstacle, Proxy},
};
use std::{sync::Arc, time::Duration};

use crate::{
    house::{House, Plan, dm, is_open},
    models::{Gated, echo},
    platform::{PATIENCE, SOURCE},
};

/// Time that the store tries to find out whether a change was committed.
const BOUND: Duration = Duration::from_millis(200);

async fn open(url: &str) -> Stored {
    let options = PostgresOptions { settle_within: BOUND, ..PostgresOptions::default() };
    Stored::postgres(&SecretString::from(url), options).await.unwrap()
}

/// True if all work is done. Uses a connection of its own, because the proxy counts every answer.
async fn is_quiet(house: &House, beside: &Stored) -> bool {
    !is_open(beside).await && house.orchestrator.active_lanes() == (0, 0)
}

async fn until(what: &str, house: &House, enough: impl AsyncFn() -> bool) {
    let waiting = async {
        while !enough().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(
        tokio::time::timeout(PATIENCE, waiting).await.is_ok(),
        "never happened: {what}; shown: {:?}",
        house.platform.texts("7")
    );
}

/// Waits until an answer is lost, and then keeps the database away for a while. Returns false when
/// all work is done without a lost answer.
async fn away(house: &House, proxy: &Proxy, done: impl AsyncFn() -> bool) -> bool {
    until("an answer to be lost, or all to be done", house, async || {
        !proxy.is_losing() || done().await
    })
    .await;
    let lost = !proxy.is_losing();
    if lost {
        // The length of the outage is under test: longer than the store asks for the outcome, on
        // the same clock.
        tokio::time::sleep(BOUND * 4).await;
    }
    proxy.open();
    lost
}

/// Loses each answer of the database in turn while two stored messages are processed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whichever_answer_is_lost_before_a_long_outage_nothing_is_lost_doubled_or_overtaken() {
    let database = Database::fresh().await;
    let proxy = Proxy::start(&database).await;
    let beside = open(&database.url()).await;
    // Periodic reconciling is off, because it could hide a fault.
    let house =
        Plan::new(echo()).set("BUSY_POLICY", "each").store(&open(proxy.url()).await).build().await;
    let (spot, mut said) = (dm("7"), Vec::new());
    let all_said = async |said: &[String]| {
        house.platform.texts("7").len() >= said.len() && is_quiet(&house, &beside).await
    };
    for nth in 0.. {
        let texts = [format!("{nth}a"), format!("{nth}b")];
        let messages = texts.each_ref().map(|text| house.message(&spot, text));
        said.extend(texts.map(|text| format!("re: {text}")));
        house.receive(messages.into()).await;
        if nth > 0 {
            proxy.lose_and_shut(nth);
        }
        let lost = nth > 0 && away(&house, &proxy, async || all_said(&said).await).await;
        until("all to be said", &house, async || all_said(&said).await).await;
        assert_eq!(house.platform.texts("7"), said, "with answer {nth} lost");
        if nth > 0 && !lost {
            break;
        }
    }
    assert!(said.len() > 6, "an exchange takes more answers than that: {said:?}");
    let line = beside.audit().await.unwrap().remove(0);
    assert!(
        line.balances() && line.received == said.len() as u64 && line.answered == line.received,
        "{line:?}"
    );
}

/// A message whose call succeeded is sent once; one whose call failed is not sent at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_send_before_a_long_outage_has_the_reported_outcome() {
    let database = Database::fresh().await;
    let proxy = Proxy::start(&database).await;
    let beside = open(&database.url()).await;
    let house = Plan::new(echo()).store(&open(proxy.url()).await).build().await;
    let spot = dm("7");
    house.say(&spot, "hello").await;
    until("the first answer", &house, async || {
        house.platform.texts("7").len() == 1 && is_quiet(&house, &beside).await
    })
    .await;
    let address = Address {
        source: SOURCE,
        account: Account("1000".into()),
        room: house.room(&spot),
        remote: RemoteId::new("7"),
    };
    let mut said = house.platform.texts("7");
    for nth in 1.. {
        let text = format!("by the way, {nth}");
        let outgoing = Outgoing::Message { content: Content::text(text.clone()), reply_to: None };
        proxy.lose_and_shut(nth);
        let shown =
            async || house.platform.texts("7").contains(&text) && is_quiet(&house, &beside).await;
        let (outcome, lost) = tokio::join!(
            house.orchestrator.send_message_to_target(house.agent, &address, outgoing),
            away(&house, &proxy, shown)
        );
        if outcome.is_ok() {
            said.push(text.clone());
        }
        until("the end of it", &house, async || {
            house.platform.texts("7").len() >= said.len() && is_quiet(&house, &beside).await
        })
        .await;
        assert_eq!(house.platform.texts("7"), said, "with answer {nth} lost: {outcome:?}");
        if !lost {
            return;
        }
    }
}

/// The message is stored, but `receive` returns an error. The connector delivers it again, and it
/// is still answered before the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_whose_confirmation_is_lost_is_not_overtaken() {
    let database = Database::fresh().await;
    let proxy = Proxy::start(&database).await;
    let beside = open(&database.url()).await;
    let house =
        Plan::new(echo()).set("BUSY_POLICY", "each").store(&open(proxy.url()).await).build().await;
    let (spot, mut said) = (dm("7"), Vec::new());
    house.say(&spot, "hello").await;
    until("the first answer", &house, async || {
        house.platform.texts("7").len() == 1 && is_quiet(&house, &beside).await
    })
    .await;
    said.extend(house.platform.texts("7"));
    let mut refused = 0;
    for nth in 1..=4 {
        let texts = [format!("{nth}a"), format!("{nth}b")];
        let [first, second] = texts.each_ref().map(|text| house.message(&spot, text));
        said.extend(texts.map(|text| format!("re: {text}")));
        proxy.lose_and_shut(nth);
        while house
            .gateway
            .receive(Batch { events: vec![first.clone()], ..Batch::default() })
            .await
            .is_err()
        {
            refused += 1;
            proxy.open();
        }
        proxy.open();
        while house
            .gateway
            .receive(Batch { events: vec![second.clone()], ..Batch::default() })
            .await
            .is_err()
        {}
        until("both to be said", &house, async || {
            house.platform.texts("7").len() == said.len() && is_quiet(&house, &beside).await
        })
        .await;
        assert_eq!(house.platform.texts("7"), said, "with answer {nth} lost");
    }
    assert!(refused > 0, "no confirmation was lost");
}

/// The failure notice is sent once, although the first attempt to store it failed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_notice_that_was_not_stored_is_said_later() {
    let database = Database::fresh().await;
    let beside = open(&database.url()).await;
    let broken = Arc::new(ScriptedModel::answering(|_| Err(Error::invalid("no model"))));
    let house =
        Plan::new(broken).set("MODEL_NOTICE", "Later, please.").store(&beside).build().await;
    let mut obstacle = Obstacle::set(&database, &["done", "skipped", "dead"]).await;
    house.say(&dm("7"), "hello").await;
    patient("the notice to be stored", obstacle.reached()).await;
    obstacle.remove().await;
    until("all to be done", &house, async || is_quiet(&house, &beside).await).await;
    assert_eq!(house.platform.texts("7"), ["Later, please."]);
    house.say(&dm("7"), "and now?").await;
    until("all to be done", &house, async || is_quiet(&house, &beside).await).await;
    assert_eq!(house.platform.texts("7"), ["Later, please."], "once is enough");
}

/// A message whose skip is not yet committed when its Room moves to another process is answered
/// when the Room comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_being_dropped_when_its_room_was_lost_is_taken_up_again() {
    let database = Database::fresh().await;
    let beside = open(&database.url()).await;
    let model = Gated::new(echo(), "first");
    let house = Plan::new(Arc::clone(&model) as _)
        .set("BUSY_POLICY", "drop")
        .store(&open(&database.url()).await)
        .among_others()
        .build()
        .await;
    let turns = async |n: usize| house.orchestrator.active_lanes().0 == n;
    house.say(&dm("7"), "first").await;
    model.reached(1).await;
    house.say(&dm("7"), "second").await;
    let mut obstacle = Obstacle::set(&database, &["skipped"]).await;
    model.open(1);
    assert_eq!(house.platform.until_shown("7", 1).await, ["re: first"]);
    patient("the second to be dropped", obstacle.reached()).await;
    database.take_rooms(true).await;
    until("the turn to end", &house, async || turns(0).await).await;
    obstacle.remove().await;
    database.take_rooms(false).await;
    assert_eq!(house.platform.until_shown("7", 2).await, ["re: first", "re: second"]);
    until("all to be done", &house, async || is_quiet(&house, &beside).await).await;
}

/// Otherwise the lease would be renewed for ever without any work being done under it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_nothing_was_begun_under_is_given_back() {
    let database = Database::fresh().await;
    let beside = open(&database.url()).await;
    let _house = Plan::new(echo()).store(&open(&database.url()).await).among_others().build().await;
    let holds_all = async || {
        beside.leases().await.unwrap().iter().filter(|lease| lease.member.is_some()).count() > 64
    };
    let all = async {
        while !holds_all().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    patient("its rooms and its account to be taken", all).await;
    database.give_unasked("elsewhere:1").await;
    let is_free = async || {
        beside
            .leases()
            .await
            .unwrap()
            .iter()
            .any(|lease| lease.lease.part.0 == "elsewhere:1" && lease.member.is_none())
    };
    let free = async {
        while !is_free().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    patient("the release of the lease", free).await;
    assert!(holds_all().await, "and the others are not");
}

async fn patient(what: &str, waiting: impl Future<Output = ()>) {
    assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "never happened: {what}");
}

//! A PostgreSQL that takes a change, loses its answer and is away for longer than the store waits for one.

use galatea_core::{
    Account, Address, Batch, Content, Outgoing, RemoteId, SecretString,
    store::{AuditStore, InboxState, InboxStore, OutboxStore},
};
use galatea_store_postgres::{PostgresOptions, PostgresStore};
use galatea_testkit::postgres::{Database, Proxy};
use std::time::Duration;

use crate::{
    house::{House, Plan, dm},
    models::echo,
    platform::{PATIENCE, SOURCE},
};

/// How long the store tries to learn what became of a change.
const BOUND: Duration = Duration::from_millis(200);

async fn open(url: &str) -> PostgresStore {
    let options = PostgresOptions { settle_within: BOUND, ..PostgresOptions::default() };
    PostgresStore::open(&SecretString::from(url), options).await.unwrap()
}

/// Asked by a way of its own, since every answer counts.
async fn is_quiet(house: &House, beside: &PostgresStore) -> bool {
    let waits = beside.inbox_counts().await.unwrap().iter().any(|(_, state, n)| *state == InboxState::New && *n > 0);
    let goes_out = beside.outbox_counts().await.unwrap().iter().any(|(_, state, n)| state.is_open() && *n > 0);
    !waits && !goes_out && house.orchestrator.active_lanes() == (0, 0)
}

async fn until(what: &str, house: &House, enough: impl AsyncFn() -> bool) {
    let waiting = async {
        while !enough().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "never happened: {what}; shown: {:?}", house.platform.texts("7"));
}

/// Lets time pass without a database once an answer is lost. False when all is done with none lost.
async fn away(house: &House, proxy: &Proxy, done: impl AsyncFn() -> bool) -> bool {
    until("an answer to be lost, or all to be done", house, async || !proxy.is_losing() || done().await).await;
    let lost = !proxy.is_losing();
    if lost {
        tokio::time::sleep(BOUND * 4).await;
    }
    proxy.open();
    lost
}

/// Each answer of the database to what follows from two messages that are stored is lost in turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whichever_answer_is_lost_before_a_long_outage_nothing_is_lost_doubled_or_overtaken() {
    let database = Database::fresh().await;
    let proxy = Proxy::start(&database).await;
    let beside = open(&database.url()).await;
    // Nobody looks around, which would help by luck.
    let house = Plan::new(echo()).set("BUSY_POLICY", "each").store(&open(proxy.url()).await).build().await;
    let (spot, mut said) = (dm("7"), Vec::new());
    let all_said = async |said: &[String]| house.platform.texts("7").len() >= said.len() && is_quiet(&house, &beside).await;
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
    assert!(line.balances() && line.received == said.len() as u64 && line.answered == line.received, "{line:?}");
}

/// What is confirmed to whoever says it is said once; what is refused is not said at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_elsewhere_before_a_long_outage_is_said_as_it_was_told() {
    let database = Database::fresh().await;
    let proxy = Proxy::start(&database).await;
    let beside = open(&database.url()).await;
    let house = Plan::new(echo()).store(&open(proxy.url()).await).build().await;
    let spot = dm("7");
    house.say(&spot, "hello").await;
    until("the first answer", &house, async || house.platform.texts("7").len() == 1 && is_quiet(&house, &beside).await).await;
    let address = Address { source: SOURCE, account: Account("1000".into()), room: house.room(&spot), remote: RemoteId::new("7") };
    let mut said = house.platform.texts("7");
    for nth in 1.. {
        let text = format!("by the way, {nth}");
        let outgoing = Outgoing::Message { content: Content::text(text.clone()), reply_to: None };
        proxy.lose_and_shut(nth);
        let shown = async || house.platform.texts("7").contains(&text) && is_quiet(&house, &beside).await;
        let (told, lost) = tokio::join!(house.orchestrator.send_message_to_target(house.agent, &address, outgoing), away(&house, &proxy, shown));
        if told.is_ok() {
            said.push(text.clone());
        }
        until("the end of it", &house, async || house.platform.texts("7").len() >= said.len() && is_quiet(&house, &beside).await).await;
        assert_eq!(house.platform.texts("7"), said, "with answer {nth} lost: {told:?}");
        if !lost {
            return;
        }
    }
}

/// Stored, though whoever received it is told otherwise: it comes again, and still goes before what follows it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_whose_confirmation_is_lost_is_not_overtaken() {
    let database = Database::fresh().await;
    let proxy = Proxy::start(&database).await;
    let beside = open(&database.url()).await;
    let house = Plan::new(echo()).set("BUSY_POLICY", "each").store(&open(proxy.url()).await).build().await;
    let (spot, mut said) = (dm("7"), Vec::new());
    house.say(&spot, "hello").await;
    until("the first answer", &house, async || house.platform.texts("7").len() == 1 && is_quiet(&house, &beside).await).await;
    said.extend(house.platform.texts("7"));
    let mut refused = 0;
    for nth in 1..=4 {
        let texts = [format!("{nth}a"), format!("{nth}b")];
        let [first, second] = texts.each_ref().map(|text| house.message(&spot, text));
        said.extend(texts.map(|text| format!("re: {text}")));
        proxy.lose_and_shut(nth);
        while house.gateway.receive(Batch { events: vec![first.clone()], cursor: None }).await.is_err() {
            refused += 1;
            proxy.open();
        }
        proxy.open();
        while house.gateway.receive(Batch { events: vec![second.clone()], cursor: None }).await.is_err() {}
        until("both to be said", &house, async || house.platform.texts("7").len() == said.len() && is_quiet(&house, &beside).await).await;
        assert_eq!(house.platform.texts("7"), said, "with answer {nth} lost");
    }
    assert!(refused > 0, "no confirmation was lost");
}

//! Several processes without ticks: each process must notice at once what the others store or
//! release, not at the next periodic reconcile.

mod limits;

use galatea_core::{
    SecretString, Source,
    store::{LeaseStore, ProcessRole},
};
use galatea_runtime::Orchestrator;
use galatea_store::{Database as Stored, PostgresOptions};
use galatea_testkit::postgres::Database;
use std::{collections::BTreeMap, time::Duration};

use crate::{
    house::{Plan, dm},
    models::{Gated, echo},
    mutations::edit,
    platform::{PATIENCE, Platform},
};

pub(crate) async fn open(database: &Database) -> Stored {
    Stored::postgres(&SecretString::from(database.url()), PostgresOptions::default()).await.unwrap()
}

/// Number of leases each member holds, the account's included.
async fn held(store: &Stored) -> BTreeMap<Option<String>, usize> {
    let mut held = BTreeMap::new();
    for lease in store.leases().await.unwrap() {
        *held.entry(lease.member.map(|member| member.to_string())).or_default() += 1;
    }
    held
}

pub(crate) async fn until_held(what: &str, store: &Stored, mut wanted: Vec<usize>) {
    wanted.sort_unstable();
    let held_so = async || {
        let held = held(store).await;
        let mut counts: Vec<usize> = held.values().copied().collect();
        counts.sort_unstable();
        !held.contains_key(&None) && counts == wanted
    };
    let waiting = async {
        while !held_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(
        tokio::time::timeout(PATIENCE, waiting).await.is_ok(),
        "never happened: {what}: {:?}",
        held(store).await
    );
}

/// The worker starts alone, and a process that is alone polls only once an hour.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_begins_to_answer_looks_for_what_others_store() {
    let database = Database::fresh().await;
    let (worker, _) = Plan::new(echo())
        .store(&open(&database).await)
        .without_ticks(ProcessRole::Worker)
        .begin()
        .await;
    let house = Plan::new(echo())
        .store(&open(&database).await)
        .without_ticks(ProcessRole::Ingress)
        .build()
        .await;
    until_held("the rooms and the account to be taken", &open(&database).await, vec![64, 1]).await;
    house.say(&dm("7"), "hello").await;
    assert_eq!(house.platform.until_shown("7", 1).await, ["re: hello"]);
    worker.stop(PATIENCE).await;
}

/// One process stores the edit, another one makes the answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_reaches_the_process_that_makes_the_answer() {
    let database = Database::fresh().await;
    let model = Gated::new(echo(), "old words");
    let worker = Plan { models: crate::models::all(model.clone()), ..Plan::new(echo()) };
    let (worker, _) =
        worker.store(&open(&database).await).without_ticks(ProcessRole::Worker).begin().await;
    let house = Plan::new(echo())
        .store(&open(&database).await)
        .without_ticks(ProcessRole::Ingress)
        .build()
        .await;
    until_held("the rooms and the account to be taken", &open(&database).await, vec![64, 1]).await;
    house.say(&dm("7"), "old words").await;
    model.reached(1).await;
    house.receive(vec![edit(&house, &dm("7"), "7-1", "new words")]).await;
    assert_eq!(house.platform.until_shown("7", 1).await, ["re: new words"]);
    model.open(2);
    worker.stop(PATIENCE).await;
}

/// No tick happens and no lease expires: the processes act only on the database's notice that a
/// member joined or left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_handed_over_on_purpose_is_taken_at_once() {
    let database = Database::fresh().await;
    let store = open(&database).await;
    let house = Plan::new(echo())
        .store(&open(&database).await)
        .without_ticks(ProcessRole::Ingress)
        .build()
        .await;
    let worker = async || {
        Plan::new(echo())
            .store(&open(&database).await)
            .without_ticks(ProcessRole::Worker)
            .begin()
            .await
            .0
    };
    let first = worker().await;
    until_held("one worker to answer everywhere", &store, vec![64, 1]).await;
    let second = worker().await;
    until_held("two workers with half each", &store, vec![32, 32, 1]).await;
    house.say(&dm("7"), "one").await;
    house.say(&dm("8"), "two").await;
    assert_eq!(house.platform.until_shown("7", 1).await, ["re: one"]);
    assert_eq!(house.platform.until_shown("8", 1).await, ["re: two"]);
    first.stop(PATIENCE).await;
    until_held("the second to answer everywhere", &store, vec![64, 1]).await;
    house.say(&dm("7"), "three").await;
    assert_eq!(house.platform.until_shown("7", 2).await, ["re: one", "re: three"]);
    second.stop(PATIENCE).await;
}

/// A long answer does not delay the hand-over of an account: an answer committed later is sent by
/// the account's new owner.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_does_not_wait_for_the_answers_of_a_process_that_stops() {
    let database = Database::fresh().await;
    let store = open(&database).await;
    let model = Gated::new(echo(), "hello");
    let old = Plan { models: crate::models::all(model.clone()), ..Plan::new(echo()) };
    let old = old.store(&open(&database).await).among_others().build().await;
    old.say(&dm("7"), "hello").await;
    model.reached(1).await;
    let new = Plan::new(echo()).store(&open(&database).await).among_others();
    let new = tokio::spawn(new.build());
    let company = async {
        while held(&store).await.len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(
        tokio::time::timeout(PATIENCE, company).await.is_ok(),
        "a second process with a part of the rooms"
    );
    let stopping = old.orchestrator.stop(PATIENCE);
    let new = async {
        let new = tokio::time::timeout(PATIENCE / 2, new).await;
        model.open(1);
        new.expect("the account comes while the turn goes on").unwrap()
    };
    let (stopped, new) = tokio::join!(stopping, new);
    assert!(stopped);
    assert_eq!(new.platform.until_shown("7", 1).await, ["re: hello"]);
    new.orchestrator.stop(PATIENCE).await;
}

/// A worker of another platform, as one whose owner gave it no login of the first.
fn elsewhere() -> Plan {
    Plan::new(echo()).on(Platform::of(Source::new("elsewhere"), "2000", |_| {}))
}

/// The worker knows neither token nor settings of the account. It thinks and encodes, and the
/// process that has the login sends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_answers_for_an_account_whose_login_another_process_has() {
    let database = Database::fresh().await;
    let store = open(&database).await;
    let stage = Platform::new("1000");
    let worker = Plan { encoders: stage.encoders(), ..elsewhere() };
    let (worker, agent) =
        worker.store(&open(&database).await).without_ticks(ProcessRole::Worker).begin().await;
    until_held("one worker to answer everywhere", &store, vec![64]).await;
    let house = Plan::new(echo())
        .on(stage)
        .store(&open(&database).await)
        .without_ticks(ProcessRole::Ingress)
        .build()
        .await;
    for room in ["7", "8", "9"] {
        house.say(&dm(room), "hello").await;
        assert_eq!(house.platform.until_shown(room, 1).await, ["re: hello"]);
    }
    let work = worker.shared_work();
    assert!(work[0].known.iter().any(|part| part.0 == format!("stage:{agent}:1000")), "{work:?}");
    worker.stop(PATIENCE).await;
}

/// Waits until this process answers everywhere.
async fn until_all_rooms_are_of(process: &Orchestrator, store: &Stored) {
    let member = process.member().unwrap().to_string();
    let waiting = async {
        while held(store).await.get(&Some(member.clone())) != Some(&64) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(
        tokio::time::timeout(PATIENCE, waiting).await.is_ok(),
        "{member} never got all rooms: {:?}",
        held(store).await
    );
}

/// A process that cannot write for an account leaves the Rooms to one that can: nothing waits
/// where none could answer. The other account counts only while a process connects it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_claims_only_rooms_that_it_can_answer_in() {
    let database = Database::fresh().await;
    let store = open(&database).await;
    let (unable, _) =
        elsewhere().store(&open(&database).await).without_ticks(ProcessRole::Worker).begin().await;
    until_held("one worker to answer everywhere", &store, vec![64]).await;
    let house = Plan::new(echo())
        .store(&open(&database).await)
        .without_ticks(ProcessRole::Ingress)
        .build()
        .await;
    let rooms = ["7", "8", "9", "10", "11", "12"];
    for room in rooms {
        house.say(&dm(room), "one").await;
    }
    let (able, _) = Plan::new(echo())
        .store(&open(&database).await)
        .without_ticks(ProcessRole::Worker)
        .begin()
        .await;
    until_all_rooms_are_of(&able, &store).await;
    for room in rooms {
        assert_eq!(house.platform.until_shown(room, 1).await, ["re: one"]);
    }

    // Now each of the two cannot write for one of the accounts.
    let (ingress, _) =
        elsewhere().store(&open(&database).await).without_ticks(ProcessRole::Ingress).begin().await;
    until_held("each to answer for its account", &store, vec![32, 32, 1, 1]).await;
    ingress.stop(PATIENCE).await;
    until_all_rooms_are_of(&able, &store).await;
    for room in rooms {
        house.say(&dm(room), "two").await;
        assert_eq!(house.platform.until_shown(room, 2).await, ["re: one", "re: two"]);
    }
    able.stop(PATIENCE).await;
    unable.stop(PATIENCE).await;
}

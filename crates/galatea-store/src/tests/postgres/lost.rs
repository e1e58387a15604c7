//! Lost servers and lost answers: the store recovers by itself and reports the true result of what
//! was in flight.

use super::{open, open_at};
use galatea_core::{
    AgentId, ErrorKind, MemberId, Retry, Sent,
    store::{
        AuditStore, InboxState, InboxStore, Lease, LeaseStore, MemoryQuery, MemoryStore,
        OutboxStore, Partition,
    },
};
use galatea_testkit::{
    postgres::{Database, Proxy, Server},
    store_suite::fixtures::Scene,
};
use secrecy::SecretString;
use std::time::Duration;

use crate::{Database as Store, PostgresOptions};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_stopped_and_started_is_used_again() {
    let server = tokio::task::spawn_blocking(Server::private).await.unwrap();
    let database = Database::on(server.clone()).await;
    let store = open(&database).await;
    let scene = Scene::new();
    assert_eq!(
        store.ingest(Scene::batch(&[scene.message("before", 1)])).await.unwrap().new,
        [true]
    );
    // Several sessions of the pool are there to die.
    futures::future::join_all((0..8).map(|_| store.audit())).await;
    let stop = server.clone();
    tokio::task::spawn_blocking(move || stop.stop()).await.unwrap();

    let query = MemoryQuery::new(scene.agent, 10);
    let read = store.count_memories(&query).await.unwrap_err();
    assert_eq!(
        (read.code(), read.kind(), read.retry()),
        (Some("GAL-DB-HOST"), ErrorKind::Unavailable, Retry::Soon),
        "{}",
        read.report()
    );
    assert!(!read.report().contains(server.password()));
    let (message, start) = (scene.message("while it is down", 2), server.clone());
    let waiting = store.ingest(Scene::batch(&[message]));
    let (new, started) = tokio::join!(waiting, tokio::task::spawn_blocking(move || start.start()));
    started.unwrap();
    assert_eq!(
        new.unwrap().new,
        [true],
        "what was handed over just before is carried out when the server is back"
    );
    assert_eq!(store.ingest(Scene::batch(&[scene.message("after", 3)])).await.unwrap().new, [true]);
    assert_eq!(store.count_memories(&query).await.unwrap(), 3);
    drop(database);
    tokio::task::spawn_blocking(move || server.end()).await.unwrap();
}

/// The server commits, and the answer does not arrive: the cut lies between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_was_lost_is_known_for_what_it_was() {
    let database = Database::fresh().await;
    let proxy = Proxy::start(&database).await;
    let store = open_at(proxy.url()).await.unwrap();
    let scene = Scene::new();
    let messages = [scene.message("a", 1), scene.message("b", 2)];
    store.ingest(Scene::batch(&messages[..1])).await.unwrap();

    proxy.lose(1);
    let new = store.ingest(Scene::batch(&messages)).await.unwrap();
    assert!(!proxy.is_losing(), "the answer was lost");
    assert_eq!(new.new, [false, true], "it is still new to the caller, and another's is not");
    assert_eq!(store.unfinished_in_room(scene.room, 10).await.unwrap().len(), 2);

    let record = scene.turn(&[&messages[0], &messages[1]]);
    proxy.lose(1);
    store.finish_turn(record.clone()).await.unwrap();
    assert!(!proxy.is_losing(), "the answer was lost");
    assert_eq!(store.deliveries_of(record.turn).await.unwrap().len(), 1);
    assert_eq!(
        store.inbox_item(messages[1].memory.id).await.unwrap().unwrap().state,
        InboxState::Done
    );
    let other = scene.turn(&[&messages[0]]);
    proxy.lose(1);
    assert_eq!(
        store.finish_turn(other).await.unwrap_err().kind(),
        ErrorKind::Conflict,
        "another process's turn stays a conflict"
    );
}

/// On a machine that was paused the first attempt alone takes longer than the store tries: the
/// commit may stand, and its caller must not learn that it does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_was_lost_too_late_to_ask_again_may_stand() {
    let database = Database::fresh().await;
    let proxy = Proxy::start(&database).await;
    let options = PostgresOptions { settle_within: Duration::ZERO, ..PostgresOptions::default() };
    let store = Store::postgres(&SecretString::from(proxy.url()), options).await.unwrap();
    let scene = Scene::new();
    // From here on the statement is prepared: the next answer is the commit's.
    store.ingest(Scene::batch(&[scene.message("before", 1)])).await.unwrap();
    let message = scene.message("a", 2);
    proxy.lose(1);
    let error = store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap_err();
    assert!(!proxy.is_losing(), "the answer was lost");
    assert_eq!((error.kind(), error.sent()), (ErrorKind::Unavailable, Sent::Maybe));
    assert!(store.inbox_item(message.memory.id).await.unwrap().is_some(), "it stands");
}

/// Whichever answer on the way is lost. A partition claimed without a reply would stay with a
/// member that does not use it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_whose_answer_was_lost_tells_all_that_is_held() {
    let database = Database::fresh().await;
    let proxy = Proxy::start(&database).await;
    let (store, other) = (open_at(proxy.url()).await.unwrap(), open(&database).await);
    let (here, there, long) = (MemberId::fresh(), MemberId::fresh(), Duration::from_secs(600));
    let mut lost = 0;
    for nth in 1..=6 {
        // Every statement has been prepared by now, so there are few answers.
        store.claim(here, &Partition::all_rooms(AgentId::fresh()), 1, long).await.unwrap();
        let parts = Partition::all_rooms(AgentId::fresh());
        other.claim(there, &parts, 16, long).await.unwrap();
        proxy.lose(nth);
        let claimed = store.claim(here, &parts, 16, long).await.unwrap();
        lost += usize::from(!proxy.is_losing());
        proxy.open();
        let held = other
            .leases()
            .await
            .unwrap()
            .into_iter()
            .filter(|lease| lease.member == Some(here) && parts.contains(&lease.lease.part));
        let mut held: Vec<Lease> = held.map(|status| status.lease).collect();
        held.sort_by(|a, b| a.part.cmp(&b.part));
        assert_eq!(claimed, held, "answer {nth}");
        assert_eq!(claimed.len(), 16, "as many as it asked for");
    }
    // That of the statement, and of its repetition.
    assert!(lost >= 2, "{lost} answers were lost");
}

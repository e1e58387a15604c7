//! Many callers, few commits, and one caller's fault is not another's.

use galatea_core::{
    ErrorKind, RemoteId, Retry,
    store::{InboxStore, Ingest, MemoryQuery, MemoryStore},
};
use galatea_testkit::{postgres::Database, store_suite::fixtures::Scene};
use std::fmt::Write;

use super::open;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_writers_share_their_commits_and_lose_nothing() {
    let database = Database::fresh().await;
    let store = open(&database).await;
    let scene = Scene::new();
    let before = store.statements();
    let tasks: Vec<_> = (0..100)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for n in 0..10 {
                    let message = scene.message("hello", writer * 10 + n);
                    assert_eq!(
                        store
                            .ingest(Scene::batch(std::slice::from_ref(&message)))
                            .await
                            .unwrap()
                            .new,
                        [true]
                    );
                    assert_eq!(
                        store.memory(message.memory.id).await.unwrap(),
                        Some(message.memory),
                        "what was answered is read"
                    );
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let commits = store.statements() - before - 1_000;
    assert!(commits < 1_000, "{commits} commits for 1000 changes");
    store.close().await;
    assert_eq!(
        open(&database).await.count_memories(&MemoryQuery::new(scene.agent, 0)).await.unwrap(),
        1_000
    );
}

/// An index takes some 2,700 bytes of a value
/// (<https://www.postgresql.org/docs/current/btree.html>); the others of the group must not fail.
#[tokio::test]
async fn a_change_that_cannot_be_stored_fails_alone() {
    let database = Database::fresh().await;
    let store = open(&database).await;
    let scene = Scene::new();
    let mut long = scene.message("long", 1);
    let mut remote = String::new();
    for _ in 0..400 {
        write!(remote, "{}", uuid::Uuid::new_v4()).unwrap();
    }
    long.remote = RemoteId::new(remote);
    let good: Vec<_> = (0..20)
        .map(|n| {
            Scene::batch(&(0..n % 3 + 1).map(|m| scene.message("good", m)).collect::<Vec<_>>())
        })
        .collect();
    let expected: usize = good.iter().map(|b| b.messages.len()).sum();
    let bad = store
        .ingest(Ingest { messages: vec![scene.message("beside", 1), long], ..Ingest::default() });
    let (bad, good) =
        tokio::join!(bad, futures::future::join_all(good.into_iter().map(|b| store.ingest(b))));
    let error = bad.unwrap_err();
    assert_eq!(
        (error.kind(), error.retry()),
        (ErrorKind::Invalid, Retry::Never),
        "{}",
        error.report()
    );
    assert!(good.into_iter().all(|new| new.unwrap().new.into_iter().all(|new| new)));
    assert_eq!(
        store.count_memories(&MemoryQuery::new(scene.agent, 0)).await.unwrap(),
        expected as u64
    );
}

#[tokio::test]
async fn a_write_goes_on_without_its_caller() {
    let database = Database::fresh().await;
    let store = open(&database).await;
    let scene = Scene::new();
    let message = scene.message("hello", 1);
    {
        let mut write = std::pin::pin!(store.ingest(Scene::batch(std::slice::from_ref(&message))));
        assert!(futures::poll!(write.as_mut()).is_pending());
    }
    store.save_memories(&[scene.memory("after", 2)]).await.unwrap();
    assert!(store.inbox_item(message.memory.id).await.unwrap().is_some());
}

/// U+0000 is the one letter PostgreSQL's text cannot hold; a hostile name must not stop the queue.
#[tokio::test]
async fn a_nul_in_a_name_stops_no_message() {
    let database = Database::fresh().await;
    let store = open(&database).await;
    let scene = Scene::new();
    let mut batch = Scene::batch(&[scene.message("a\0b", 1)]);
    batch.connections = scene.connections();
    batch.connections.rooms[0].name = Some("work\0shop".to_owned());
    batch.connections.entities[0].names = vec!["\0".to_owned()];
    batch.messages[0].envelope.user_name = Some("p\0".to_owned());
    batch.messages[0].remote = RemoteId::new("m\0");
    let id = batch.messages[0].memory.id;
    assert_eq!(store.ingest(batch).await.unwrap().new, [true]);
    assert_eq!(
        store.memory(id).await.unwrap().unwrap().content.text,
        "a\0b",
        "what was said is kept to the letter"
    );
    let found = store
        .inbox_by_remote(
            &galatea_testkit::store_suite::fixtures::SOURCE,
            None,
            &RemoteId::new("m\0"),
        )
        .await
        .unwrap();
    assert_eq!((found.len(), found[0].entry.envelope.user_name.as_deref()), (1, Some("p\u{FFFD}")));
}

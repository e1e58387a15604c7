//! Many callers, few commits, and one caller's fault is not another's.

use galatea_core::{
    Content, ErrorKind, RemoteId, Retry,
    store::{ConnectorState, InboxStore, Ingest, MemoryQuery, MemoryStore, OutboxStore},
};
use galatea_testkit::store_suite::fixtures::{SOURCE, Scene, account};
use serde_json::{Value, json};
use sqlx::{Connection, Executor, SqliteConnection, sqlite::SqliteConnectOptions};
use std::time::Duration;

use super::{batch, open};
use crate::{Database, SqliteOptions, dialect::Dialects};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_writers_share_their_commits_and_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    let store = open(&path).await.unwrap();
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
    drop(store);
    let store = Database::sqlite(&path, SqliteOptions::default()).await.unwrap();
    assert_eq!(store.count_memories(&MemoryQuery::new(scene.agent, 0)).await.unwrap(), 1_000);
}

#[tokio::test]
async fn a_writer_that_rests_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let idle = Duration::from_millis(1);
    let store = Database::sqlite(
        folder.path().join("galatea.db"),
        SqliteOptions { idle, ..SqliteOptions::default() },
    )
    .await
    .unwrap();
    let scene = Scene::new();
    for n in 0..5 {
        let message = scene.message("hello", n);
        let before = store.statements();
        assert_eq!(
            store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap().new,
            [true]
        );
        // The group is one statement; the other frees memory when the writer begins to rest.
        let rests = async {
            while store.statements() < before + 2 {
                tokio::time::sleep(idle).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), rests).await.expect("it never rests");
        assert_eq!(store.memory(message.memory.id).await.unwrap(), Some(message.memory));
    }
    store.close().await;
}

/// A trigger refuses one message; the others of the group must not fail, and nothing of its own
/// change stays.
#[tokio::test]
async fn a_change_that_is_refused_fails_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    let store = open(&path).await.unwrap();
    let mut beside =
        SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(&path)).await.unwrap();
    beside
        .execute("CREATE TRIGGER refuse BEFORE INSERT ON inbox WHEN NEW.remote = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END")
        .await
        .unwrap();
    let scene = Scene::new();
    let mut refused = scene.message("refused", 1);
    refused.remote = RemoteId::new("bad");
    let good: Vec<_> = (0..20).map(|n| batch(scene, n % 3 + 1)).collect();
    let expected: usize = good.iter().map(|b| b.messages.len()).sum();
    let state = ConnectorState {
        agent: scene.agent,
        source: SOURCE,
        account: account(),
        key: "spent".to_owned(),
        value: 1.into(),
    };
    let bad = store.ingest(Ingest {
        messages: vec![scene.message("beside", 1), refused],
        state: vec![state],
        ..Ingest::default()
    });
    let (bad, good) =
        tokio::join!(bad, futures::future::join_all(good.into_iter().map(|b| store.ingest(b))));
    let error = bad.unwrap_err();
    assert_eq!(error.retry(), Retry::Never, "{}", error.report());
    assert!(good.into_iter().all(|new| new.unwrap().new.into_iter().all(|new| new)));
    let stored = store.count_memories(&MemoryQuery::new(scene.agent, 0)).await.unwrap();
    assert_eq!(stored, expected as u64);
    let state = store.connector_state(scene.agent, &SOURCE, &account(), "spent").await.unwrap();
    assert_eq!(state, None, "the state of a refused batch is not stored");
}

/// What could not be read back is refused before it is sent.
#[tokio::test]
async fn a_document_nested_too_deeply_is_refused() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    let mut deep = scene.message("deep", 1);
    let nested = (0..1_500).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    deep.memory.content.extra.insert("deep".to_owned(), nested);
    let error = store.ingest(Scene::batch(&[deep])).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Invalid, Retry::Never));
}

/// Of two turns in one group that finish the same message the second is refused, and writes
/// nothing.
#[tokio::test]
async fn a_conflict_within_a_group_takes_back_its_own_change_only() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    let (message, other) = (scene.message("hello", 1), scene.message("another", 2));
    store.ingest(Scene::batch(&[message.clone(), other.clone()])).await.unwrap();
    let turns = [scene.turn(&[&message]), scene.turn(&[&other, &message]), scene.turn(&[&other])];
    let all = turns.clone().map(|turn| store.finish_turn(turn));
    let outcomes = futures::future::join_all(all).await;
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok(), "{outcomes:?}");
    assert_eq!(outcomes[1].as_ref().unwrap_err().kind(), ErrorKind::Conflict);
    for (turn, stands) in turns.iter().zip([true, false, true]) {
        let parts = store.deliveries_of(turn.turn).await.unwrap();
        assert_eq!(!parts.is_empty(), stands);
        assert_eq!(store.memory(turn.memories[0].id).await.unwrap().is_some(), stands);
    }
}

#[tokio::test]
async fn a_change_too_large_is_refused_before_it_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    // On a busy machine the test may take as long as a store usually waits before it releases its
    // memory, which is a statement.
    let options = SqliteOptions { idle: Duration::from_secs(3_600), ..SqliteOptions::default() };
    let store = Database::sqlite(&folder.path().join("galatea.db"), options).await.unwrap();
    let scene = Scene::new();
    let before = store.statements();
    let mut memory = scene.memory("", 1);
    memory.content = Content::text("x".repeat(65 << 20));
    let error = store.save_memories(&[memory]).await.unwrap_err();
    assert_eq!((error.kind(), error.fix().is_some()), (ErrorKind::Invalid, true));
    assert_eq!(store.statements(), before);
}

#[tokio::test]
async fn a_write_goes_on_without_its_caller() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    let message = scene.message("hello", 1);
    {
        let mut write = std::pin::pin!(store.ingest(Scene::batch(std::slice::from_ref(&message))));
        assert!(futures::poll!(write.as_mut()).is_pending());
    }
    store.save_memories(&[scene.memory("after", 2)]).await.unwrap();
    assert!(store.inbox_item(message.memory.id).await.unwrap().is_some());
}

/// A full database refuses cleanly, still reads, and takes messages again once there is room.
#[tokio::test]
async fn a_full_disk_loses_nothing_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    let store =
        Database::sqlite(&path, SqliteOptions { max_pages: Some(240), ..SqliteOptions::default() })
            .await
            .unwrap();
    let scene = Scene::new();
    let mut stored = Vec::new();
    let error = loop {
        let batch = batch(scene, 20);
        let ids: Vec<_> = batch.messages.iter().map(|m| m.memory.id).collect();
        match store.ingest(batch).await {
            Ok(_) => stored.extend(ids),
            Err(error) => break error,
        }
        assert!(stored.len() < 10_000, "the limit is never reached");
    };
    assert_eq!(
        (error.code(), error.kind(), error.retry()),
        (Some("GAL-DB-FULL"), ErrorKind::Unavailable, Retry::Soon),
        "{}",
        error.report()
    );
    let all = [
        store.ingest(batch(scene, 20)),
        store.ingest(batch(scene, 20)),
        store.ingest(batch(scene, 20)),
    ];
    for result in futures::future::join_all(all).await {
        assert_eq!(
            result.unwrap_err().code(),
            Some("GAL-DB-FULL"),
            "every change of the group gets its result"
        );
    }
    let count = || async { store.count_memories(&MemoryQuery::new(scene.agent, 0)).await.unwrap() };
    assert_eq!(count().await, stored.len() as u64);
    assert!(stored.len() > 20);

    store.close().await;
    let store = open(&path).await.unwrap();
    assert_eq!(store.ingest(batch(scene, 1)).await.unwrap().new, [true]);
    store.ingest(batch(scene, 100)).await.unwrap();
    let (check,): (String,) = store
        .fetch_one(Dialects::same("PRAGMA integrity_check").with(Vec::new()))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(check, "ok");
}

//! When the index of words is brought up: in the background, and for a caller that waits.

use super::words::{behind, save_messages};
use crate::{Backend, Database, SqliteOptions};
use galatea_core::{
    Derived, MemoryKind, MemoryScope,
    store::{DerivedChange, DerivedStore, MemoryStore, RecallStore},
};
use galatea_testkit::store_suite::fixtures::Scene;
use std::{path::Path, time::Duration};

async fn database(folder: &Path) -> Database {
    Database::sqlite(&folder.join("galatea.db"), SqliteOptions::default()).await.unwrap()
}

/// Waits until the index has all rows.
async fn is_brought_up(store: &Database) {
    let indexed = async {
        while behind(store).await > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), indexed).await.expect("it was not asked for");
}

/// A store in memory has no task that would answer the writer.
#[tokio::test]
async fn the_writer_asks_for_the_index_when_it_pauses() {
    let store = Database::in_memory().await.unwrap();
    let Backend::Sqlite(sqlite) = &store.0.backend else { panic!("it is SQLite") };
    save_messages(&store, Scene::new(), "the kettle", 1, 1).await;
    let asked = sqlite.known.index_wanted.notified();
    tokio::time::timeout(Duration::from_secs(60), asked).await.unwrap();
}

#[tokio::test]
async fn the_index_is_brought_up_after_messages() {
    let folder = tempfile::tempdir().unwrap();
    let store = database(folder.path()).await;
    for _ in 0..3 {
        save_messages(&store, Scene::new(), "the kettle", 700, 1).await;
        is_brought_up(&store).await;
    }
    store.close().await;
}

/// What a process that was killed left is indexed by the next one.
#[tokio::test]
async fn the_index_is_brought_up_after_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let store = database(folder.path()).await;
    save_messages(&store, Scene::new(), "the kettle", 1, 1).await;
    store.close().await;
    let store = database(folder.path()).await;
    is_brought_up(&store).await;
    store.close().await;
}

/// Stores pieces of documents.
async fn save_pieces(store: &Database, scene: Scene, many: i64) {
    let source = scene.memory("a document", 1);
    store.save_memories(std::slice::from_ref(&source)).await.unwrap();
    let piece = |n| {
        let mut piece = scene.memory("a piece of a document", n);
        piece.kind = MemoryKind::Fragments;
        Derived::new(piece, MemoryScope::Agent, vec![source.id])
    };
    for from in (0..many).step_by(100) {
        let new = (from..many.min(from + 100)).map(piece).collect();
        let change = DerivedChange { new, ..DerivedChange::default() };
        store.change_derived(scene.agent, &change).await.unwrap();
    }
}

#[tokio::test]
async fn the_index_is_brought_up_after_many_pieces_of_documents() {
    let folder = tempfile::tempdir().unwrap();
    let store = database(folder.path()).await;
    save_pieces(&store, Scene::new(), 1_000).await;
    is_brought_up(&store).await;
    store.close().await;
}

#[tokio::test]
async fn the_whole_index_is_brought_up_by_a_caller_that_waits() {
    let store = Database::in_memory().await.unwrap();
    save_messages(&store, Scene::new(), "a room", 4_500, 1).await;
    assert!(!store.index_words().await.unwrap(), "it takes several steps");
    while !store.index_words().await.unwrap() {}
    assert_eq!(behind(&store).await, 0);
}

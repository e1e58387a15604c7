//! When the index of words is brought up: by a search, by the writer, and in the background.

use super::words::{asking, behind, found, save_messages, use_index};
use crate::{Backend, Database, SqliteOptions};
use galatea_core::{
    Derived, MemoryKind, MemoryScope, Timestamp,
    store::{DerivedChange, DerivedStore, MemoryStore, RecallQuery, RecallStore},
};
use galatea_testkit::store_suite::fixtures::Scene;
use std::{path::Path, time::Duration};

/// Nothing takes so long.
const LONG: Duration = Duration::from_secs(60);

async fn database(folder: &Path) -> Database {
    Database::sqlite(&folder.join("galatea.db"), SqliteOptions::default()).await.unwrap()
}

/// Waits until the index has all rows. By itself it would be brought up 30 s after the start.
async fn is_brought_up(store: &Database) {
    let indexed = async {
        while behind(store).await > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(25), indexed).await.expect("it was not asked for");
}

#[tokio::test]
async fn what_the_index_does_not_have_yet_is_found_beside_it() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    use_index(&store);
    save_messages(&store, scene, "the kettle", 1, 1).await;
    let older = |before| RecallQuery { before: Some(Timestamp(before)), ..asking(scene, "kettle") };
    assert_eq!(found(&store, &older(10)).await, ["the kettle"]);
    assert_eq!(behind(&store).await, 1);
    while store.index_step().await.unwrap() {}
    assert_eq!(behind(&store).await, 0);
    save_messages(&store, scene, "a new kettle", 1, 20).await;
    save_messages(&store, Scene::new(), "the kettle of another room", 30, 1).await;
    assert_eq!(found(&store, &older(10)).await, ["the kettle"]);
    let mut both = found(&store, &older(30)).await;
    both.sort_unstable();
    assert_eq!(both, ["a new kettle", "the kettle"]);
    assert_eq!(behind(&store).await, 31);
}

#[tokio::test]
async fn the_index_is_brought_up_when_the_writer_pauses() {
    let store = Database::in_memory().await.unwrap();
    let Backend::Sqlite(sqlite) = &store.0.backend else { panic!("SQLite is indexed") };
    save_messages(&store, Scene::new(), "the kettle", 300, 1).await;
    tokio::time::timeout(LONG, sqlite.known.index_wanted.notified()).await.unwrap();
}

#[tokio::test]
async fn the_index_is_brought_up_when_it_is_far_behind() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    use_index(&store);
    // More than one search analyses.
    save_messages(&store, scene, "the kettle", 300, 1).await;
    assert_eq!(found(&store, &asking(scene, "kettle tea")).await.len(), 0);
    assert_eq!(behind(&store).await, 0);
    // Many of another room, which it does not look at.
    save_messages(&store, Scene::new(), "another room", 8_001, 1).await;
    save_messages(&store, scene, "a cup of tea", 1, 400).await;
    assert_eq!(found(&store, &asking(scene, "tea")).await, ["a cup of tea"]);
    assert!(behind(&store).await <= 200, "one step is left at most");
}

/// More of its own Room than one search analyses, behind many of another one.
#[tokio::test]
async fn a_search_that_brings_the_index_up_misses_nothing() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    use_index(&store);
    save_messages(&store, Scene::new(), "another room", 3_000, 1).await;
    save_messages(&store, scene, "the kettle", 100, 1).await;
    save_messages(&store, scene, "a cup of tea", 1, 400).await;
    assert_eq!(found(&store, &asking(scene, "tea")).await, ["a cup of tea"]);
}

/// Without the writer's question it would be brought up 30 s after the start.
#[tokio::test]
async fn the_index_is_brought_up_after_many_messages_without_a_search() {
    let folder = tempfile::tempdir().unwrap();
    let store = database(folder.path()).await;
    save_messages(&store, Scene::new(), "a room", 1_000, 1).await;
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

/// Pieces of documents are searched by the index alone.
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

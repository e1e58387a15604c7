//! What is deleted or secret is in no file.

use galatea_core::{
    AgentId, Character, Command, Content, Derived, Memory, MemoryId, MemoryKind, MemoryScope,
    Timestamp, Visibility,
    store::{
        AgentStore, CacheStore, DerivedChange, DerivedStore, InboxStore, MemoryStore, RecallQuery,
        Superseded,
    },
};
use galatea_testkit::store_suite::fixtures::{Scene, object};
use serde_json::json;
use std::{fs, path::Path};

use super::{super::searched, open};
use crate::dialect::Dialects;

/// How often `needle` is in the files of `folder`, in any case (the full-text index folds it).
fn occurrences(folder: &Path, needle: &str) -> usize {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            fs::read(entry.unwrap().path())
                .unwrap()
                .to_ascii_lowercase()
                .windows(needle.len())
                .filter(|w| *w == needle.as_bytes())
                .count()
        })
        .sum()
}

#[tokio::test]
async fn a_thousand_deleted_messages_leave_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("galatea.db")).await.unwrap();
    let scene = Scene::new();
    let mut messages: Vec<_> =
        (0..1_000).map(|n| scene.message(&format!("zanzibar {n}"), n)).collect();
    for message in &mut messages {
        message.envelope.command =
            Some(Command { name: "say".to_owned(), args: "zanzibar".to_owned() });
    }
    store.ingest(Scene::batch(&messages)).await.unwrap();
    let recall = RecallQuery::new(Visibility::operator(scene.agent), "zanzibar", 5, Timestamp(1));
    assert_eq!(searched(&store, &recall).await.len(), 5);
    let edited = scene.memory("zanzibar, then edited", 1);
    store.save_memories(std::slice::from_ref(&edited)).await.unwrap();
    store.update_content(scene.agent, edited.id, &Content::text("harmless")).await.unwrap();
    // Read file by file: a page may be on its way from one into another.
    assert!((0..100).any(|_| occurrences(folder.path(), "zanzibar") > 0), "the search can find it");

    let ids: Vec<_> = messages.iter().map(|m| m.memory.id).collect();
    assert_eq!(store.delete_memories(scene.agent, &ids).await.unwrap(), 1_000);
    assert_eq!(searched(&store, &recall).await.len(), 0);
    store.close().await;
    assert_eq!(occurrences(folder.path(), "zanzibar"), 0);
}

#[tokio::test]
async fn summaries_that_replaced_each_other_leave_with_their_message() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("galatea.db")).await.unwrap();
    let scene = Scene::new();
    let said = scene.memory("zanzibar, said aloud", 1);
    store.save_memories(std::slice::from_ref(&said)).await.unwrap();
    let recall = RecallQuery::new(Visibility::operator(scene.agent), "zanzibar", 9, Timestamp(1));
    let mut last: Option<MemoryId> = None;
    for n in 0..3 {
        let summary = Memory {
            kind: MemoryKind::Summaries,
            ..scene.memory(&format!("zanzibar in summary {n}"), n)
        };
        let (id, sources) = (summary.id, last.into_iter().chain([said.id]).collect());
        let superseded = last.map(|id| Superseded { id, at: Timestamp(n), by: Some(summary.id) });
        let change = DerivedChange {
            new: vec![Derived::new(summary, MemoryScope::Room, sources)],
            superseded: superseded.into_iter().collect(),
            ..DerivedChange::default()
        };
        assert_eq!(store.change_derived(scene.agent, &change).await.unwrap(), 1);
        assert!(!searched(&store, &recall).await.is_empty());
        last = Some(id);
    }
    assert_eq!(store.delete_memories(scene.agent, &[said.id]).await.unwrap(), 1);
    assert_eq!(searched(&store, &recall).await.len(), 0);
    store.close().await;
    assert_eq!(occurrences(folder.path(), "zanzibar"), 0);
}

#[tokio::test]
async fn a_characters_secrets_reach_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("galatea.db")).await.unwrap();
    let settings =
        json!({"secrets": {"A": "canary"}, "DISCORD_API_TOKEN": "canary", "voice": "visible"});
    let character = Character {
        name: "Galatea".to_owned(),
        settings: object(settings),
        secrets: object(json!({"B": "canary"})).into(),
        ..Character::default()
    };
    store.save_agent(AgentId::fresh(), &character).await.unwrap();
    assert_eq!(
        (occurrences(folder.path(), "canary"), occurrences(folder.path(), "visible") > 0),
        (0, true)
    );
    store.close().await;
    assert_eq!(occurrences(folder.path(), "canary"), 0);
}

#[tokio::test]
async fn expired_values_do_not_fill_the_cache() {
    let store = crate::Database::in_memory().await.unwrap();
    let agent = AgentId::fresh();
    for n in 0..100 {
        store.cached(agent, "any", Timestamp(n)).await.unwrap();
        store.cache(agent, &n.to_string(), &json!(n), Some(Timestamp(n + 10))).await.unwrap();
    }
    let (rows,): (i64,) = store
        .fetch_one(Dialects::same("SELECT count(*) FROM cache").with(Vec::new()))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(rows, 10);
}

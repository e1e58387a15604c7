//! Recall in places of thousands of messages, where a store does not look at all of them.

use galatea_core::{
    Embedding, Memory, MemoryKind, Store, Timestamp, Visibility, store::RecallQuery,
};
use std::sync::Arc;

use super::{
    fixtures::Scene,
    recall::{MODEL, asking, found, towards},
};

/// Messages of a large place, more than are looked at one by one.
const MANY: i64 = 2_600;

/// In a place of thousands of messages a rare word is found however old it is, a common one in the
/// newest messages, and the rare one counts more.
pub async fn words_of_a_large_place_are_found(store: Arc<dyn Store>) {
    let (scene, elsewhere) = (Scene::new(), Scene::new());
    let text = |n: i64| match n {
        3 => "the lighthouse keeper said hello".to_owned(),
        5 => "two lighthouses".to_owned(),
        n if n % 3 == 0 => format!("hello everyone {n}"),
        n => format!("note {n}"),
    };
    let memories: Vec<Memory> = (0..MANY).map(|n| scene.memory(&text(n), n)).collect();
    for some in memories.chunks(500) {
        store.save_memories(some).await.unwrap();
    }
    let canary = elsewhere.memory("a lighthouse of others", 1);
    store.save_memories(std::slice::from_ref(&canary)).await.unwrap();
    let plain = |text: &str| {
        let mut query = asking(scene, text);
        query.fusion.neighbours = 0.0;
        query
    };
    let old = ["the lighthouse keeper said hello", "two lighthouses"];
    let sorted = async |query: &RecallQuery| {
        let mut hits = found(&store, query).await;
        hits.sort();
        hits
    };
    assert_eq!(sorted(&plain("which lighthouse?")).await, old);
    let hits = found(&store, &plain("who says hello, a lighthouse?")).await;
    let mut first = [hits[0].as_str(), hits[1].as_str()];
    first.sort_unstable();
    assert_eq!((hits.len(), first), (10, old), "rare words come first: {hits:?}");
    let newest = format!("hello everyone {}", (MANY - 1) / 3 * 3);
    assert!(hits.contains(&newest), "{hits:?}");
    assert_eq!(found(&store, &plain("hello")).await[0], newest);
    let before = RecallQuery { before: Some(Timestamp(4)), ..plain("lighthouse") };
    assert_eq!(found(&store, &before).await, [old[0]]);
    let operator = Visibility::operator(scene.agent);
    let everywhere = RecallQuery { visible: operator, ..plain("lighthouse") };
    assert_eq!(sorted(&everywhere).await, old, "the agent's own, for its operator");
    store.delete_memories(scene.agent, &[memories[3].id]).await.unwrap();
    assert_eq!(found(&store, &plain("lighthouse")).await, [old[1]]);
}

/// In a place of many messages a search by meaning sees each embedding as it is now.
pub async fn meanings_of_a_large_place_follow_changes(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let near = |n: usize| towards(10.0 + 0.05 * n as f32);
    let memories: Vec<Memory> =
        (0..1_200).zip(1..).map(|(n, at)| scene.memory(&format!("note {n}"), at)).collect();
    for some in memories.chunks(400) {
        store.save_memories(some).await.unwrap();
    }
    let embeddings: Vec<(&Memory, Embedding)> =
        memories.iter().enumerate().map(|(n, memory)| (memory, near(n))).collect();
    for some in embeddings.chunks(400) {
        store.save_embeddings(scene.agent, MODEL, some).await.unwrap();
    }
    let query = |degrees: f32| {
        let mut query = RecallQuery { limit: 3, ..asking(scene, "") }
            .kind(MemoryKind::Messages)
            .meaning(MODEL, towards(degrees));
        query.fusion.neighbours = 0.0;
        query
    };
    let nearest = async |degrees: f32| found(&store, &query(degrees)).await;
    assert_eq!(nearest(-170.0).await.len(), 3);
    // One of them turns round, as after an edit.
    store.save_embeddings(scene.agent, MODEL, &[(&memories[7], towards(190.0))]).await.unwrap();
    assert_eq!(nearest(-170.0).await[0], "note 7");
    let late = scene.memory("late", 5_000);
    store.save_memories(std::slice::from_ref(&late)).await.unwrap();
    store.save_embeddings(scene.agent, MODEL, &[(&late, towards(191.0))]).await.unwrap();
    assert_eq!(nearest(-169.0).await[..2], ["late", "note 7"]);
    // A memory of another width answers no more, and does again with the old one.
    let wide = Embedding::new(vec![1.0, 0.0, 0.0]).unwrap();
    store.save_embeddings(scene.agent, MODEL, &[(&late, wide)]).await.unwrap();
    assert_eq!(nearest(-169.0).await[0], "note 7");
    store.save_embeddings(scene.agent, MODEL, &[(&late, towards(191.0))]).await.unwrap();
    assert_eq!(nearest(-169.0).await[0], "late");
    store.delete_memories(scene.agent, &[late.id]).await.unwrap();
    assert_eq!(nearest(-169.0).await[0], "note 7");
    // Most of a place go, among them all that were nearest: what is left is found.
    let most: Vec<_> = memories[..1_190].iter().map(|memory| memory.id).collect();
    for some in most.chunks(50) {
        store.delete_memories(scene.agent, some).await.unwrap();
    }
    let left = nearest(10.0).await;
    assert_eq!(left, ["note 1191", "note 1192", "note 1193"], "1190 had words of 1189");
    store
        .move_room(scene.room, scene.other_room().room, &galatea_core::RemoteId::new("moved"))
        .await
        .unwrap();
    assert_eq!(nearest(10.0).await, Vec::<String>::new(), "they are in another room now");
}

/// Hundreds of embeddings go, while their messages stay: they take no place among the nearest.
pub async fn embeddings_that_are_gone_leave_the_search(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let memories: Vec<Memory> =
        (0..1_200).zip(1..).map(|(n, at)| scene.memory(&format!("note {n}"), at)).collect();
    // The remaining embeddings have another direction than those that go.
    let angle = |n: usize| match n {
        1_100.. => 100.0,
        n if n % 2 == 1 => 10.0,
        _ => 190.0,
    };
    let embeddings: Vec<(&Memory, Embedding)> =
        memories.iter().enumerate().map(|(n, memory)| (memory, towards(angle(n)))).collect();
    for (some, embeddings) in memories.chunks(400).zip(embeddings.chunks(400)) {
        store.save_memories(some).await.unwrap();
        store.save_embeddings(scene.agent, MODEL, embeddings).await.unwrap();
    }
    let mut query = RecallQuery { limit: 3, ..asking(scene, "") }
        .kind(MemoryKind::Messages)
        .meaning(MODEL, towards(10.0));
    query.fusion.neighbours = 0.0;
    assert_eq!(found(&store, &query).await, ["note 1099", "note 1097", "note 1095"]);
    let gone: Vec<_> = memories[..1_100].iter().step_by(2).map(|memory| memory.id).collect();
    for some in gone.chunks(50) {
        store.delete_memories(scene.agent, some).await.unwrap();
    }
    assert_eq!(found(&store, &query).await, ["note 1199", "note 1198", "note 1197"]);
}

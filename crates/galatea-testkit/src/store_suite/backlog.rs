//! What waits for an embedding.

use galatea_core::{
    Content, Embedding, Memory, MemoryKind, Store, Timestamp, store::EmbeddingClaim,
};
use std::sync::Arc;

use super::fixtures::Scene;

fn claim(scene: Scene, model: &str, limit: u32, now: i64) -> EmbeddingClaim {
    EmbeddingClaim {
        agent: scene.agent,
        model: model.to_owned(),
        kinds: Vec::new(),
        limit,
        now: Timestamp(now),
        until: Timestamp(now + 60),
    }
}

async fn claimed(store: &Arc<dyn Store>, claim: &EmbeddingClaim) -> Vec<String> {
    let found = store.claim_unembedded(claim).await.unwrap();
    found.into_iter().map(|waiting| waiting.memory.content.text).collect()
}

fn vector() -> Embedding {
    Embedding::new(vec![1.0, 0.0]).unwrap()
}

/// The newest come first, each once while it is claimed, and again when the claim has ended.
pub async fn what_waits_is_claimed_once(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let memories: Vec<Memory> = (0..5).map(|n| scene.memory(&format!("message {n}"), n)).collect();
    store.save_memories(&memories).await.unwrap();
    store.save_memories(&[scene.memory("", 9), Scene::new().memory("theirs", 9)]).await.unwrap();
    assert_eq!(claimed(&store, &claim(scene, "m", 2, 0)).await, ["message 4", "message 3"]);
    let found = store.claim_unembedded(&claim(scene, "m", 9, 10)).await.unwrap();
    let texts: Vec<&str> = found.iter().map(|w| w.memory.content.text.as_str()).collect();
    assert_eq!(texts, ["message 2", "message 1", "message 0"]);
    assert_eq!(found[0].before.as_ref(), Some(&memories[1]), "with the message before");
    assert_eq!(found[2].before, None);
    assert_eq!(claimed(&store, &claim(scene, "m", 9, 20)).await, [""; 0], "all are claimed");
    let stored = [(&memories[0], vector()), (&memories[4], vector())];
    store.save_embeddings(scene.agent, "m", &stored).await.unwrap();
    store.give_up_embedding(scene.agent, &[memories[1].id]).await.unwrap();
    assert_eq!(
        claimed(&store, &claim(scene, "m", 9, 1_000)).await,
        ["message 3", "message 2"],
        "claims have ended; one is given up"
    );
    store.save_memories(&[scene.memory("late", 10)]).await.unwrap();
    assert_eq!(claimed(&store, &claim(scene, "m", 9, 1_010)).await, ["late"]);
}

/// Edited texts and another model's come back; kinds choose; deleted ones are gone.
pub async fn changed_texts_wait_again(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let memories = [
        scene.memory("one", 1),
        scene.memory("two", 2),
        Memory { kind: MemoryKind::Facts, ..scene.memory("fact", 3) },
    ];
    store.save_memories(&memories).await.unwrap();
    let facts = EmbeddingClaim { kinds: vec![MemoryKind::Facts], ..claim(scene, "m", 9, 0) };
    assert_eq!(claimed(&store, &facts).await, ["fact"]);
    assert_eq!(claimed(&store, &claim(scene, "m", 9, 0)).await, ["two", "one"]);
    let all: Vec<(&Memory, Embedding)> = memories.iter().map(|m| (m, vector())).collect();
    store.save_embeddings(scene.agent, "m", &all).await.unwrap();
    assert_eq!(claimed(&store, &claim(scene, "m", 9, 1_000)).await, [""; 0]);
    store.update_content(scene.agent, memories[0].id, &Content::text("edited")).await.unwrap();
    let both = ["two", "edited"];
    assert_eq!(claimed(&store, &claim(scene, "m", 9, 1_000)).await, both, "and the next one");
    store.give_up_embedding(scene.agent, &[memories[0].id]).await.unwrap();
    assert_eq!(
        claimed(&store, &claim(scene, "other", 9, 2_000)).await,
        ["fact", "two", "edited"],
        "another model may take what one refused"
    );
    store.delete_memories(scene.agent, &[memories[2].id]).await.unwrap();
    store.save_memories(&[scene.memory("in its place", 4)]).await.unwrap();
    assert_eq!(
        claimed(&store, &claim(scene, "other", 9, 9_000)).await,
        ["in its place", "two", "edited"]
    );
}

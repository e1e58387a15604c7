//! Memories that wait for an embedding.

use galatea_core::{
    Content, Embedding, Memory, MemoryKind, RoomId, Store, Timestamp, WorldId,
    store::EmbeddingClaim,
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

/// Models before the present one are known until their last embedding is replaced, and a model that
/// is used again embeds what the one in between took.
pub async fn older_models_are_known_until_their_embeddings_are_replaced(store: Arc<dyn Store>) {
    let (scene, stranger) = (Scene::new(), Scene::new());
    let memories: Vec<Memory> = (0..4).map(|n| scene.memory(&format!("message {n}"), n)).collect();
    store.save_memories(&memories).await.unwrap();
    let theirs = stranger.memory("theirs", 9);
    store.save_memories(std::slice::from_ref(&theirs)).await.unwrap();
    let older = async |model: &str| {
        let older =
            store.older_embeddings(scene.agent, &[MemoryKind::Messages], model).await.unwrap();
        older.into_iter().map(|of| (of.model, of.width)).collect::<Vec<_>>()
    };
    assert_eq!(older("a").await, [], "nothing is embedded");
    let all: Vec<(&Memory, Embedding)> = memories.iter().map(|m| (m, vector())).collect();
    claimed(&store, &claim(scene, "a", 9, 0)).await;
    store.save_embeddings(scene.agent, "a", &all).await.unwrap();
    store.save_embeddings(stranger.agent, "x", &[(&theirs, vector())]).await.unwrap();
    assert_eq!(older("a").await, [], "another agent's model is not this agent's");
    let a = [("a".to_owned(), 2)];
    assert_eq!(older("b").await, a, "before the queue is filled");
    assert_eq!(claimed(&store, &claim(scene, "b", 9, 1_000)).await.len(), 4);
    assert_eq!(older("b").await, a);
    store.save_embeddings(scene.agent, "b", &all[..3]).await.unwrap();
    assert_eq!(older("b").await, a, "one is left");
    store.save_embeddings(scene.agent, "b", &all[3..]).await.unwrap();
    assert_eq!(older("b").await, []);
    let back = claimed(&store, &claim(scene, "a", 9, 2_000)).await;
    assert_eq!(back.len(), 4, "the first model is used again: {back:?}");
    assert_eq!(older("a").await, [("b".to_owned(), 2)]);
}

/// The embedding queue holds no pieces of documents. The store names the models that embedded pieces,
/// and ignores embeddings of other agents and kinds.
pub async fn models_that_embedded_pieces_of_documents_are_known(store: Arc<dyn Store>) {
    let (scene, stranger) = (Scene::new(), Scene::new());
    let piece = |scene: Scene, text: &str| Memory {
        kind: MemoryKind::Fragments,
        room_id: RoomId(scene.agent.0),
        world_id: Some(WorldId(scene.agent.0)),
        ..scene.memory(text, 1)
    };
    let pieces: Vec<Memory> = (0..3).map(|n| piece(scene, &format!("piece {n}"))).collect();
    let (theirs, message) = (piece(stranger, "theirs"), scene.memory("message", 2));
    store
        .save_memories(&[pieces.clone(), vec![theirs.clone(), message.clone()]].concat())
        .await
        .unwrap();
    let older = async |model: &str| {
        let kinds = [MemoryKind::Fragments];
        let older = store.older_embeddings(scene.agent, &kinds, model).await.unwrap();
        older.into_iter().map(|of| of.model).collect::<Vec<_>>()
    };
    assert_eq!(older("a").await, [""; 0], "nothing is embedded");
    let all: Vec<(&Memory, Embedding)> = pieces.iter().map(|m| (m, vector())).collect();
    store.save_embeddings(scene.agent, "a", &all).await.unwrap();
    store.save_embeddings(stranger.agent, "x", &[(&theirs, vector())]).await.unwrap();
    store.save_embeddings(scene.agent, "y", &[(&message, vector())]).await.unwrap();
    assert_eq!(older("a").await, [""; 0]);
    assert_eq!(older("b").await, ["a"]);
    store.save_embeddings(scene.agent, "b", &all[..2]).await.unwrap();
    assert_eq!(older("b").await, ["a"], "one is left");
    store.save_embeddings(scene.agent, "b", &all[2..]).await.unwrap();
    assert_eq!(older("b").await, [""; 0]);
}

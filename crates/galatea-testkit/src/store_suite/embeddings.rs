//! Tests for every store: it keeps embeddings with their memories, and searches them by similarity.

use galatea_core::{
    Content, Embedding, EntityId, Memory, MemoryKind, Store, Timestamp, Visibility,
    store::{MemoryQuery, RecallQuery, RequestedChange},
};
use std::sync::Arc;

use super::fixtures::{Scene, searched};

const MODEL: &str = "test small";

/// A unit vector in a plane, at this angle in degrees.
fn towards(degrees: f32) -> Embedding {
    let (y, x) = degrees.to_radians().sin_cos();
    Embedding::new(vec![x, y, 0.0]).unwrap()
}

/// A search of an agent's memories by similarity, and the least similarity that counts.
struct Near {
    query: RecallQuery,
    at_least: f32,
}

fn query(scene: Scene, embedding: Embedding, at_least: f32) -> Near {
    let mut query = RecallQuery::new(Visibility::operator(scene.agent), "", 100, Timestamp(0))
        .meaning(MODEL, embedding);
    query.fusion.neighbours = 0.0;
    Near { query, at_least }
}

async fn found(store: &Arc<dyn Store>, near: &Near) -> Vec<(String, f32)> {
    let hits = searched(store, &near.query).await;
    assert!(
        hits.iter().all(|hit| hit.memory.agent_id == near.query.visible.agent()),
        "a query stays with its agent"
    );
    let similar = hits.into_iter().map(|hit| (hit.memory.content.text, hit.meaning.unwrap().score));
    similar.filter(|(_, similarity)| *similarity >= near.at_least).collect()
}

async fn texts(store: &Arc<dyn Store>, near: &Near) -> Vec<String> {
    found(store, near).await.into_iter().map(|(text, _)| text).collect()
}

/// Stores memories in a room, with these texts and angles of their embeddings.
async fn stored(store: &Arc<dyn Store>, scene: Scene, all: &[(&str, f32)]) -> Vec<Memory> {
    let memories: Vec<Memory> =
        all.iter().zip(0..).map(|((text, _), at)| scene.memory(text, at)).collect();
    store.save_memories(&memories).await.unwrap();
    let embeddings: Vec<(&Memory, Embedding)> = memories
        .iter()
        .zip(all)
        .map(|(memory, (_, degrees))| (memory, towards(*degrees)))
        .collect();
    assert_eq!(
        store.save_embeddings(scene.agent, MODEL, &embeddings).await.unwrap(),
        all.len() as u64
    );
    memories
}

/// Results are ordered by cosine similarity, newest first among equals; threshold and limit apply,
/// and memories are returned whole.
pub async fn the_most_similar_come_first(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let all = [
        ("east", 0.0),
        ("north", 90.0),
        ("north-east", 45.0),
        ("west", 180.0),
        ("north-east again", 45.0),
    ];
    let memories = stored(&store, scene, &all).await;
    let nearly = query(scene, towards(10.0), 0.1);
    let similarities = found(&store, &nearly).await;
    for ((text, similarity), (expected, degrees)) in similarities.iter().zip([
        ("east", 10.0_f32),
        ("north-east again", 35.0),
        ("north-east", 35.0),
        ("north", 80.0),
    ]) {
        assert_eq!(text, expected);
        assert!((similarity - degrees.to_radians().cos()).abs() < 1e-5, "{text}: {similarity}");
    }
    assert_eq!(similarities.len(), 4, "west is below the threshold");
    assert_eq!(texts(&store, &query(scene, towards(10.0), -1.0)).await.len(), 5);
    assert_eq!(texts(&store, &query(scene, towards(10.0), 0.9)).await, ["east"]);
    let mut two = nearly;
    two.query.limit = 2;
    assert_eq!(texts(&store, &two).await, ["east", "north-east again"]);
    assert_eq!(searched(&store, &two.query).await[0].memory, memories[0]);
    two.query.limit = 0;
    assert_eq!(texts(&store, &two).await, Vec::<String>::new());
}

/// The filters for agent, room, person, kind and time apply to a search by similarity too.
pub async fn similarity_keeps_to_the_query(store: Arc<dyn Store>) {
    let (scene, stranger) = (Scene::new(), Scene::new());
    let elsewhere = scene.other_room();
    stored(&store, scene, &[("here one", 0.0), ("here two", 1.0)]).await;
    stored(&store, elsewhere, &[("elsewhere", 0.0)]).await;
    stored(&store, Scene { room: scene.room, ..stranger }, &[("a stranger's", 0.0)]).await;
    let fact = Memory {
        kind: MemoryKind::Facts,
        entity_id: EntityId::fresh(),
        ..scene.memory("a fact", 50)
    };
    store.save_memories(std::slice::from_ref(&fact)).await.unwrap();
    store.save_embeddings(scene.agent, MODEL, &[(&fact, towards(2.0))]).await.unwrap();

    let near = || query(scene, towards(0.0), 0.9);
    assert_eq!(texts(&store, &near()).await.len(), 4);
    let mut here = near();
    here.query.room = Some(scene.room);
    assert_eq!(texts(&store, &here).await, ["here one", "here two", "a fact"]);
    let facts = near();
    let facts = Near { query: facts.query.kind(MemoryKind::Facts), ..facts };
    assert_eq!(texts(&store, &facts).await, ["a fact"]);
    let mut theirs = near();
    theirs.query.people = vec![fact.entity_id];
    assert_eq!(texts(&store, &theirs).await, ["a fact"]);
    let mut between = near();
    (between.query.since, between.query.before) = (Some(Timestamp(1)), Some(Timestamp(50)));
    assert_eq!(texts(&store, &between).await, ["here two"]);
    assert_eq!(texts(&store, &query(stranger, towards(0.0), 0.9)).await, ["a stranger's"]);
    assert_eq!(texts(&store, &query(Scene::new(), towards(0.0), 0.9)).await, Vec::<String>::new());
}

/// Only the agent of a memory can set its embedding. A later embedding replaces it. The store
/// removes the embedding when the text is edited, deleted or forgotten.
pub async fn an_embedding_goes_with_its_memory(store: Arc<dyn Store>) {
    let (scene, stranger) = (Scene::new(), Scene::new());
    let memories = stored(&store, scene, &[("one", 0.0), ("two", 0.0), ("three", 0.0)]).await;
    let east = query(scene, towards(0.0), 0.9);
    assert_eq!(
        store
            .save_embeddings(stranger.agent, MODEL, &[(&memories[0], towards(90.0))])
            .await
            .unwrap(),
        0,
        "another agent's"
    );
    assert_eq!(
        store
            .save_embeddings(
                scene.agent,
                MODEL,
                &[(&scene.memory("never stored", 1), towards(0.0))]
            )
            .await
            .unwrap(),
        0,
        "not there"
    );
    assert_eq!(store.save_embeddings(scene.agent, MODEL, &[]).await.unwrap(), 0);
    assert_eq!(texts(&store, &east).await, ["three", "two", "one"]);
    assert_eq!(
        store.save_embeddings(scene.agent, MODEL, &[(&memories[0], towards(90.0))]).await.unwrap(),
        1
    );
    assert_eq!(texts(&store, &east).await, ["three", "two"], "replaced");
    assert!(
        store
            .update_content(scene.agent, memories[1].id, &Content::text("something else"))
            .await
            .unwrap()
    );
    assert_eq!(
        texts(&store, &east).await,
        Vec::<String>::new(),
        "an edited text loses its embedding, and so does the next one"
    );
    store.save_embeddings(scene.agent, MODEL, &[(&memories[2], towards(0.0))]).await.unwrap();
    assert_eq!(texts(&store, &east).await, ["three"]);
    assert_eq!(
        store.save_embeddings(scene.agent, MODEL, &[(&memories[1], towards(0.0))]).await.unwrap(),
        0,
        "the embedding was made of the text before the edit"
    );
    let edited = store.memory(memories[1].id).await.unwrap().unwrap();
    assert_eq!(
        store.save_embeddings(scene.agent, MODEL, &[(&edited, towards(90.0))]).await.unwrap(),
        1
    );
    store.delete_memories(scene.agent, &[memories[2].id]).await.unwrap();
    assert_eq!(texts(&store, &east).await, Vec::<String>::new());
    // A new row may reuse the deleted memory's place in the table, but not its embedding.
    store.save_memories(&[scene.memory("new", 9)]).await.unwrap();
    assert_eq!(texts(&store, &east).await, Vec::<String>::new());
    let message = scene.message("forget me", 10);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    store.save_embeddings(scene.agent, MODEL, &[(&message.memory, towards(0.0))]).await.unwrap();
    assert_eq!(texts(&store, &east).await, ["forget me"]);
    let mut record = scene.turn(&[&message]);
    record.effects = vec![RequestedChange::ForgetPerson { entity: message.memory.entity_id }];
    store.finish_turn(record).await.unwrap();
    assert_eq!(
        texts(&store, &east).await,
        Vec::<String>::new(),
        "a forgotten person's messages are not found by similarity"
    );
}

/// Memories without an embedding of the current model and width are listed, so that a change of the
/// model re-embeds them all.
pub async fn what_has_no_embedding_is_found(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let memories = stored(&store, scene, &[("one", 0.0), ("two", 0.0)]).await;
    store
        .save_memories(&[scene.memory("three", 3), scene.other_room().memory("elsewhere", 4)])
        .await
        .unwrap();
    let here = MemoryQuery::new(scene.agent, 100).room(scene.room);
    let missing = async |query: &MemoryQuery, model: &str, width: Option<usize>| {
        let found = store.without_embedding(query, model, width).await.unwrap();
        found.into_iter().map(|memory| memory.content.text).collect::<Vec<_>>()
    };
    assert_eq!(missing(&here, MODEL, Some(3)).await, ["three"]);
    assert_eq!(
        missing(&MemoryQuery::new(scene.agent, 100), MODEL, Some(3)).await,
        ["elsewhere", "three"]
    );
    assert_eq!(
        missing(&here, "test large", Some(3)).await,
        ["three", "two", "one"],
        "embeddings of another model cannot be compared"
    );
    assert_eq!(
        missing(&here, MODEL, Some(4)).await,
        ["three", "two", "one"],
        "embeddings of another width cannot be compared"
    );
    assert_eq!(missing(&here, MODEL, None).await, ["three"], "of any width");
    assert_eq!(missing(&MemoryQuery { limit: 1, ..here.clone() }, MODEL, Some(4)).await, ["three"]);
    assert_eq!(
        missing(&here.clone().kind(MemoryKind::Facts), MODEL, Some(4)).await,
        Vec::<String>::new()
    );

    let wide = Embedding::new(vec![1.0, 0.0, 0.0, 0.0]).unwrap();
    store.save_embeddings(scene.agent, MODEL, &[(&memories[0], wide.clone())]).await.unwrap();
    store
        .save_embeddings(scene.agent, "test large", &[(&memories[1], towards(0.0))])
        .await
        .unwrap();
    assert_eq!(missing(&here, MODEL, Some(4)).await, ["three", "two"]);
    assert_eq!(texts(&store, &query(scene, towards(0.0), -1.0)).await, Vec::<String>::new());
    assert_eq!(texts(&store, &query(scene, wide, -1.0)).await, ["one"]);
    let mut large = query(scene, towards(0.0), -1.0);
    large.query.meanings[0].model = "test large".to_owned();
    assert_eq!(texts(&store, &large).await, ["two"]);

    // The queue of memories to embed has not reached this one yet.
    store.give_up_embedding(scene.agent, &[memories[1].id]).await.unwrap();
    assert_eq!(missing(&here, MODEL, Some(4)).await, ["three"], "one is refused");
    store.update_content(scene.agent, memories[1].id, &Content::text("two again")).await.unwrap();
    assert_eq!(missing(&here, MODEL, Some(4)).await, ["three", "two again"], "its text changed");
}

/// A store may choose by their signs which vectors to compare. It compares at least 300 in full, so
/// the order of 300 vectors is exact, here at a common width of 384 numbers.
pub async fn many_vectors_are_ranked_exactly(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let memories: Vec<Memory> = (0..300).map(|n| scene.memory(&n.to_string(), n)).collect();
    store.save_memories(&memories).await.unwrap();
    let mut state = 1_u64;
    let mut made = || {
        let numbers = (0..384).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            f32::from(u16::try_from(state >> 48).unwrap()) - 32_768.0
        });
        Embedding::new(numbers.collect()).unwrap()
    };
    let asked = made();
    let embeddings: Vec<(&Memory, Embedding)> =
        memories.iter().map(|memory| (memory, made())).collect();
    assert_eq!(store.save_embeddings(scene.agent, MODEL, &embeddings).await.unwrap(), 300);
    let mut expected: Vec<(f32, String)> = embeddings
        .iter()
        .enumerate()
        .map(|(n, (_, vector))| (asked.similarity(vector.numbers()).unwrap(), n.to_string()))
        .collect();
    expected.sort_by(|a, b| b.0.total_cmp(&a.0));
    let ranked = found(&store, &query(scene, asked, -1.0)).await;
    assert_eq!(ranked.len(), 100);
    for ((text, similarity), (exact, expected)) in ranked.iter().zip(&expected) {
        assert_eq!(text, expected);
        assert!((similarity - exact).abs() < 1e-5, "{text}: {similarity} is {exact}");
    }
}

/// A memory is found by its embedding, whatever characters its text contains.
pub async fn odd_text_is_embedded(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let odd = ["", "\0", "a\0b", "\\u0000 \\", "'\"`", "line\nfeed", "\u{FFFD}", "ﷺ"];
    let memories: Vec<Memory> = odd.iter().map(|text| scene.memory(text, 1)).collect();
    store.save_memories(&memories).await.unwrap();
    let embeddings: Vec<(&Memory, Embedding)> =
        memories.iter().map(|memory| (memory, towards(0.0))).collect();
    assert_eq!(
        store.save_embeddings(scene.agent, MODEL, &embeddings).await.unwrap(),
        odd.len() as u64
    );
    assert_eq!(texts(&store, &query(scene, towards(0.0), 0.9)).await.len(), odd.len());
    assert_eq!(
        texts(&store, &query(scene, towards(180.0), -1.0)).await.len(),
        odd.len(),
        "the very opposite is -1, not less"
    );
}

/// A model's name is stored as a plain value, whatever characters it contains.
pub async fn odd_model_names_are_kept_apart(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let memory = scene.memory("one", 1);
    store.save_memories(std::slice::from_ref(&memory)).await.unwrap();
    for model in
        ["", "'; DROP TABLE embeddings; --", "hf.co/nomic-ai/nomic-embed-text-v1.5:Q8_0", "ﷺ"]
    {
        store.save_embeddings(scene.agent, model, &[(&memory, towards(0.0))]).await.unwrap();
        for other in
            ["", "'; DROP TABLE embeddings; --", "hf.co/nomic-ai/nomic-embed-text-v1.5:Q8_0", "ﷺ"]
        {
            let mut near = query(scene, towards(0.0), 0.0);
            near.query.meanings[0].model = other.to_owned();
            let found = found(&store, &near).await;
            assert_eq!(found.len(), usize::from(model == other), "{model:?} {other:?}");
        }
    }
}

//! Memories are selected, counted and searched within one agent.

use galatea_core::{
    Content, EntityId, Memory, MemoryId, MemoryKind, Store, Timestamp, Visibility, WorldId,
    store::{Ingest, MemoryQuery, RecallQuery},
};
use serde_json::json;
use std::sync::Arc;

use super::fixtures::{Scene, object, searched};

async fn texts(store: &Arc<dyn Store>, query: MemoryQuery) -> Vec<String> {
    let found = store.memories(&query).await.unwrap();
    assert!(found.iter().all(|m| m.agent_id == query.agent), "a query stays with its agent");
    found.into_iter().map(|m| m.content.text).collect()
}

fn all(scene: Scene) -> MemoryQuery {
    MemoryQuery::new(scene.agent, 100)
}

/// Texts of all memories of an agent that have a word.
async fn found(store: &Arc<dyn Store>, scene: Scene, word: &str) -> Vec<String> {
    let visible = Visibility::operator(scene.agent);
    let mut query = RecallQuery::new(visible, word, 100, Timestamp(0));
    // A neighbour of a hit does not count.
    query.fusion.neighbours = 0.0;
    let hits = searched(store, &query).await;
    hits.into_iter().map(|hit| hit.memory.content.text).collect()
}

/// A deleted memory is known by its id until it is stored again; an expired one is not.
pub async fn deleted_memories_are_known(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let all: Vec<Memory> = (0..4).map(|n| scene.memory("said", n)).collect();
    let ids: Vec<MemoryId> = all.iter().map(|memory| memory.id).collect();
    store.save_memories(&all).await.unwrap();
    assert_eq!(store.deleted(&ids).await.unwrap(), []);
    store.delete_memories(scene.agent, &ids[..2]).await.unwrap();
    store.expire_memories(scene.agent, &ids[2..3]).await.unwrap();
    let mut found = store.deleted(&ids).await.unwrap();
    found.sort();
    let mut gone = ids[..2].to_vec();
    gone.sort();
    assert_eq!(found, gone);
    store.save_memories(&all[..1]).await.unwrap();
    assert_eq!(store.deleted(&ids).await.unwrap(), ids[1..2]);
    // A message that came by itself is known by its inbox row, too.
    let message = scene.message("hello", 9);
    let id = message.memory.id;
    store.ingest(Ingest { messages: vec![message], ..Ingest::default() }).await.unwrap();
    assert_eq!(store.deleted(&[id]).await.unwrap(), []);
    store.delete_memories(scene.agent, &[id]).await.unwrap();
    assert_eq!(store.deleted(&[id]).await.unwrap(), [id]);
}

/// Every filter works alone and combined. Results are newest first; at equal times the later stored
/// comes first.
pub async fn queries_select_and_order(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let elsewhere = scene.other_room();
    let fact = Memory { kind: MemoryKind::Facts, world_id: None, ..scene.memory("fact", 25) };
    let theirs = Memory {
        entity_id: EntityId::fresh(),
        world_id: Some(WorldId::fresh()),
        ..elsewhere.memory("theirs", 40)
    };
    let stored = [
        scene.memory("one", 10),
        scene.memory("three", 30),
        scene.memory("two", 20),
        scene.memory("two again", 20),
        fact,
        theirs.clone(),
    ];
    store.save_memories(&stored).await.unwrap();

    assert_eq!(
        texts(&store, all(scene)).await,
        ["theirs", "three", "fact", "two again", "two", "one"]
    );
    assert_eq!(
        texts(&store, all(scene).room(scene.room)).await,
        ["three", "fact", "two again", "two", "one"]
    );
    assert_eq!(texts(&store, all(scene).kind(MemoryKind::Facts)).await, ["fact"]);
    assert_eq!(texts(&store, all(scene).kind(MemoryKind::Documents)).await, Vec::<String>::new());
    assert_eq!(
        texts(&store, MemoryQuery { world: theirs.world_id, ..all(scene) }).await,
        ["theirs"]
    );
    assert_eq!(
        texts(&store, MemoryQuery { entity: Some(theirs.entity_id), ..all(scene) }).await,
        ["theirs"]
    );
    assert_eq!(
        texts(
            &store,
            MemoryQuery { since: Some(Timestamp(20)), before: Some(Timestamp(30)), ..all(scene) }
        )
        .await,
        ["fact", "two again", "two"]
    );
    assert_eq!(
        texts(
            &store,
            MemoryQuery { limit: 2, ..all(scene).room(scene.room).kind(MemoryKind::Messages) }
        )
        .await,
        ["three", "two again"]
    );
    assert_eq!(
        texts(
            &store,
            MemoryQuery {
                entity: Some(scene.person),
                since: Some(Timestamp(25)),
                ..all(scene).room(scene.room)
            }
        )
        .await,
        ["three", "fact"]
    );
    assert_eq!(texts(&store, MemoryQuery { limit: 0, ..all(scene) }).await, Vec::<String>::new());
}

/// A page over several kinds has the same length and order as a page over all kinds.
pub async fn one_page_of_several_kinds(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let kinds = [MemoryKind::Messages, MemoryKind::ActionResult, MemoryKind::Facts];
    let stored: Vec<Memory> = (0..30)
        .map(|n| Memory { kind: kinds[(n % 3) as usize], ..scene.memory(&n.to_string(), n) })
        .collect();
    store.save_memories(&stored).await.unwrap();
    let query = MemoryQuery {
        limit: 4,
        ..all(scene)
            .room(scene.room)
            .kind(MemoryKind::ActionResult)
            .kind(MemoryKind::Messages)
            .kind(MemoryKind::Messages)
    };
    assert_eq!(texts(&store, query).await, ["28", "27", "25", "24"]);
}

/// Ids in a range are returned in order, both ends included, up to the limit.
pub async fn ids_that_begin_alike_are_found(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let id = |text: &str| text.parse::<MemoryId>().unwrap();
    let ids = [
        "5f0a0000-0000-0000-8000-000000000000",
        "5f0a92c1-7000-0000-8000-0000000000ff",
        "5f0affff-ffff-ffff-ffff-ffffffffffff",
        "5f0b0000-0000-0000-8000-000000000000",
    ]
    .map(id);
    let stored: Vec<Memory> =
        ids.iter().rev().map(|id| Memory { id: *id, ..scene.memory("x", 1) }).collect();
    store.save_memories(&stored).await.unwrap();
    let (first, last) =
        (id("5f0a0000-0000-0000-0000-000000000000"), id("5f0affff-ffff-ffff-ffff-ffffffffffff"));
    assert_eq!(store.memory_ids(first, last, 10).await.unwrap(), ids[..3]);
    assert_eq!(store.memory_ids(first, last, 2).await.unwrap(), ids[..2]);
    assert_eq!(store.memory_ids(ids[3], ids[3], 10).await.unwrap(), ids[3..]);
    assert!(
        store
            .memory_ids(
                id("60000000-0000-0000-0000-000000000000"),
                id("6fffffff-ffff-ffff-ffff-ffffffffffff"),
                10
            )
            .await
            .unwrap()
            .is_empty()
    );
}

/// Counting covers all matches and ignores the limit.
pub async fn counting_ignores_the_limit(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let stored: Vec<Memory> =
        (0..20).map(|n| scene.memory(if n % 2 == 0 { "even" } else { "odd" }, n)).collect();
    store.save_memories(&stored).await.unwrap();
    store
        .save_memories(&[Memory { kind: MemoryKind::Facts, ..scene.memory("even", 1) }])
        .await
        .unwrap();
    let limited = MemoryQuery { limit: 3, ..all(scene) };
    assert_eq!(store.count_memories(&limited).await.unwrap(), 21);
    assert_eq!(
        store.count_memories(&limited.clone().kind(MemoryKind::Messages)).await.unwrap(),
        20
    );
    assert_eq!(
        store.count_memories(&MemoryQuery { since: Some(Timestamp(15)), ..limited }).await.unwrap(),
        5
    );
    assert_eq!(store.count_memories(&all(Scene::new())).await.unwrap(), 0);
}

/// Saving a memory under a known id keeps the first one.
pub async fn saved_memories_are_never_overwritten(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let memory = scene.memory("first", 1);
    let other =
        Memory { content: Content::text("second"), agent_id: Scene::new().agent, ..memory.clone() };
    store.save_memories(&[memory.clone(), other.clone()]).await.unwrap();
    store.save_memories(&[other, scene.memory("beside", 2)]).await.unwrap();
    assert_eq!(store.memory(memory.id).await.unwrap(), Some(memory));
    assert_eq!(texts(&store, all(scene)).await, ["beside", "first"]);
}

/// An edit changes the memory and the search index, and only for its own agent.
pub async fn content_is_replaced_for_its_agent_only(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let memory = scene.memory("the marble statue", 1);
    store.save_memories(std::slice::from_ref(&memory)).await.unwrap();
    assert_eq!(found(&store, scene, "marble").await.len(), 1);
    let edited = Content::text("the ivory statue");
    assert!(!store.update_content(Scene::new().agent, memory.id, &edited).await.unwrap());
    assert!(!store.update_content(scene.agent, MemoryId::fresh(), &edited).await.unwrap());
    assert_eq!(found(&store, scene, "marble").await, ["the marble statue"]);
    assert!(store.update_content(scene.agent, memory.id, &edited).await.unwrap());
    assert_eq!(found(&store, scene, "marble").await, Vec::<String>::new());
    assert_eq!(found(&store, scene, "ivory statue").await, ["the ivory statue"]);
    let after = store.memory(memory.id).await.unwrap().unwrap();
    assert_eq!(after, Memory { content: edited, ..memory });
}

/// Deleted memories disappear from lists and search; later ones are still found.
pub async fn memories_are_deleted_for_their_agent_only(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let memories = [
        scene.memory("red apple", 1),
        scene.memory("green apple", 2),
        scene.memory("yellow apple", 3),
    ];
    store.save_memories(&memories).await.unwrap();
    assert_eq!(found(&store, scene, "apple").await.len(), 3);
    let ids = memories.each_ref().map(|m| m.id);
    assert_eq!(store.delete_memories(Scene::new().agent, &ids).await.unwrap(), 0);
    assert_eq!(
        store.delete_memories(scene.agent, &[ids[0], ids[2], MemoryId::fresh()]).await.unwrap(),
        2
    );
    assert_eq!(store.delete_memories(scene.agent, &[]).await.unwrap(), 0);
    assert_eq!(texts(&store, all(scene)).await, ["green apple"]);
    assert_eq!(found(&store, scene, "apple").await, ["green apple"]);
    assert_eq!(store.memory(ids[0]).await.unwrap(), None);
    store.save_memories(&[scene.memory("new apple", 4)]).await.unwrap();
    assert_eq!(
        found(&store, scene, "new").await,
        ["new apple"],
        "a row that reuses a deleted one's place is indexed"
    );
}

/// Twenty agents hold the same words in their rooms. Each query returns only the asking agent's
/// memories.
pub async fn another_agents_memories_are_never_returned(store: Arc<dyn Store>) {
    let scenes: Vec<Scene> = (0..20).map(|_| Scene::new()).collect();
    let shared = scenes[0].room;
    for (n, scene) in scenes.iter().enumerate() {
        let in_shared = Scene { room: shared, ..*scene };
        store
            .save_memories(&[
                scene.memory(&format!("canary {n}"), 1),
                in_shared.memory(&format!("canary {n}"), 2),
            ])
            .await
            .unwrap();
    }
    for (n, scene) in scenes.iter().enumerate() {
        let expected = format!("canary {n}");
        for query in [all(*scene), all(*scene).room(shared), all(*scene).kind(MemoryKind::Messages)]
        {
            let found = texts(&store, query.clone()).await;
            assert!(
                !found.is_empty() && found.iter().all(|text| *text == expected),
                "{query:?} gave {found:?}"
            );
            assert_eq!(store.count_memories(&query).await.unwrap(), found.len() as u64);
        }
    }
}

/// Text survives storing unchanged, whatever characters JSON or a platform can carry.
pub async fn odd_text_survives(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let odd = [
        "",
        "\0",
        "a\0b",
        "\u{1F916}\u{200D}",
        "\\u0000 \\",
        "'\"`",
        "line\nfeed\r\t",
        "\u{FFFF}\u{7f}",
        "null",
        "[1]",
        "ﷺ".repeat(5_000).leak() as &str,
    ];
    let mut memories: Vec<Memory> = odd.iter().map(|text| scene.memory(text, 1)).collect();
    memories[0].metadata = object(
        json!({"": {"a\0": [null, true, -1.5e300, 18_446_744_073_709_551_615_u64, -9_223_372_036_854_775_808_i64, 0.1]}}),
    );
    memories[0].content.extra = object(json!({"x-y": {"$.path": "[0]"}, "deep": [[[[{}]]]]}));
    memories[0].created_at = Timestamp(i64::MAX);
    memories[1].created_at = Timestamp(i64::MIN);
    store.save_memories(&memories).await.unwrap();
    for memory in memories {
        assert_eq!(store.memory(memory.id).await.unwrap(), Some(memory));
    }
}

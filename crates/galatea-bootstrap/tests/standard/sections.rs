//! In a model with a small window every section of a prompt stays within its share of it.

use galatea_core::{
    Derived, Embedding, Entity, MemoryId, MemoryKind, MemoryScope, ModelInfo, Participant,
    Relationship, RelationshipId, Timestamp, model::ModelLimits, sections::Section, tokens::Family,
};
use galatea_testkit::models::ScriptedModel;
use serde_json::{Map, json};
use std::{collections::BTreeMap, sync::Arc};

use crate::{
    meaning::Tea,
    scene::{MARIA, Scene, someone},
};

const SMALL: u32 = 4_096;
/// Tokens of headings, and of the mark where a text was cut.
const FRAME: u64 = 24;
/// Others in the room, of whom something is known.
const CROWD: u128 = 39;
/// Of them the message names so many.
const NAMED: u128 = 16;
const LONG: &str = "It rained on Friday and everyone stayed at home with a book and a pot of tea. ";

/// A scene in which every section has more to say than a small window takes.
fn crowded(window: Option<u32>) -> Scene {
    let mut scene = Scene::group();
    let limits = ModelLimits { window, ..ModelLimits::default() };
    let info = ModelInfo { limits, ..ModelInfo::default() };
    scene.models.large = Arc::new(ScriptedModel::new().with_info(info));
    let character = Arc::make_mut(&mut scene.agent.character);
    character.bio =
        (0..20).map(|n| format!("Eliza has kept story {n} of the old harbour town, and tells it to whoever asks for it")).collect();
    character.message_examples = serde_json::from_value(json!(
        (0..8)
            .map(|n| json!([
                { "name": "{{user1}}", "content": { "text": format!("Tell me story {n}, please.") } },
                { "name": "Eliza", "content": { "text": format!("Story {n} begins at the pier, as all of them do. {}", LONG.repeat(2)) } },
            ]))
            .collect::<Vec<_>>()
    ))
    .unwrap();
    scene.earlier = Some(Timestamp(5));
    for n in 0..4 {
        let memory = scene.message_by(MARIA, &format!("remark {n}"));
        scene.recent.push(memory.into());
    }
    let named: Vec<String> = (100..100 + NAMED)
        .map(|n| format!("Person number {n} of the old harbour town by the sea"))
        .collect();
    let question = format!("what happened on Friday, {}?", named.join(", "));
    scene.message = scene.message_by(MARIA, &question);
    let room = scene.room.id;
    for n in 0..60 {
        let at = Timestamp(n);
        // Messages that say the same are shown once.
        let words: Vec<String> = (0..7).map(|word| format!("ship{n}{word}")).collect();
        let text = format!("Friday tea: {}", words.join(" "));
        scene.keep(MemoryKind::Messages, someone(MARIA), room, &text, at);
    }
    scene.models.embedding = Some(Tea::of("small", 3));
    let mut tables = scene.double.tables();
    let said: Vec<MemoryId> = tables.memories.iter().map(|memory| memory.id).collect();
    for id in said {
        let near = Embedding::new(vec![1.0, 0.1, 0.1]).unwrap();
        tables.embeddings.insert(id, ("test small".into(), near));
    }
    let row = |kind: MemoryKind, who: u128, text: String, at: i64| galatea_core::Memory {
        id: MemoryId::fresh(),
        kind,
        entity_id: someone(who),
        content: galatea_core::Content::text(text),
        created_at: Timestamp(at),
        metadata: Map::from_iter([
            ("saidBy".to_owned(), json!(someone(who))),
            ("subjectName".to_owned(), json!("Maria")),
            ("saidByName".to_owned(), json!("Maria")),
        ]),
        ..scene.message.clone()
    };
    let mut kept = Vec::new();
    for n in 0..30 {
        let text = format!("Maria noted {n}: {}", LONG.repeat(3));
        kept.push(row(MemoryKind::Facts, MARIA, text, 100 + n));
    }
    for n in 0..3 {
        let source = kept[0].id;
        let profile = row(MemoryKind::Profiles, MARIA, LONG.repeat(7), 200 + n);
        tables
            .derived
            .insert(profile.id, Derived::new(profile.clone(), MemoryScope::Room, vec![source]));
        tables.memories.push(profile);
    }
    let mut summary = row(MemoryKind::Summaries, MARIA, LONG.repeat(25), 300);
    summary.metadata = Map::from_iter([("coversUntil".to_owned(), json!(5))]);
    kept.push(summary);
    tables.memories.extend(kept);
    for n in 100..100 + CROWD {
        let entity = Entity {
            id: someone(n),
            agent_id: scene.agent.identity.id(),
            names: vec![format!("Person number {n} of the old harbour town by the sea")],
            metadata: Map::new(),
        };
        tables.entities.push(entity);
        tables.participants.push(Participant { entity_id: someone(n), room_id: room, state: None });
        tables.relationships.push(Relationship {
            id: RelationshipId::fresh(),
            agent_id: scene.agent.identity.id(),
            source_entity_id: someone(MARIA),
            target_entity_id: someone(n),
            tags: Vec::new(),
            metadata: Map::from_iter([
                ("interactions".to_owned(), json!(n)),
                ("rooms".to_owned(), json!({ room.to_string(): ["friend of the family"] })),
            ]),
        });
    }
    drop(tables);
    scene
}

/// The sections and their texts.
async fn shown(scene: &Scene) -> BTreeMap<&'static str, String> {
    let mut texts = BTreeMap::new();
    for name in ["SUMMARIZED_CONTEXT", "ENTITIES", "RELATIONSHIPS", "FACTS", "MEMORIES"] {
        texts.insert(name, scene.shows(name).await.text);
    }
    let character = scene.shows("CHARACTER").await;
    for (name, value) in [("BIO", "bio"), ("EXAMPLES", "characterMessageExamples")] {
        let value = character.values[value].as_str().unwrap().to_owned();
        texts.insert(name, value);
    }
    texts
}

fn share(name: &str, window: u32) -> u64 {
    let of = |section: Section| section.share(Some(window));
    match name {
        "SUMMARIZED_CONTEXT" => of(Section::Summary),
        "ENTITIES" => of(Section::Entities),
        "RELATIONSHIPS" => of(Section::Relationships),
        "FACTS" => of(Section::Facts) + of(Section::Profiles),
        "MEMORIES" => of(Section::Memories),
        "BIO" => of(Section::Bio),
        "EXAMPLES" => of(Section::Examples),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn in_a_small_window_every_section_keeps_to_its_share() {
    let whole = shown(&crowded(None)).await;
    let small = shown(&crowded(Some(SMALL))).await;
    for (name, text) in &small {
        let (tokens, before) = (Family::Other.text(text), Family::Other.text(&whole[name]));
        assert!(!text.is_empty(), "{name} has something to say");
        assert!(tokens <= share(name, SMALL) + FRAME, "{name}: {tokens} tokens\n{text}");
        assert!(
            before > share(name, SMALL) && before > tokens,
            "{name}: {before} tokens need no budget"
        );
    }
    let more = " more.";
    assert!(small["ENTITIES"].ends_with(more), "those left out are counted: {}", small["ENTITIES"]);
    let summary = &small["SUMMARIZED_CONTEXT"];
    assert!(summary.ends_with(LONG.trim_end()), "its last sentences: {summary}");
}

#[tokio::test]
async fn a_large_window_changes_nothing() {
    let whole = shown(&crowded(None)).await;
    assert_eq!(shown(&crowded(Some(128_000))).await, whole);
}

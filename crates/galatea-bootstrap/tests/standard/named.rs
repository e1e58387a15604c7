//! Whom a question names: people whom the room knows, present or not, and no person of another place.

use galatea_core::{
    Entity, EntityId, Fragment, Memory, MemoryKind, Participant, RoomId, Settings, Speakers,
    Timestamp,
    fusion::{Fusion, HALF_LIFE},
    store::RecallQuery,
};
use galatea_testkit::recall::Set;
use serde_json::json;
use std::{collections::HashMap, sync::Arc, time::Duration};

use crate::{
    meaning::Tea,
    scene::{BOB, MARIA, Scene, ZOE, someone},
};

pub(crate) const STAFF: RoomId = RoomId(uuid::Uuid::from_u128(101));

/// What a provider's last search of this kind asked for.
async fn asks(scene: &Scene, provider: &str, kind: MemoryKind) -> (RecallQuery, Fragment) {
    let shown = scene.shows(provider).await;
    let tables = scene.double.tables();
    let of = |query: &&RecallQuery| query.kinds == [kind] && !query.text.is_empty();
    (tables.queries.iter().rev().find(of).unwrap().clone(), shown)
}

async fn memories(scene: &Scene) -> RecallQuery {
    asks(scene, "MEMORIES", MemoryKind::Messages).await.0
}

async fn facts(scene: &Scene) -> RecallQuery {
    asks(scene, "FACTS", MemoryKind::Facts).await.0
}

/// A fact, with the name of whom it is about.
fn learn(scene: &Scene, about: u128, name: &str, room: RoomId, text: &str) {
    scene.keep(MemoryKind::Facts, someone(about), room, text, Timestamp(1));
    let mut tables = scene.double.tables();
    tables.memories.last_mut().unwrap().metadata.insert("subjectName".into(), json!(name));
}

/// What the platform says of a person of this name and handle.
fn platform(names: &[&str]) -> serde_json::Map<String, serde_json::Value> {
    let said = json!({ "name": names.first(), "userName": names.get(1) });
    [("telegram".to_owned(), said)].into_iter().collect()
}

/// A person who takes part in a room.
pub(crate) fn join(scene: &Scene, entity_id: EntityId, names: &[&str], room_id: RoomId) {
    let mut tables = scene.double.tables();
    tables.entities.push(Entity {
        id: entity_id,
        agent_id: scene.agent.identity.id(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        metadata: platform(names),
    });
    tables.participants.push(Participant { entity_id, room_id, state: None });
}

/// A group in which Maria alone has spoken lately, and more is known of her than a prompt shows.
fn long_talk(text: &str) -> Scene {
    let mut scene = Scene::group();
    scene.earlier = Some(Timestamp(0));
    for n in 0..13 {
        learn(&scene, MARIA, "Maria", scene.room.id, &format!("fact {n}"));
    }
    for n in 0..4 {
        let said = scene.message_by(MARIA, &format!("remark {n}"));
        scene.recent.push(Arc::new(said));
    }
    scene.message = scene.message_by(MARIA, text);
    scene
}

#[tokio::test]
async fn who_spoke_long_ago_or_elsewhere_in_the_world_is_named() {
    let mut scene = long_talk("what did bob say of the kettle?");
    let model = Tea::of("small", 3);
    scene.models.embedding = Some(model.clone());
    let asked = memories(&scene).await;
    assert_eq!((asked.named, asked.names), (vec![someone(BOB)], vec!["bob".to_owned()]));
    let asked = facts(&scene).await;
    assert_eq!((asked.named, asked.names.len()), (vec![someone(BOB)], 0), "facts contain names");
    assert_eq!(*model.asked.lock().unwrap(), [["what did say of the kettle?"]; 2]);
    // Zoe is not in this room, and the room sees a fact about her.
    learn(&scene, ZOE, "Zoe #004d", scene.room.id, "Zoe has a kettle");
    scene.plugin = galatea_bootstrap::plugin();
    scene.message = scene.message_by(MARIA, "has ZOE a kettle?");
    assert_eq!(facts(&scene).await.named, [someone(ZOE)]);
    let asked = memories(&scene).await;
    assert!(asked.named.is_empty() && asked.names.is_empty(), "what others say of her is sought");
}

#[tokio::test]
async fn the_agent_is_addressed_by_its_name_and_not_asked_for() {
    let mut scene = long_talk("Eliza, and what did Bob say?");
    let own = scene.agent.identity.entity();
    let said = Memory { entity_id: own, ..scene.message_by(BOB, "the kettle is blue") };
    scene.recent.push(Arc::new(said));
    let asked = memories(&scene).await;
    assert_eq!(
        (asked.named, asked.names, asked.mentions),
        (vec![someone(BOB)], vec!["Eliza".into(), "Bob".into()], vec!["Bob".into()])
    );
}

/// A name that only another room knows is an ordinary word here.
#[tokio::test]
async fn a_name_of_another_place_changes_nothing() {
    let ask = "what about Zoe and the kettle?";
    let mut scene = long_talk(ask);
    let model = Tea::of("small", 3);
    scene.models.embedding = Some(model.clone());
    join(&scene, someone(ZOE), &["Zoe"], STAFF);
    learn(&scene, ZOE, "Zoe", STAFF, "Zoe sells kettles");
    for asked in [memories(&scene).await, facts(&scene).await] {
        assert!(asked.named.is_empty() && asked.names.is_empty(), "{asked:?}");
        assert_eq!(asked.text, ask);
    }
    assert_eq!(*model.asked.lock().unwrap(), [[ask]; 2]);
    // The same plugin knows her in the other room, and still not here.
    let here = std::mem::replace(&mut scene.room, scene.double.tables().rooms[1].clone());
    assert_eq!(here.id, scene.message.room_id);
    assert_eq!(memories(&scene).await.named, [someone(ZOE)]);
    scene.room = here;
    assert_eq!(memories(&scene).await.named, []);
}

/// After an unlink, facts from the other account's private Room add no names.
#[tokio::test]
async fn the_end_of_a_link_ends_what_it_named() {
    let mut scene = Scene::private();
    learn(&scene, BOB, "Robert", scene.room.id, "Robert likes tea");
    scene.double.tables().linked.push(vec![someone(MARIA), someone(BOB)]);
    let private = {
        let tables = scene.double.tables();
        let fact = tables.memories.last().unwrap().clone();
        galatea_core::Derived::new(fact, galatea_core::MemoryScope::Private, Vec::new())
    };
    scene.double.tables().derived.insert(private.memory.id, private);
    learn(&scene, MARIA, "Maria", scene.room.id, "Maria likes tea");
    scene.message = scene.message_by(MARIA, "does Robert like tea?");
    assert_eq!(facts(&scene).await.named, [someone(BOB)]);
    scene.double.tables().linked.clear();
    assert_eq!(facts(&scene).await.named, []);
}

/// Names cost no statement of a turn: the runtime has read the people of the room, and the people of
/// its facts are read once in five minutes.
#[tokio::test]
async fn names_of_a_room_are_not_read_and_those_of_its_facts_once_in_five_minutes() {
    let scene = long_talk("what did Bob say?");
    let count = || scene.double.tables().asked;
    scene.shows("ENTITIES").await;
    assert_eq!(count(), 0);
    memories(&scene).await;
    assert_eq!(count(), 1, "its search alone");
    facts(&scene).await;
    let before = count();
    facts(&scene).await;
    let again = count() - before;
    scene.clock.advance(Duration::from_secs(299));
    let before = count();
    facts(&scene).await;
    assert_eq!(count() - before, again);
    scene.clock.advance(Duration::from_secs(1));
    join(&scene, someone(ZOE), &["Bob"], scene.room.id);
    assert_eq!(memories(&scene).await.named, [someone(BOB), someone(ZOE)], "both of one name");
    let before = count();
    facts(&scene).await;
    assert_eq!(count() - before, again + 1, "the people of facts");
}

/// Two people of one name have their suffixes wherever a prompt names them, and others have none.
#[tokio::test]
async fn namesakes_are_told_apart_in_all_parts_of_a_prompt() {
    let mut scene = long_talk("what did Bob say?");
    join(&scene, someone(ZOE), &["Bob", "zoe_handle"], scene.room.id);
    let [bob, zoe] = ["Bob #0004", "Bob #004d"];
    let listed = scene.shows("ENTITIES").await.text;
    assert_eq!(
        listed,
        format!("Also here, though silent lately: {bob}, {zoe}."),
        "before a fact was learnt"
    );
    learn(&scene, ZOE, "Bob", scene.room.id, "Bob has a kettle");
    scene.plugin = galatea_bootstrap::plugin();
    scene.message = scene.message_by(BOB, "what does Bob have?");
    let known = scene.shows("FACTS").await.text;
    assert!(known.contains(&format!("About {zoe} it is known: “Bob has a kettle”")), "{known}");
    let called = |scene: &Scene, who| Speakers::of(&scene.turn()).name(someone(who));
    assert_eq!((called(&scene, BOB), called(&scene, MARIA)), (bob.to_owned(), "Maria".to_owned()));
    // A person of another room does not change what those here are called.
    learn(&scene, 99, "Maria", scene.room.id, "Maria has a boat");
    scene.message = scene.message_by(MARIA, "what is known of Maria?");
    let known = scene.shows("FACTS").await.text;
    assert!(known.contains("About Maria #0063 it is known: “Maria has a boat”"), "{known}");
    assert!(known.contains("About Maria it is known: “fact "), "{known}");
    assert_eq!(called(&scene, MARIA), "Maria");
}

/// With every question of the retrieval set the providers search as the figures of `docs/search.md`
/// are measured: for the people named, without their names, with the text that the set has a vector
/// of, and with the usual levers.
#[tokio::test]
async fn providers_ask_as_the_retrieval_set_is_measured() {
    let mut scene = long_talk("hello");
    let model = Tea::of("small", 3);
    scene.models.embedding = Some(model.clone());
    let set = Set::load();
    let mut people: HashMap<&str, EntityId> = HashMap::new();
    for name in set.speakers() {
        people.entry(name).or_insert_with(EntityId::fresh);
    }
    for (name, person) in &people {
        join(&scene, *person, &[name], scene.room.id);
    }
    let (mut turns, mut of_facts) = (0, 0);
    for question in &set.questions {
        scene.message = scene.message_by(MARIA, &question.question);
        let ids: Vec<EntityId> = question.names.iter().map(|name| people[name.as_str()]).collect();
        let is_fact = question.kind == "fact";
        let asked = if is_fact { facts(&scene).await } else { memories(&scene).await };
        let names = if is_fact { &[][..] } else { &question.names };
        assert_eq!((asked.text, asked.named), (question.question.clone(), ids));
        assert_eq!(asked.names, names, "{}", question.question);
        assert_eq!((asked.fusion, asked.meanings.len()), (Fusion::default(), 1));
        let embedded = model.asked.lock().unwrap().last().cloned().unwrap();
        assert_eq!(embedded, [question.embedded()]);
        *(if is_fact { &mut of_facts } else { &mut turns }) += 1;
    }
    assert!(turns > 250 && of_facts > 100, "{turns} {of_facts}");
}

#[tokio::test]
async fn age_counts_in_a_search_if_it_is_set() {
    let mut scene = long_talk("what did Bob say?");
    assert_eq!(memories(&scene).await.fusion, Fusion::default());
    scene.agent.settings = Settings::from_pairs([(HALF_LIFE.name, 30)]);
    let half_life = Some(Duration::from_secs(30 * 86_400));
    assert_eq!(memories(&scene).await.fusion, Fusion { half_life, ..Fusion::default() });
    scene.agent.settings = Settings::from_pairs([(HALF_LIFE.name, "soon")]);
    let failure = scene.provider("MEMORIES").provide(&scene.turn()).await.unwrap_err();
    assert!(failure.report().contains(HALF_LIFE.name), "{}", failure.report());
}

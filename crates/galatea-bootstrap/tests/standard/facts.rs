//! Facts over time: what replaces what, who said it, and where it is shown.

use galatea_core::{
    ChannelType, Derived, EntityId, Memory, MemoryKind, MemoryScope, RoomId,
    store::{DerivedChange, DerivedStore, Superseded},
};
use serde_json::json;

use crate::{
    reflection::reflects,
    scene::{BOB, MARIA, Scene, someone},
};

/// The sentences are said, eight messages with them, and the model answers with this lesson. `mN`
/// in it is the number of the Nth sentence.
pub(crate) async fn learn(scene: &mut Scene, said: &[(u128, &str)], lesson: serde_json::Value) {
    let before = scene.recent.len() + 1;
    let seen = before.min(8);
    for (who, text) in said.iter().copied().chain((0..8).map(|_| (MARIA, "Hm."))) {
        let memory = scene.message_by(who, text);
        let last = std::mem::replace(&mut scene.message, memory);
        scene.recent.push(last.into());
    }
    let first = if scene.model.requests().is_empty() { before } else { seen };
    let mut lesson = lesson.to_string();
    for n in (1..=said.len()).rev() {
        lesson = lesson.replace(&format!("\"m{n}\""), &(first + n).to_string());
    }
    scene.model.enqueue(lesson);
    reflects(scene).await.unwrap();
}

fn all(scene: &Scene) -> Vec<Derived> {
    let tables = scene.double.tables();
    let facts = tables.memories.iter().filter(|memory| memory.kind == MemoryKind::Facts);
    facts.map(|fact| tables.whole(fact)).collect()
}

pub(crate) fn valid(scene: &Scene) -> Vec<String> {
    let valid = all(scene).into_iter().filter(|fact| fact.valid_until.is_none());
    valid.map(|fact| fact.memory.content.text).collect()
}

pub(crate) fn fact(about: &str, text: &str, evidence: &str) -> serde_json::Value {
    json!({ "about": about, "fact": text, "evidence": [evidence] })
}

pub(crate) fn lesson(facts: Vec<serde_json::Value>) -> serde_json::Value {
    json!({ "facts": facts })
}

#[tokio::test]
async fn a_move_leaves_the_new_place_in_the_prompt_and_the_old_one_in_the_store() {
    let mut scene = Scene::group();
    learn(
        &mut scene,
        &[(MARIA, "I live in Ghent")],
        lesson(vec![fact("Maria", "Maria lives in Ghent.", "m1")]),
    )
    .await;
    let shown = scene.shows("FACTS").await.text;
    assert!(shown.contains("“Maria lives in Ghent.” (said "), "{shown}");
    scene.clock.advance(std::time::Duration::from_secs(30 * 86_400));
    let moved = json!({ "about": "Maria", "fact": "Maria moved to Lyon.", "evidence": "m1", "replaces": "k1" });
    learn(&mut scene, &[(MARIA, "I have moved to Lyon")], lesson(vec![moved])).await;
    let asked = scene.model.requests()[1].messages[0].text();
    assert!(asked.contains("k1 Maria: Maria lives in Ghent. (said by themselves, "), "{asked}");

    let shown = scene.shows("FACTS").await.text;
    assert!(shown.contains("Lyon") && !shown.contains("Ghent"), "{shown}");
    let stored = all(&scene);
    let [ghent, lyon] = stored.as_slice() else { panic!("{stored:?}") };
    assert_eq!(ghent.valid_until, Some(lyon.memory.created_at), "until the message about Lyon");
    assert!(ghent.memory.created_at < lyon.memory.created_at);
    assert_eq!(ghent.superseded_by, Some(lyon.memory.id));
    let said = scene.recent.iter().find(|m| m.content.text.contains("Lyon")).unwrap();
    assert_eq!(lyon.sources, [said.id]);
}

/// What replaces a merged fact speaks of one of its parts; the others hold as before.
#[tokio::test]
async fn a_contradiction_of_a_merged_fact_costs_none_of_its_other_parts() {
    let mut scene = Scene::group();
    let said = [(MARIA, "I live in Ghent"), (MARIA, "I have a cat")];
    let lesson_of_two =
        vec![fact("Maria", "Maria lives in Ghent.", "m1"), fact("Maria", "Maria has a cat.", "m2")];
    learn(&mut scene, &said, lesson(lesson_of_two)).await;
    let parts = all(&scene);
    let mut both = parts[1].memory.clone();
    both.id = galatea_core::MemoryId::fresh();
    both.content.text = "Maria lives in Ghent and has a cat.".to_owned();
    let of: Vec<&Derived> = parts.iter().collect();
    let origin = galatea_core::fact::Origin::of(&both);
    galatea_core::fact::note_merged(&mut both.metadata, &origin, both.entity_id, &of);
    let superseded = parts
        .iter()
        .map(|part| Superseded { id: part.memory.id, at: both.created_at, by: Some(both.id) })
        .collect();
    let sources = parts
        .iter()
        .flat_map(|part| part.sources.iter().copied().chain([part.memory.id]))
        .collect();
    let new = vec![Derived::new(both, parts[0].scope, sources)];
    let change = DerivedChange { new, superseded, ..DerivedChange::default() };
    scene.double.change_derived(scene.agent.identity.id(), &change).await.unwrap();
    assert_eq!(valid(&scene), ["Maria lives in Ghent and has a cat."]);

    let moved = json!({ "about": "Maria", "fact": "Maria moved to Lyon.", "evidence": "m1", "replaces": "k1" });
    learn(&mut scene, &[(MARIA, "I have moved to Lyon")], lesson(vec![moved])).await;
    let left = valid(&scene);
    assert!(left.contains(&"Maria has a cat.".to_owned()), "{left:?}");
    assert!(left.contains(&"Maria moved to Lyon.".to_owned()), "{left:?}");
    assert!(!left.contains(&"Maria lives in Ghent and has a cat.".to_owned()), "{left:?}");
}

#[tokio::test]
async fn hearsay_is_marked_and_never_replaces_what_the_person_said() {
    let mut scene = Scene::group();
    let said = [(MARIA, "I live in Ghent"), (BOB, "Maria has a dog, and Zoe sings")];
    learn(
        &mut scene,
        &said,
        lesson(vec![
            fact("Maria", "Maria lives in Ghent.", "m1"),
            fact("Maria", "Maria has a dog.", "m2"),
            fact("Zoe", "Zoe sings.", "m2"),
            fact("Yan", "Yan dances.", "m2"),
        ]),
    )
    .await;
    assert_eq!(valid(&scene), ["Maria lives in Ghent.", "Maria has a dog.", "Zoe sings."]);
    let zoe = all(&scene).pop().unwrap();
    assert_eq!(
        (&zoe.memory.metadata["subjectName"], zoe.memory.metadata["trust"].as_str()),
        (&json!("Zoe"), Some("untrusted"))
    );

    // Bob contradicts Maria, then himself; Maria ends it.
    let against = |text: &str, k: &str| json!({ "about": "Maria", "fact": text, "evidence": "m1", "replaces": k });
    let number = |scene: &Scene, text: &str| {
        let asked = scene.model.requests().last().unwrap().messages[0].text();
        let line = asked.lines().find(|line| line.starts_with('k') && line.contains(text));
        line.unwrap().split(' ').next().unwrap().to_owned()
    };
    learn(
        &mut scene,
        &[(BOB, "Maria lives in Rome")],
        lesson(vec![against("Maria lives in Rome.", "k1")]),
    )
    .await;
    let ghent = number(&scene, "Ghent");
    assert_eq!(ghent, "k1", "the lesson meant it");
    assert!(valid(&scene).contains(&"Maria lives in Ghent.".to_owned()));
    let shown = scene.shows("FACTS").await.text;
    assert!(
        shown.contains("“Maria lives in Rome.” (hearsay from Bob, ")
            && shown.contains("“Maria lives in Ghent.” (said "),
        "{shown}"
    );
    learn(&mut scene, &[(BOB, "Maria lives in Oslo, sorry")], lesson(vec![])).await;
    let rome = number(&scene, "Rome");
    learn(
        &mut scene,
        &[(BOB, "Maria lives in Oslo")],
        lesson(vec![against("Maria lives in Oslo.", &rome)]),
    )
    .await;
    let now = valid(&scene);
    assert!(
        now.contains(&"Maria lives in Oslo.".to_owned())
            && !now.contains(&"Maria lives in Rome.".to_owned()),
        "{now:?}"
    );
}

/// In an imported conversation "tomorrow" is not the day after today.
#[tokio::test]
async fn the_model_reads_on_which_day_each_message_was_written() {
    let mut scene = Scene::group();
    let write = |scene: &mut Scene, text: &str| {
        let memory = scene.message_by(MARIA, text);
        let last = std::mem::replace(&mut scene.message, memory);
        scene.recent.push(last.into());
    };
    let day = std::time::Duration::from_secs(86_400);
    for text in ["I move to Gdansk tomorrow", "Bye", "I have moved"] {
        write(&mut scene, text);
        if text != "I move to Gdansk tomorrow" {
            scene.clock.advance(day);
        }
    }
    (0..5).for_each(|_| write(&mut scene, "Hm."));
    scene.model.enqueue("{}");
    reflects(&scene).await.unwrap();
    let asked = scene.model.requests()[0].messages[0].text();
    let days: Vec<&str> = asked.lines().filter(|line| !line.starts_with('m')).collect();
    assert_eq!(
        days,
        [
            "# Conversation, until Saturday, January 3, 2026",
            "(Thu 1 Jan 2026)",
            "(Fri 2 Jan 2026)",
            "(Sat 3 Jan 2026)"
        ]
    );
    let lines: Vec<&str> = asked.lines().collect();
    assert!(
        lines[3].ends_with("I move to Gdansk tomorrow") && lines[6].ends_with("I have moved"),
        "{asked}"
    );

    // On one day the heading says it.
    for _ in 0..2 {
        (0..8).for_each(|_| write(&mut scene, "Hm."));
        scene.model.enqueue("{}");
        reflects(&scene).await.unwrap();
    }
    let asked = scene.model.requests()[2].messages[0].text();
    assert!(!asked.contains("\n("), "{asked}");
}

#[tokio::test]
async fn the_agents_own_words_and_old_messages_are_no_evidence() {
    let mut scene = Scene::group();
    let agent = scene.agent.identity.entity();
    let own = Memory { entity_id: agent, ..scene.message_by(MARIA, "Maria owns a castle") };
    scene.recent.push(own.into());
    learn(
        &mut scene,
        &[(MARIA, "I like tea")],
        json!({ "facts": [{ "about": "Maria", "fact": "Maria owns a castle.", "evidence": 2 }, { "about": "Maria", "fact": "no evidence" },
            { "about": "Maria", "fact": "from nowhere", "evidence": 99 }, { "about": "Maria", "fact": "Maria likes tea.", "evidence": "m1" }] }),
    )
    .await;
    assert_eq!(valid(&scene), ["Maria likes tea."]);
    // The last eight are shown again, without numbers.
    learn(
        &mut scene,
        &[(MARIA, "Good")],
        json!({ "facts": [{ "about": "Maria", "fact": "Maria hums.", "evidence": 3 }] }),
    )
    .await;
    assert_eq!(valid(&scene), ["Maria likes tea."]);
}

#[tokio::test]
async fn a_source_that_was_deleted_meanwhile_teaches_nothing() {
    let mut scene = Scene::group();
    let id = scene.message.id;
    scene.double.tables().gone.push(id);
    let row = Derived::new(
        Memory {
            kind: MemoryKind::Facts,
            id: galatea_core::MemoryId::fresh(),
            ..scene.message.clone()
        },
        MemoryScope::Room,
        vec![id],
    );
    let change = DerivedChange { new: vec![row], ..DerivedChange::default() };
    let stored = scene.double.change_derived(scene.agent.identity.id(), &change).await.unwrap();
    assert_eq!(stored, 0);
    scene.message = scene.message_by(MARIA, "x");
}

/// Facts with each scope, about Maria, are shown where the scope says.
#[tokio::test]
async fn facts_are_shown_where_their_room_allows() {
    let scopes = [
        (ChannelType::Group, Some(true), MemoryScope::World),
        (ChannelType::Group, Some(false), MemoryScope::Room),
        (ChannelType::Group, None, MemoryScope::Room),
        (ChannelType::Dm, None, MemoryScope::Private),
    ];
    for (kind, open, scope) in scopes {
        let mut scene = if kind == ChannelType::Dm { Scene::private() } else { Scene::group() };
        scene.message = scene.message_by(MARIA, "hello");
        if let Some(open) = open {
            scene.room.metadata.insert("openToWorld".into(), open.into());
        }
        learn(&mut scene, &[(MARIA, "I like tea")], lesson(vec![fact("", "likes tea", "m1")]))
            .await;
        let stored = all(&scene);
        assert_eq!(stored[0].scope, scope, "{kind:?} {open:?}");
        assert_eq!(
            stored[0].memory.content.text, "Maria: likes tea",
            "a question with the name finds it"
        );
        assert!(scene.shows("FACTS").await.text.contains("likes tea"), "{kind:?} {open:?}");

        // Another room of the World, then the person's direct room, then another person's.
        let world = scene.room.world_id;
        let (here, message) = (scene.room.clone(), scene.message.clone());
        let elsewhere = RoomId(uuid::Uuid::from_u128(101));
        let mut shows = async |room: RoomId, world, kind, who: u128| {
            scene.room = scene.a_room(room, world, "other", kind);
            scene.recent.clear();
            scene.message = scene.message_by(who, "what about tea?");
            scene.shows("FACTS").await.text.contains("likes tea")
        };
        let beside = shows(elsewhere, world, ChannelType::Group, BOB).await;
        assert_eq!(beside, scope == MemoryScope::World, "{kind:?} {open:?}");
        let own = RoomId(uuid::Uuid::from_u128(102));
        let direct = shows(own, someone(MARIA).0.into(), ChannelType::Dm, MARIA).await;
        assert_eq!(direct, scope == MemoryScope::Private, "{kind:?} {open:?}");
        let others =
            shows(RoomId(someone(BOB).0), someone(BOB).0.into(), ChannelType::Dm, BOB).await;
        assert!(!others, "{kind:?} {open:?}");
        (scene.room, scene.message) = (here, message);
    }
}

#[tokio::test]
async fn what_is_said_of_another_in_private_stays_in_that_room() {
    let mut scene = Scene::private();
    scene.message = scene.message_by(MARIA, "hello");
    let entity: EntityId = someone(BOB);
    scene.joins(BOB, scene.room.id);
    learn(&mut scene, &[(MARIA, "Bob snores")], lesson(vec![fact("Bob", "Bob snores.", "m1")]))
        .await;
    let stored = all(&scene);
    assert_eq!((stored[0].scope, stored[0].memory.entity_id), (MemoryScope::Room, entity));
    scene.message = scene.message_by(MARIA, "does Bob snore?");
    assert!(scene.shows("FACTS").await.text.contains("“Bob snores.” (hearsay from Maria, "));
    scene.room =
        scene.a_room(RoomId(someone(BOB).0), someone(BOB).0.into(), "Bob", ChannelType::Dm);
    scene.recent.clear();
    scene.message = scene.message_by(BOB, "do I snore?");
    assert_eq!(scene.shows("FACTS").await.text, "");
}

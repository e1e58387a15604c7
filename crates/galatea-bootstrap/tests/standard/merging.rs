//! Beyond what a room may know, the least used facts about one person are merged.

use galatea_core::{
    Derived, EntityId, Memory, MemoryId, MemoryKind, MemoryScope, Timestamp, fact, fact::Origin,
};
use serde_json::json;

use crate::{
    double::Tables,
    reflection::{after, reflects},
    scene::{BOB, MARIA, Scene, someone},
};

const LESSON: &str = r#"{"facts":[{"about":"Bob","fact":"Bob likes tea.","evidence":8}]}"#;
/// Facts of the room before the reflection that learns one more.
const MANY: usize = 500;
/// What is left of them.
const LEFT: usize = 450;
/// Those about Maria, the oldest: one question each thirty.
const ABOUT_MARIA: usize = 30;

/// A fact with one message as its source.
fn known(
    scene: &Scene,
    about: EntityId,
    by: EntityId,
    name: &str,
    text: &str,
    at: i64,
) -> MemoryId {
    let origin =
        Origin { said_by: Some(by), said_by_name: name.to_owned(), subject_name: name.to_owned() };
    let memory = Memory {
        id: MemoryId::fresh(),
        kind: MemoryKind::Facts,
        entity_id: about,
        content: galatea_core::Content::text(text),
        metadata: origin.metadata(about),
        created_at: Timestamp(at),
        ..scene.message.clone()
    };
    let id = memory.id;
    let row = Derived::new(memory.clone(), MemoryScope::World, vec![MemoryId::fresh()]);
    let mut tables = scene.double.tables();
    tables.memories.push(memory);
    tables.derived.insert(id, row);
    id
}

/// A room with the maximum number of facts. The oldest are about Maria. Each other fact is about a
/// different person.
fn full() -> (Scene, Vec<MemoryId>) {
    let scene = after(8);
    let colours = ["green", "white", "black", "iced"];
    let mut about = Vec::new();
    for n in 0..MANY {
        let at = i64::try_from(n).unwrap();
        if n < ABOUT_MARIA {
            let text = format!("Maria likes {} tea", colours[n % 4]);
            about.push(known(&scene, someone(MARIA), someone(MARIA), "Maria", &text, at));
        } else {
            let who = someone(1_000 + n as u128);
            known(&scene, who, who, "Somebody", "Somebody sings", at);
        }
    }
    (scene, about)
}

async fn merges(scene: &Scene, answers: &[&str]) {
    scene.model.enqueue(LESSON);
    answers.iter().for_each(|answer| scene.model.enqueue(*answer));
    reflects(scene).await.unwrap();
}

fn row(tables: &Tables, id: MemoryId) -> Derived {
    tables.whole(tables.memories.iter().find(|memory| memory.id == id).unwrap())
}

fn valid(tables: &Tables) -> Vec<Derived> {
    let facts = tables.memories.iter().filter(|memory| memory.kind == MemoryKind::Facts);
    facts.map(|fact| tables.whole(fact)).filter(|fact| fact.valid_until.is_none()).collect()
}

/// Valid facts whose text is none of those that were there before.
fn new(tables: &Tables) -> Vec<Derived> {
    let known = ["Maria likes", "Somebody sings", "Bob likes tea."];
    valid(tables)
        .into_iter()
        .filter(|fact| !known.iter().any(|text| fact.memory.content.text.starts_with(text)))
        .collect()
}

fn all(text: &str) -> String {
    let numbers: Vec<usize> = (1..=ABOUT_MARIA).collect();
    json!({ "facts": [{ "from": numbers, "fact": text }] }).to_string()
}

#[tokio::test]
async fn the_least_used_facts_about_one_person_become_one() {
    let (scene, about) = full();
    merges(&scene, &[&all("so Maria likes green, white, black and iced tea")]).await;
    let asked = scene.model.requests();
    assert_eq!(asked.len(), 2, "one question about them");
    let lines = asked[1].messages[0].text();
    assert!(lines.starts_with("# Notes about Maria\n1 Maria likes green tea ("), "{lines}");
    assert!(!lines.contains("Somebody"), "{lines}");
    let tables = scene.double.tables();
    let [merged] = new(&tables).try_into().unwrap();
    for id in &about {
        let part = row(&tables, *id);
        assert_eq!(part.superseded_by, Some(merged.memory.id));
        assert_eq!(part.valid_until, Some(scene.message.created_at));
        assert!(merged.sources.contains(id) && merged.sources.contains(&part.sources[0]));
    }
    assert_eq!(merged.sources.len(), 2 * ABOUT_MARIA);
    assert_eq!((merged.scope, merged.memory.entity_id), (MemoryScope::World, someone(MARIA)));
    assert_eq!(merged.memory.created_at, Timestamp(29), "as old as the newest of them");
    assert_eq!(merged.memory.metadata["trust"], "untrusted");
    assert!(Origin::of(&merged.memory).is_own(someone(MARIA)));
    let one = fact::confidence(&row(&tables, about[0]));
    assert_eq!(fact::confidence(&merged), one, "more sources make it no more certain");
    assert_eq!(valid(&tables).len(), LEFT, "the rest expired");
    let expired = tables
        .derived
        .values()
        .filter(|row| row.valid_until.is_some() && row.superseded_by.is_none());
    assert_eq!(expired.count(), MANY + 1 - LEFT - (ABOUT_MARIA - 1));
}

#[tokio::test]
async fn what_a_hostile_answer_says_is_not_stored() {
    let twice = r#"{"facts":[{"from":[1,2],"fact":"x Maria likes tea"},{"from":[2,3],"fact":"y Maria likes tea"}]}"#;
    for (answer, stored) in [
        (r#"{"facts":[{"from":[1,31],"fact":"x Maria likes tea"}]}"#, 0),
        (r#"{"facts":[{"from":[0,1],"fact":"x Maria likes tea"}]}"#, 0),
        (r#"{"facts":[{"from":["1","2"],"fact":"x Maria likes tea"}]}"#, 0),
        (r#"{"facts":[{"from":[1],"fact":"x Maria likes tea"}]}"#, 0),
        (r#"{"facts":[{"from":[1,1],"fact":"x Maria likes tea"}]}"#, 0),
        (r#"{"facts":[{"from":[1,2],"fact":""}]}"#, 0),
        (r#"{"facts":[{"from":[1,2],"fact":"x Bob likes tea"}]}"#, 0),
        (r#"{"facts":[{"from":[1,2],"fact":"she likes tea"}]}"#, 0),
        (r#"{"facts":[{"from":[1,2],"fact":"Zoltan and Maria like tea"}]}"#, 0),
        (r#"{"facts":[{"from":[1,2],"fact":"x Maria likes tea. Zoltan pays"}]}"#, 0),
        (r#"{"facts":[{"from":[1,2],"fact":"x Maria likes 7 kinds of tea"}]}"#, 0),
        (r#"{"facts":[]}"#, 0),
        ("no", 0),
        (twice, 1),
    ] {
        let (scene, about) = full();
        merges(&scene, &[answer, answer]).await;
        let tables = scene.double.tables();
        assert_eq!(new(&tables).len(), stored, "{answer}");
        assert_eq!(valid(&tables).len(), LEFT, "{answer}");
        let replaced = about.iter().filter(|id| row(&tables, **id).superseded_by.is_some());
        assert_eq!(replaced.count(), 2 * stored, "{answer}");
    }
    let (scene, _) = full();
    let long = all(&format!("x Maria likes {}", "tea ".repeat(100)));
    merges(&scene, &[&long, &long]).await;
    assert!(new(&scene.double.tables()).is_empty(), "longer than a fact may be");
}

#[tokio::test]
async fn an_answer_that_cannot_be_used_is_asked_for_once_more() {
    let (scene, _) = full();
    merges(&scene, &[&all("x Zoltan likes tea"), &all("x Maria likes tea")]).await;
    let asked = scene.model.requests();
    assert_eq!(asked.len(), 3);
    assert!(asked[2].messages.last().unwrap().text().contains("Zoltan"));
    assert_eq!(new(&scene.double.tables()).len(), 1);
}

/// Only facts of one scope, about one person and in the words of one person are merged.
#[tokio::test]
async fn facts_of_another_scope_or_author_stay_apart() {
    let (scene, about) = full();
    {
        let mut tables = scene.double.tables();
        let hearsay = Origin {
            said_by: Some(someone(BOB)),
            said_by_name: "Bob".into(),
            subject_name: "Maria".into(),
        };
        for id in &about[..2] {
            tables.derived.get_mut(id).unwrap().scope = MemoryScope::Room;
        }
        for id in &about[2..4] {
            let memory = tables.memories.iter_mut().find(|memory| memory.id == *id).unwrap();
            memory.metadata = hearsay.metadata(someone(MARIA));
        }
    }
    let answer = r#"{"facts":[{"from":[1,2],"fact":"x Maria likes tea"}]}"#;
    merges(&scene, &[answer, answer, answer]).await;
    let tables = scene.double.tables();
    let made = new(&tables);
    assert_eq!(made.len(), 3);
    let parts = |fact: &Derived| about.iter().position(|id| fact.sources.contains(id)).unwrap();
    for fact in &made {
        let own = Origin::of(&fact.memory).is_own(someone(MARIA));
        let expected = match parts(fact) {
            0 => (MemoryScope::Room, true),
            2 => (MemoryScope::World, false),
            4 => (MemoryScope::World, true),
            other => panic!("{other}"),
        };
        assert_eq!((fact.scope, own), expected);
    }
}

#[tokio::test]
async fn while_a_model_fails_a_fifth_more_facts_hold_before_any_expire() {
    for (more, left) in [(0, MANY + 1), (99, MANY + 100), (100, LEFT)] {
        let (scene, about) = full();
        for n in 0..more {
            let who = someone(5_000 + n as u128);
            known(&scene, who, who, "Somebody", "Somebody sings", 1_000);
        }
        scene.model.enqueue(LESSON);
        let failure = galatea_core::Error::new(galatea_core::ErrorKind::Unavailable, "down");
        scene.model.enqueue_result(Err(failure));
        reflects(&scene).await.unwrap();
        assert_eq!(scene.model.requests().len(), 2, "it is not asked again");
        let tables = scene.double.tables();
        assert_eq!(valid(&tables).len(), left, "{more}");
        let expired = about.iter().filter(|id| row(&tables, **id).valid_until.is_some()).count();
        assert_eq!(expired, if left == LEFT { ABOUT_MARIA } else { 0 });
    }
}

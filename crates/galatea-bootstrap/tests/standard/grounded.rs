//! A derived fact is stored if its words stand in a message, and known facts about the people concerned
//! are in the question whatever the words.

use galatea_core::{EntityId, Memory, MemoryKind, Settings, Timestamp};
use galatea_testkit::models::ScriptedModel;
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

use crate::{
    facts::{fact, lesson, valid},
    reflection::{after, facts, reflects, say},
    scene::{BOB, MARIA, Scene, someone},
};

/// What a small model made of a message of Maria's.
async fn learnt(said: &str, made: Value) -> Vec<String> {
    let mut scene = after(8);
    scene.message = scene.message_by(MARIA, said);
    scene.model.enqueue(made.to_string());
    reflects(&scene).await.unwrap();
    valid(&scene)
}

#[tokio::test]
async fn what_stands_in_no_message_is_not_stored() {
    let said = "My name is Maria, I live in Ghent and have a dog called Pip.";
    let made = lesson(vec![
        fact("Maria", "Maria is my dog", "m8"),
        fact("Maria", "Maria is a 3-legged dog named Pip", "m8"),
        fact("Maria", "Maria lives in Bruges", "m8"),
        fact("Bob", "Bob lives in Ghent", "m8"),
        fact("Maria", "Maria lives in Ghent", "m8"),
        fact("Maria", "Maria has a dog called Pip", "m8"),
    ]);
    assert_eq!(learnt(said, made).await, ["Maria lives in Ghent", "Maria has a dog called Pip"]);
}

/// A small model of llama.cpp named the message before.
#[tokio::test]
async fn a_fact_with_the_wrong_number_belongs_to_the_message_that_says_it() {
    let mut scene = after(6);
    let said = [(BOB, "I am allergic to peanuts"), (MARIA, "My sister works as a nurse")];
    for (who, text) in said {
        let memory = scene.message_by(who, text);
        let last = std::mem::replace(&mut scene.message, memory);
        scene.recent.push(last.into());
    }
    let made = lesson(vec![fact("Bob", "Bob is allergic to peanuts.", "m8")]);
    scene.model.enqueue(made.to_string());
    reflects(&scene).await.unwrap();
    let [stored] = facts(&scene).try_into().unwrap();
    assert_eq!(
        (stored.entity_id, &stored.metadata["saidBy"]),
        (someone(BOB), &json!(someone(BOB)))
    );
    let source = scene.double.tables().whole(&stored).sources;
    let bobs = scene.recent.iter().find(|memory| memory.content.text.contains("peanuts")).unwrap();
    assert_eq!(source, [bobs.id]);
}

/// A model whose facts stand in no message, or whose answers cannot be read, is left alone for a while.
#[tokio::test]
async fn a_model_that_cannot_learn_is_left_alone() {
    let nonsense = lesson(vec![fact("Bob", "Bob is my dog", "m1")]).to_string();
    for answers in [vec![nonsense], vec!["I learnt much.".to_owned(), "Nothing.".to_owned()]] {
        let mut scene = after(8);
        for _ in 0..3 {
            answers.iter().for_each(|answer| scene.model.enqueue(answer.clone()));
            let _ = reflects(&scene).await;
            say(&mut scene, 32);
        }
        let asked = scene.model.requests().len();
        assert_eq!(asked, 3 * answers.len());
        for _ in 0..3 {
            reflects(&scene).await.unwrap();
            say(&mut scene, 32);
        }
        // A restart does not forget it.
        scene.plugin = galatea_bootstrap::plugin();
        reflects(&scene).await.unwrap();
        assert_eq!(scene.model.requests().len(), asked, "it is not asked");
        let said = async |scene: &Scene| {
            let (store, agent) = (scene.double.clone(), scene.agent.identity.id());
            galatea_bootstrap::learns_nothing(store, agent, scene.clock_now()).await.unwrap()
        };
        let finding = said(&scene).await.unwrap();
        assert_eq!(finding.id, "GAL-MODEL-FACTS");
        assert!(finding.message.contains("for 6 more hours"), "{}", finding.message);
        assert!(finding.fix.unwrap().contains("SMALL_MODEL") && finding.cause.is_some());
        scene.clock.advance(Duration::from_secs(6 * 3_600 + 1));
        assert_eq!(said(&scene).await, None);
        say(&mut scene, 8);
        let newest = scene.recent.len() + 1;
        let made = fact("", "likes tea", &format!("m{}", newest.min(96)));
        scene.model.enqueue(lesson(vec![made]).to_string());
        reflects(&scene).await.unwrap();
        assert_eq!(scene.model.requests().len(), asked + 1, "and then asked again");
        assert_eq!(facts(&scene).len(), 1);
    }
}

/// Where nothing is worth remembering, reflections become rarer, and usual again once one learns.
#[tokio::test]
async fn a_room_that_teaches_nothing_is_reflected_on_less_often() {
    let mut scene = after(0);
    scene.model = Arc::new(ScriptedModel::saying("{}"));
    scene.models = galatea_core::Models::of_text(scene.model.clone());
    let mut asked = Vec::new();
    for n in 1..=160_usize {
        say(&mut scene, 1);
        reflects(&scene).await.unwrap();
        if scene.model.requests().len() > asked.len() {
            asked.push(n);
        }
    }
    let between: Vec<usize> = asked.windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!(between, [8, 8, 16, 16, 16, 32, 32], "{asked:?}");
}

const PEOPLE: u128 = 30;
/// Facts about each person that are newer than where they live.
const OTHERS: i64 = 6;

fn name(n: u128) -> String {
    let letter = |n: u128| char::from(b'a' + u8::try_from(n % 26).unwrap());
    format!("Q{}{}uin", letter(n), letter(n / 26))
}

fn called(scene: &Scene, n: u128, text: &str) -> Memory {
    let mut memory = scene.message_by(MARIA, text);
    memory.entity_id = someone(1_000 + n);
    memory.metadata.insert("entityName".into(), json!(name(n)));
    memory
}

/// An honest model: it knows what it is shown. A place replaces a known place of the same person.
fn honest(asked: &str) -> String {
    let known: Vec<(&str, &str)> = asked
        .lines()
        .filter(|line| line.starts_with('k'))
        .filter_map(|line| line.split_once(' '))
        .collect();
    let mut facts = Vec::new();
    for line in asked.lines().filter(|line| line.starts_with('m')) {
        let Some((number, rest)) = line.split_once(' ') else { continue };
        let Some((by, said)) = rest.split_once(": ") else { continue };
        let mut who = by;
        let verb = ["live in ", "moved to ", "lives in ", "my new address is in "];
        let Some(verb) = verb.iter().find(|verb| said.contains(**verb)) else { continue };
        let place = said.split(verb).nth(1).unwrap().trim_end_matches('.');
        if let Some(of) = said.strip_prefix("you know, ") {
            who = of.split(' ').next().unwrap();
        }
        let of = |(_, fact): &&(&str, &str)| {
            fact.starts_with(&format!("{who}:")) && fact.contains("in Town")
        };
        let old = known.iter().find(of).map(|(k, _)| *k);
        let text = match *verb {
            "my new address is in " => format!("{who} has a new address in {place}."),
            "moved to " => format!("{who} moved to {place}."),
            _ => format!("{who} lives in {place}."),
        };
        facts.push(json!({ "about": who, "fact": text, "evidence": [number], "replaces": old }));
    }
    json!({ "facts": facts }).to_string()
}

/// How many of the people of a group have their new place alone, if each says it in these words.
async fn moved(words: impl Fn(u128) -> (u128, String)) -> usize {
    let mut scene = Scene::group();
    scene.agent.settings = Settings::from_pairs([("REFLECTION_INTERVAL", 8)]);
    let model = ScriptedModel::answering(|request| {
        Ok(ScriptedModel::text(honest(&request.messages[0].text())))
    });
    scene.models = galatea_core::Models::of_text(Arc::new(model));
    for n in 0..PEOPLE {
        let who = someone(1_000 + n);
        crate::named::join(&scene, who, &[&name(n)], scene.room.id);
        let learn = |text: String, at: i64| {
            scene.keep(MemoryKind::Facts, who, scene.room.id, &text, Timestamp(at));
            let mut tables = scene.double.tables();
            let metadata = &mut tables.memories.last_mut().unwrap().metadata;
            metadata.insert("subjectName".into(), json!(name(n)));
            metadata.insert("saidBy".into(), json!(who));
            metadata.insert("saidByName".into(), json!(name(n)));
        };
        learn(format!("{} lives in Town{n}", name(n)), 1);
        for at in 0..OTHERS {
            learn(format!("{} collects {at} stamps of the old king", name(n)), 2 + at);
        }
    }
    for from in (0..PEOPLE).step_by(6) {
        for n in from..from + 6 {
            for (by, text) in [words(n), (n, "the king has no stamps".to_owned())] {
                let memory = called(&scene, by, &text);
                let last = std::mem::replace(&mut scene.message, memory);
                scene.recent.push(last.into());
            }
        }
        reflects(&scene).await.unwrap();
    }
    let valid: BTreeSet<String> = valid(&scene).into_iter().collect();
    let right = |n: &u128| {
        let of = |text: &&String| text.contains(&name(*n)) && !text.contains("stamps");
        let own: Vec<&String> = valid.iter().filter(of).collect();
        own.len() == 1 && own[0].contains(&format!("City{n}"))
    };
    (0..PEOPLE).filter(right).count()
}

#[tokio::test]
async fn in_a_group_of_thirty_each_move_replaces_the_place_before_in_any_words() {
    let all = usize::try_from(PEOPLE).unwrap();
    assert_eq!(moved(|n| (n, format!("I live in City{n}"))).await, all, "in the same words");
    assert_eq!(moved(|n| (n, format!("I moved to City{n}"))).await, all, "in other words");
    let address = |n| (n, format!("my new address is in City{n}"));
    assert_eq!(moved(address).await, all, "in words that are no synonyms");
}

/// A person who is spoken of is concerned as well. What others say of them stands beside their own words.
#[tokio::test]
async fn the_facts_of_a_person_who_is_spoken_of_are_in_the_question() {
    let mut scene = Scene::group();
    for n in 0..40 {
        let about = someone(2_000 + n);
        scene.keep(MemoryKind::Facts, about, scene.room.id, &format!("noise {n}"), Timestamp(9));
    }
    scene.keep(MemoryKind::Facts, someone(BOB), scene.room.id, "Bob keeps bees", Timestamp(1));
    for n in 0..9 {
        let text = if n == 3 { "guess whom I met: Bob" } else { "hm" };
        let memory = scene.message_by(MARIA, text);
        let last = std::mem::replace(&mut scene.message, memory);
        scene.recent.push(last.into());
    }
    scene.model.enqueue("{}");
    reflects(&scene).await.unwrap();
    let asked = scene.model.requests()[0].messages[0].text();
    let (_, known) = asked.split_once("# Known already").unwrap();
    assert!(known.lines().nth(1).unwrap().contains("Bob keeps bees"), "{asked}");
    assert!(known.matches("noise").count() < 12, "{asked}");
}

/// A talk, what a real model made of it, and what is stored of that.
#[derive(serde::Deserialize)]
struct Recorded {
    talk: Vec<(String, String)>,
    answer: String,
    kept: Vec<String>,
}

/// Answers of a real small model to the question of a reflection.
#[tokio::test]
async fn of_what_a_real_model_made_of_talks_the_true_facts_are_stored() {
    let recorded = include_str!("../../../../tests/facts/recorded.jsonl");
    for line in recorded.lines() {
        let recorded: Recorded = serde_json::from_str(line).unwrap();
        let mut scene = Scene::group();
        scene.agent.settings = Settings::from_pairs([("REFLECTION_INTERVAL", 1)]);
        let own = scene.agent.identity.entity();
        for (name, text) in &recorded.talk {
            let mut memory = scene.message_by(MARIA, text);
            if name == "Galatea" {
                memory.entity_id = own;
            } else {
                let id = EntityId(scene.agent.identity.swizzle(name));
                memory.entity_id = id;
                memory.metadata.insert("entityName".into(), json!(name));
                if !scene.double.tables().entities.iter().any(|entity| entity.id == id) {
                    crate::named::join(&scene, id, &[name], scene.room.id);
                }
            }
            let last = std::mem::replace(&mut scene.message, memory);
            // The first one is the placeholder of the scene.
            if last.id.0.as_u128() != 1_000 {
                scene.recent.push(last.into());
            }
        }
        scene.model.enqueue(recorded.answer);
        reflects(&scene).await.unwrap();
        assert_eq!(valid(&scene), recorded.kept);
    }
}

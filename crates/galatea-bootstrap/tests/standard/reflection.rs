//! When a reflection happens, and what it stores.

use galatea_core::{
    Clock, Content, Derived, Error, ErrorKind, FinishedTurn, Memory, MemoryId, MemoryKind, Models,
    Settings, Verdict, model::LIMIT_CODE,
};
use galatea_testkit::models::ScriptedModel;
use serde_json::json;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use crate::scene::{BOB, MARIA, Scene, someone};

pub(crate) async fn reflects(scene: &Scene) -> galatea_core::Result<()> {
    let turn = scene.turn();
    let finished = FinishedTurn { turn: &turn, replies: &[], verdict: &Verdict::default() };
    let evaluator = &scene.plugin.evaluators[0];
    if evaluator.validate(&finished).await? {
        evaluator.evaluate(&finished).await?;
    }
    Ok(())
}

/// A group with `count` messages, the last of which is being answered.
pub(crate) fn after(count: usize) -> Scene {
    let mut scene = Scene::group();
    say(&mut scene, count);
    scene
}

pub(crate) fn say(scene: &mut Scene, count: usize) {
    for n in 0..count {
        let memory = scene.message_by(if n % 2 == 0 { MARIA } else { BOB }, "I like tea");
        let last = std::mem::replace(&mut scene.message, memory);
        if last.id.0.as_u128() != 1_000 {
            scene.recent.push(last.into());
        }
    }
}

pub(crate) fn facts(scene: &Scene) -> Vec<Memory> {
    scene.double.tables().memories.iter().filter(|m| m.kind == MemoryKind::Facts).cloned().collect()
}

const LESSON: &str = r#"{"facts":[{"about":"Bob","fact":"Bob likes tea.","evidence":8},{"about":"Eliza","fact":"is a bot","evidence":8},{"about":"Stranger","fact":"is absent","evidence":8},{"fact":"Likes tea, too.","evidence":8}],
"relationships":[{"from":"Maria","to":"Bob","tags":["friend"]},{"from":"Maria","to":"Maria"},{"from":"Maria","to":"Nobody"}]}"#;

#[tokio::test]
async fn it_happens_after_enough_messages_and_then_counts_anew() {
    let mut scene = after(7);
    reflects(&scene).await.unwrap();
    assert!(scene.model.requests().is_empty(), "seven are too few");
    say(&mut scene, 1);
    scene.model.enqueue("{\"facts\":[]}");
    reflects(&scene).await.unwrap();
    assert_eq!(scene.model.requests().len(), 1);
    reflects(&scene).await.unwrap();
    say(&mut scene, 7);
    reflects(&scene).await.unwrap();
    assert_eq!(scene.model.requests().len(), 1, "the old ones do not count again");
    say(&mut scene, 1);
    scene.model.enqueue("{\"facts\":[]}");
    reflects(&scene).await.unwrap();
    assert_eq!(scene.model.requests().len(), 2);
}

#[tokio::test]
async fn a_long_interval_counts_what_is_stored() {
    let mut scene = after(10);
    scene.agent.settings = Settings::from_pairs([("REFLECTION_INTERVAL", 20)]);
    scene.earlier = Some(galatea_core::Timestamp(24));
    reflects(&scene).await.unwrap();
    assert!(scene.model.requests().is_empty());
    for n in 0..25 {
        scene.keep(
            MemoryKind::Messages,
            someone(MARIA),
            scene.room.id,
            "earlier",
            galatea_core::Timestamp(n),
        );
    }
    scene.model.enqueue("{}");
    reflects(&scene).await.unwrap();
    assert_eq!(scene.model.requests().len(), 1);
}

#[tokio::test]
async fn a_short_conversation_at_hand_does_not_end_learning() {
    let mut scene = after(5);
    scene.earlier = Some(galatea_core::Timestamp(7));
    for n in 0..8 {
        scene.keep(
            MemoryKind::Messages,
            someone(MARIA),
            scene.room.id,
            "earlier",
            galatea_core::Timestamp(n),
        );
    }
    scene.model.enqueue("{}");
    reflects(&scene).await.unwrap();
    assert_eq!(scene.model.requests().len(), 1, "what is stored counts, too");
}

#[tokio::test]
async fn what_left_the_window_is_read_back_and_little_is_read_twice() {
    let mut scene = after(8);
    scene.model.enqueue("{}");
    reflects(&scene).await.unwrap();
    let place = scene.room.id;
    for n in 0..30 {
        scene.clock.advance(std::time::Duration::from_secs(1));
        let now = scene.clock.now();
        scene.keep(MemoryKind::Messages, someone(MARIA), place, &format!("passed {n}."), now);
    }
    scene.recent.clear();
    scene.earlier = Some(scene.clock.now());
    say(&mut scene, 4);
    scene.recent.remove(0);
    scene.model.enqueue("{}");
    reflects(&scene).await.unwrap();
    let asked = scene.model.requests().last().unwrap().messages[0].text();
    let lines: Vec<&str> = asked.lines().collect();
    assert!(lines.iter().any(|line| line.ends_with(": passed 0.")), "{asked}");
    assert!(lines.iter().any(|line| line.ends_with(": passed 29.")), "{asked}");
    assert!(lines.last().unwrap().ends_with(": I like tea"), "{asked}");

    for _ in 0..2 {
        say(&mut scene, 20);
        scene.model.enqueue("{}");
        reflects(&scene).await.unwrap();
    }
    let asked = scene.model.requests().last().unwrap().messages[0].text();
    assert_eq!(asked.lines().count(), 1 + 20 + 8, "the last eight are shown again: {asked}");
    let numbered = asked.lines().filter(|line| line.starts_with('m')).count();
    assert_eq!(numbered, 20, "and nothing is learnt from them again: {asked}");
}

#[tokio::test]
async fn a_question_dated_before_the_answer_that_it_follows_is_new() {
    let mut scene = after(1);
    scene.agent.settings = Settings::from_pairs([("REFLECTION_INTERVAL", 1)]);
    let asked_at = scene.message.created_at;
    let answered_at = asked_at.plus(std::time::Duration::from_millis(300));
    let own = scene.agent.identity.entity();
    scene.keep(MemoryKind::Messages, own, scene.room.id, "Tea is fine.", answered_at);
    for asked in 1..=2 {
        scene.model.enqueue("{}");
        reflects(&scene).await.unwrap();
        assert_eq!(scene.model.requests().len(), asked);
        reflects(&scene).await.unwrap();
        assert_eq!(scene.model.requests().len(), asked, "nothing was said since");
        say(&mut scene, 1);
        scene.message.created_at = asked_at;
    }
}

#[tokio::test]
async fn beyond_what_a_room_may_know_the_least_used_expire() {
    let mut scene = after(8);
    for n in 0..500 {
        scene.keep(
            MemoryKind::Facts,
            someone(MARIA),
            scene.room.id,
            &if n == 3 { "zebra number 3".to_owned() } else { format!("fact number {n}") },
            galatea_core::Timestamp(n),
        );
    }
    // The twelve newest are about Maria; the message asks for an old one.
    scene.message = scene.message_by(MARIA, "what about zebra?");
    let shown = scene.shows("FACTS").await.text;
    assert!(shown.contains("“zebra number 3”"), "{shown}");
    scene.message = scene.message_by(BOB, "I like tea");
    scene.model.enqueue(LESSON);
    reflects(&scene).await.unwrap();
    let tables = scene.double.tables();
    let all: Vec<Derived> = facts_in(&tables);
    let valid: Vec<&str> = all
        .iter()
        .filter(|fact| fact.valid_until.is_none())
        .map(|fact| fact.memory.content.text.as_str())
        .collect();
    assert_eq!((all.len(), valid.len()), (502, 450), "they stay in the store");
    for kept in ["Bob likes tea.", "fact number 499", "zebra number 3"] {
        assert!(valid.contains(&kept), "{kept}");
    }
    assert!(!valid.contains(&"fact number 0") && !valid.contains(&"fact number 4"));
}

fn facts_in(tables: &crate::double::Tables) -> Vec<Derived> {
    let facts = tables.memories.iter().filter(|memory| memory.kind == MemoryKind::Facts);
    facts.map(|fact| tables.whole(fact)).collect()
}

#[tokio::test]
async fn a_small_model_learns_from_what_it_takes() {
    let mut scene = after(0);
    for n in 0..40 {
        let memory = scene.message_by(
            if n % 2 == 0 { MARIA } else { BOB },
            &format!("number {n} {}", "long ".repeat(300)),
        );
        scene.recent.push(memory.into());
    }
    scene.model.enqueue_result(Err(Error::new(ErrorKind::TooLong, "too long")));
    scene.model.enqueue("{}");
    reflects(&scene).await.unwrap();
    let asked: Vec<String> =
        scene.model.requests().iter().map(|request| request.messages[0].text()).collect();
    assert!(
        asked.len() == 2
            && asked[1].len() <= asked[0].len() / 2 + 100
            && asked[1].contains("number 39")
            && !asked[1].contains("number 0 ")
    );
}

#[tokio::test]
async fn it_is_off_for_scripts_and_when_switched_off() {
    let mut scene = after(20);
    scene.agent.settings = Settings::from_pairs([("REFLECTION_INTERVAL", 0)]);
    reflects(&scene).await.unwrap();
    assert_eq!((scene.model.requests().len(), scene.double.tables().asked), (0, 0));
    let mut scene = after(20);
    scene.scripted();
    reflects(&scene).await.unwrap();
    assert_eq!(scene.double.tables().asked, 0);
    scene.agent.settings = Settings::from_pairs([("REFLECTION_INTERVAL", "often")]);
    assert!(reflects(&scene).await.unwrap_err().to_string().contains("REFLECTION_INTERVAL"));
    let refused = galatea_bootstrap::check(&scene.agent.settings).unwrap_err();
    assert!(refused.to_string().contains("REFLECTION_INTERVAL"), "at the start: {refused}");
    assert!(galatea_bootstrap::check(&Settings::from_pairs([("REFLECTION_INTERVAL", 0)])).is_ok());
}

#[tokio::test]
async fn facts_are_stored_with_their_place_and_found_again() {
    let mut scene = after(8);
    scene.model.enqueue(LESSON);
    assert_eq!(scene.shows("FACTS").await.text, "", "looked up before anything is known");
    reflects(&scene).await.unwrap();
    let stored = facts(&scene);
    assert_eq!(stored.len(), 2, "Stranger stands in no message: {stored:?}");
    for fact in &stored {
        assert_eq!(
            (&fact.metadata["saidBy"], &fact.metadata["subjectName"]),
            (&json!(someone(BOB)), &json!("Bob"))
        );
        assert_eq!(
            (fact.room_id, fact.world_id, fact.agent_id),
            (scene.room.id, Some(scene.room.world_id), scene.agent.identity.id())
        );
        assert_eq!(fact.metadata["trust"], "untrusted");
        assert_eq!(fact.entity_id, someone(BOB), "the last speaker is Bob");
    }
    let shown = scene.shows("FACTS").await.text;
    assert!(
        shown.contains("“Bob likes tea.” (said ") && shown.contains("Likes tea, too."),
        "{shown}"
    );

    scene.clock.advance(std::time::Duration::from_secs(1));
    say(&mut scene, 8);
    scene.model.enqueue(r#"{"facts":[{"about":"Bob","fact":"bob likes TEA","evidence":16},{"about":"Maria","fact":"Maria likes tea.","evidence":15}]}"#);
    reflects(&scene).await.unwrap();
    assert_eq!(facts(&scene).len(), 3, "known facts are not stored twice, except about another");
    let asked = scene.model.requests().last().unwrap().messages[0].text();
    assert!(
        asked.contains("# Known already\nk1 ") && asked.contains("m15 Maria: I like tea"),
        "{asked}"
    );
    let tables = scene.double.tables();
    let tea = facts_in(&tables)
        .into_iter()
        .find(|f| f.memory.content.text == "Bob likes tea." && f.memory.entity_id == someone(BOB));
    assert_eq!(tea.unwrap().sources.len(), 2, "the second message confirms it");
}

#[tokio::test]
async fn relationships_count_and_belong_to_the_room() {
    let mut scene = after(8);
    for n in 1..=2_u64 {
        scene.model.enqueue(LESSON);
        reflects(&scene).await.unwrap();
        let ties = scene.double.tables().relationships.clone();
        assert_eq!(ties.len(), 1);
        assert_eq!(
            (ties[0].source_entity_id, ties[0].target_entity_id),
            (someone(MARIA), someone(BOB))
        );
        assert_eq!(
            (&ties[0].tags, &ties[0].metadata["interactions"]),
            (&vec!["friend".to_owned()], &json!(n))
        );
        say(&mut scene, 8);
    }
    scene.message = scene.message_by(MARIA, "whom do I know?");
    assert_eq!(scene.shows("RELATIONSHIPS").await.text, "By hearsay Maria knows Bob (friend).");
}

#[tokio::test]
async fn a_model_that_fails_is_not_asked_again_with_every_message() {
    let mut scene = after(8);
    scene.model.enqueue_result(Err(Error::unexpected("down")));
    assert!(reflects(&scene).await.is_err());
    say(&mut scene, 1);
    reflects(&scene).await.unwrap();
    assert_eq!(scene.model.requests().len(), 1);
}

#[tokio::test]
async fn messages_of_a_reflection_that_failed_are_read_by_the_next_one() {
    let mut scene = after(8);
    let down = || Error::new(ErrorKind::Unavailable, "overloaded");
    let spent = || Error::invalid("used up").with_code(LIMIT_CODE);
    // Neither an outage nor a spent budget counts as a failed attempt, however long it takes.
    for error in [down(), down(), down(), spent(), spent(), spent()] {
        scene.model.enqueue_result(Err(error));
        assert!(reflects(&scene).await.is_err());
        say(&mut scene, 8);
    }
    scene.model.enqueue(LESSON);
    reflects(&scene).await.unwrap();
    assert_eq!(numbered(&scene), 56);
    assert_eq!(facts(&scene).len(), 2);

    say(&mut scene, 8);
    scene.model.enqueue("{}");
    reflects(&scene).await.unwrap();
    assert_eq!(numbered(&scene), 8, "what was learnt is not read again");
}

/// The messages that the model was last asked about.
fn numbered(scene: &Scene) -> usize {
    let asked = scene.model.requests().last().unwrap().messages[0].text();
    asked.lines().filter(|line| line.starts_with('m')).count()
}

#[tokio::test]
async fn messages_that_no_model_can_read_are_passed_over() {
    for kind in [ErrorKind::Unexpected, ErrorKind::Timeout] {
        let mut scene = after(8);
        let mut read = Vec::new();
        for _ in 0..4 {
            scene.model.enqueue_result(Err(Error::new(kind, "down")));
            assert!(reflects(&scene).await.is_err());
            read.push(numbered(&scene));
            say(&mut scene, 8);
        }
        assert_eq!(read, [8, 16, 24, 8]);
    }
}

#[test]
fn messages_that_lead_to_a_panic_are_passed_over() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut scene = after(8);
    let answers = scene.models.clone();
    scene.models = Models::of_text(Arc::new(ScriptedModel::answering(|_| panic!("a fault"))));
    for _ in 0..3 {
        let reflection = AssertUnwindSafe(|| runtime.block_on(reflects(&scene)));
        assert!(catch_unwind(reflection).is_err());
        say(&mut scene, 8);
    }
    scene.models = answers;
    scene.model.enqueue("{}");
    runtime.block_on(reflects(&scene)).unwrap();
    assert_eq!(numbered(&scene), 8);
}

#[tokio::test]
async fn a_model_that_is_too_slow_for_many_messages_learns_from_fewer() {
    let mut scene = after(96);
    for read in [96, 48] {
        scene.model.enqueue_result(Err(Error::new(ErrorKind::Timeout, "too slow")));
        assert!(reflects(&scene).await.is_err());
        assert_eq!(numbered(&scene), read);
        say(&mut scene, 8);
    }
    for read in [24, 8] {
        scene.model.enqueue("{}");
        reflects(&scene).await.unwrap();
        assert_eq!(numbered(&scene), read);
        say(&mut scene, 8);
    }
}

#[tokio::test]
async fn a_fault_behind_the_commit_is_not_the_messages_fault() {
    let mut scene = after(8);
    scene.double.tables().refuses_relationships = true;
    for _ in 0..2 {
        scene.model.enqueue(r#"{"relationships":[{"from":"Maria","to":"Bob","tags":["friend"]}]}"#);
        let error = reflects(&scene).await.unwrap_err();
        assert!(error.to_string().contains("cannot be stored"), "{error}");
        assert_eq!(numbered(&scene), 8);
        say(&mut scene, 8);
    }
}

#[tokio::test]
async fn an_answer_that_only_the_store_has_stands_behind_its_question() {
    let mut scene = after(0);
    scene.agent.settings = Settings::from_pairs([("REFLECTION_INTERVAL", 1)]);
    let own = scene.agent.identity.entity();
    // Answers have the time of their questions.
    let keep = |scene: &Scene, question: &Memory, answer: &str| {
        let answer = Memory {
            id: MemoryId::fresh(),
            entity_id: own,
            content: Content::text(answer),
            ..question.clone()
        };
        scene.double.tables().memories.extend([question.clone(), answer.clone()]);
        answer
    };
    let question = scene.message_by(MARIA, "I live in Berlin");
    let answer = keep(&scene, &question, "answer one");
    scene.recent.extend([question.into(), answer.into()]);
    scene.message = scene.message_by(MARIA, "I like tea");
    keep(&scene, &scene.message, "answer two");
    scene.message.content.text = "I like tea, and a picture".into();
    scene.model.enqueue("{}");
    reflects(&scene).await.unwrap();
    let asked = scene.model.requests().last().unwrap().messages[0].text();
    let lines: Vec<&str> = asked.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "m1 Maria: I live in Berlin",
            "Eliza: answer one",
            "m3 Maria: I like tea, and a picture",
            "Eliza: answer two"
        ]
    );
}

#[tokio::test]
async fn a_reflection_that_ended_in_a_crash_behind_its_commit_is_not_repeated() {
    let mut scene = after(8);
    scene.model.enqueue(LESSON);
    // Its cursor is stored before the model is asked; the one after the commit is lost.
    reflects(&scene).await.unwrap();
    {
        let mut tables = scene.double.tables();
        let of_room = |(key, _): &(&String, &serde_json::Value)| key.contains("reflection:");
        let (key, before) = tables.cached_before.iter().find(of_room).unwrap();
        let (key, before) = (key.clone(), before.clone());
        tables.cache.insert(key, before);
    }
    scene.plugin = galatea_bootstrap::plugin();
    say(&mut scene, 8);
    scene.model.enqueue("{}");
    reflects(&scene).await.unwrap();
    let asked = scene.model.requests().last().unwrap().messages[0].text();
    let numbered = asked.lines().filter(|line| line.starts_with('m')).count();
    assert_eq!((numbered, facts(&scene).len()), (8, 2), "{asked}");
}

#[tokio::test]
async fn nonsense_and_floods_are_harmless() {
    let mut scene = after(8);
    let flood: Vec<_> = (0..200)
        .map(|n| json!({ "fact": format!("likes tea {n} {}", "tea ".repeat(500)), "evidence": 8 }))
        .collect();
    let numbers: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    // The words of a fact stand in its message.
    let flooded = format!("I like tea {} {}", numbers.join(" "), "x".repeat(10_000));
    for answer in [
        "{\"facts\": [[]], \"relationships\": 4}".to_owned(),
        json!({ "facts": flood }).to_string().replace(":8}", ":16}"),
    ] {
        scene.message.content.text.clone_from(&flooded);
        scene.model.enqueue(answer);
        reflects(&scene).await.unwrap();
        say(&mut scene, 8);
    }
    let stored = facts(&scene);
    assert_eq!(stored.len(), 16);
    assert!(stored.iter().all(|f| f.content.text.len() < 1_000));
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_asked_for_once_more() {
    let mut scene = after(8);
    scene.model.enqueue("I learnt that Bob likes tea.");
    scene.model.enqueue(LESSON);
    reflects(&scene).await.unwrap();
    assert!(!facts(&scene).is_empty());
    let requests = scene.model.requests();
    let [first, second] = &requests[..] else { panic!("{} requests", requests.len()) };
    assert_eq!(first.system, second.system, "no schema is added");
    let told: Vec<String> = second.messages.iter().map(|message| message.text()).collect();
    assert_eq!(told[1], "I learnt that Bob likes tea.");
    assert!(told[2].contains("holds no JSON"), "{}", told[2]);

    say(&mut scene, 8);
    scene.model.enqueue("Nothing.");
    scene.model.enqueue("Nothing.");
    let error = reflects(&scene).await.unwrap_err();
    assert_eq!((error.code(), scene.model.requests().len()), (Some("GAL-MODEL-UNUSABLE"), 4));
}

#[tokio::test]
async fn two_who_go_by_one_name_teach_nothing_about_it() {
    let mut scene = after(8);
    for memory in scene.recent.iter_mut().filter(|memory| memory.entity_id == someone(MARIA)) {
        std::sync::Arc::make_mut(memory).metadata.insert("entityName".into(), json!("Bob"));
    }
    scene.model.enqueue(r#"{"facts":[{"about":"Bob","fact":"Bob is rich","evidence":8}]}"#);
    reflects(&scene).await.unwrap();
    assert!(facts(&scene).is_empty());
}

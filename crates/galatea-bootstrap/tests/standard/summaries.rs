//! Tests when summaries are made, what of, when they are shown, and what is refused in them.

use galatea_core::{
    Derived, FinishedTurn, MemoryKind, ModelInfo, Timestamp, Verdict, model::ModelLimits,
};
use galatea_testkit::models::ScriptedModel;
use std::sync::Arc;

use crate::{
    meaning::Tea,
    scene::{BOB, MARIA, Scene},
};

/// A stored conversation of so many messages in a window of 30; the prompt shows the last ones, of
/// which ten leave next.
fn talk(messages: usize, shown: usize) -> Scene {
    let mut scene = Scene::group();
    let mut all = Vec::new();
    for n in 0..messages {
        let memory = scene.message_by(if n % 2 == 0 { MARIA } else { BOB }, &format!("remark {n}"));
        scene.double.tables().memories.push(memory.clone());
        all.push(memory);
    }
    scene.message = all.pop().unwrap();
    scene.recent = all.split_off(messages - 1 - shown).into_iter().map(Into::into).collect();
    scene.earlier = all.last().map(|memory| memory.created_at);
    scene.leaving = 10;
    scene
}

/// So many messages leave the prompt.
fn leave(scene: &mut Scene, messages: usize) {
    scene.earlier = scene.recent.drain(..messages).next_back().map(|memory| memory.created_at);
}

/// So many more are said.
fn go_on(scene: &mut Scene, messages: std::ops::Range<usize>) {
    for n in messages {
        let memory = scene.message_by(MARIA, &format!("remark {n}"));
        scene.double.tables().memories.push(memory.clone());
        let last = std::mem::replace(&mut scene.message, memory);
        scene.recent.push(last.into());
    }
}

async fn summarise(scene: &Scene) -> galatea_core::Result<bool> {
    let turn = scene.turn();
    let finished = FinishedTurn { turn: &turn, replies: &[], verdict: &Verdict::default() };
    let evaluator =
        scene.plugin.evaluators.iter().find(|e| e.name() == "MEMORY_SUMMARIZATION").unwrap();
    let wanted = evaluator.validate(&finished).await?;
    if wanted {
        evaluator.evaluate(&finished).await?;
    }
    Ok(wanted)
}

fn stored(scene: &Scene) -> Vec<Derived> {
    let tables = scene.double.tables();
    let all = tables.memories.iter().filter(|memory| memory.kind == MemoryKind::Summaries);
    all.map(|memory| tables.whole(memory)).collect()
}

#[tokio::test]
async fn what_is_about_to_leave_is_summarised_once_and_shown_when_it_has_left() {
    let mut scene = talk(25, 24);
    scene.model.enqueue("Maria and Bob made remark 0 to remark 9.");
    assert!(summarise(&scene).await.unwrap());
    let asked = scene.model.requests()[0].messages[0].text();
    assert!(asked.contains("Maria: remark 0\n") && asked.contains("Bob: remark 9"), "{asked}");
    assert!(!asked.contains("remark 10") && asked.contains("# Summary so far\n(none)"), "{asked}");
    let [summary] = stored(&scene).try_into().unwrap();
    assert_eq!(summary.sources.len(), 10);
    assert!(!summarise(&scene).await.unwrap(), "once");
    assert_eq!(scene.shows("SUMMARIZED_CONTEXT").await.text, "", "the prompt shows its messages");

    leave(&mut scene, 10);
    go_on(&mut scene, 25..32);
    let shown = scene.shows("SUMMARIZED_CONTEXT").await;
    assert_eq!(
        shown.text,
        "Earlier in this conversation, as it was summed up: Maria and Bob made remark 0 to remark 9."
    );
    // The next one is made of the first and of what was said since.
    scene.model.enqueue("Maria and Bob made remark 0 to remark 19.");
    assert!(summarise(&scene).await.unwrap());
    let asked = scene.model.requests().last().unwrap().messages[0].text();
    assert!(
        asked.contains("# Summary so far\nMaria and Bob made remark 0 to remark 9.")
            && !asked.contains(": remark 9\n")
            && asked.contains(": remark 19"),
        "{asked}"
    );
    let [first, second] = stored(&scene).try_into().unwrap();
    assert_eq!(first.superseded_by, Some(second.memory.id));
    assert!(second.sources.contains(&first.memory.id));
    assert_eq!(
        scene.shows("SUMMARIZED_CONTEXT").await.text,
        shown.text,
        "the first stays until its successor's messages have left"
    );
}

/// Sentences about these remarks, 45 bytes each.
fn sentences(remarks: std::ops::Range<usize>) -> String {
    let all: Vec<String> =
        remarks.map(|n| format!("Maria made remark {n} and was glad about it.")).collect();
    all.join(" ")
}

/// A summary may take 204 tokens of this window.
fn shrink(scene: &mut Scene) {
    let limits = ModelLimits { window: Some(4_096), ..ModelLimits::default() };
    let info = ModelInfo { limits, ..ModelInfo::default() };
    scene.models.large = Arc::new(ScriptedModel::new().with_info(info));
}

#[tokio::test]
async fn in_a_small_window_the_newest_sentences_stay_in_the_prompt() {
    for (first, answers) in [
        // The old summary fills the section, so a new summary replaces it.
        (0..10, vec!["Maria and Bob made remark 0 to remark 19.".to_owned()]),
        // What is added does not fit: it is asked for anew.
        (0..4, vec![sentences(10..20), "Maria and Bob made remark 0 to remark 19.".to_owned()]),
        // Nor does the new one: its last sentences are shown.
        (0..4, vec![sentences(10..20), format!("{} {}", sentences(0..4), sentences(10..20))]),
    ] {
        let mut scene = talk(25, 24);
        shrink(&mut scene);
        scene.model.enqueue(sentences(first));
        assert!(summarise(&scene).await.unwrap());
        leave(&mut scene, 10);
        go_on(&mut scene, 25..35);
        let asked = scene.model.requests().len();
        answers.iter().for_each(|answer| scene.model.enqueue(answer.clone()));
        assert!(summarise(&scene).await.unwrap());
        let requests = scene.model.requests();
        assert_eq!(requests.len() - asked, answers.len());
        let last = requests.last().unwrap().system.clone().unwrap();
        assert!(last.contains("the new summary") && last.contains("at most 80 words"), "{last}");
        leave(&mut scene, 10);
        let shown = scene.shows("SUMMARIZED_CONTEXT").await.text;
        assert!(shown.contains("remark 19") && shown.ends_with('.'), "{shown}");
    }
}

/// Where long messages fill the prompt, none is known to leave soon.
#[tokio::test]
async fn what_has_left_is_summarised_once_it_is_worth_a_call() {
    let mut scene = talk(9, 4);
    scene.leaving = 0;
    scene.model.enqueue("Maria made remark 0.");
    assert!(summarise(&scene).await.unwrap());
    assert_eq!(stored(&scene)[0].sources.len(), 4, "up to where the prompt begins");
    let shown = scene.shows("SUMMARIZED_CONTEXT").await.text;
    assert!(shown.ends_with("Maria made remark 0."), "at once: {shown}");
    let (own_time, earlier) = (scene.recent[0].created_at, scene.earlier.unwrap());
    std::sync::Arc::make_mut(&mut scene.recent[0]).created_at = earlier;
    assert_eq!(scene.shows("SUMMARIZED_CONTEXT").await.text, shown, "two of the same second");
    std::sync::Arc::make_mut(&mut scene.recent[0]).created_at = own_time;
    assert!(!summarise(&scene).await.unwrap(), "once");
    go_on(&mut scene, 9..12);
    leave(&mut scene, 3);
    assert!(!summarise(&scene).await.unwrap(), "three are too few");
    go_on(&mut scene, 12..13);
    leave(&mut scene, 1);
    scene.model.enqueue("Maria made remark 0, and more.");
    assert!(summarise(&scene).await.unwrap());
    let [_, second] = stored(&scene).try_into().unwrap();
    assert_eq!(second.sources.len(), 1 + 4, "the first summary and four messages");
    // After a restart the newest summary says what is done.
    scene.plugin = galatea_bootstrap::plugin();
    let asked = scene.model.requests().len();
    assert!(summarise(&scene).await.unwrap());
    assert_eq!(scene.model.requests().len(), asked);
    assert!(!summarise(&scene).await.unwrap());
}

#[tokio::test]
async fn a_world_that_deletes_old_messages_has_them_left_out_of_summaries() {
    let mut scene = talk(25, 24);
    scene.model.enqueue("Maria and Bob made remark 0.");
    let system = |scene: &Scene| scene.model.requests().last().unwrap().system.clone().unwrap();
    assert!(summarise(&scene).await.unwrap());
    assert!(!system(&scene).contains("Leave out everything from before"));
    let world = scene.world.as_mut().unwrap();
    world.metadata.extra.extend(galatea_core::World::with_retention(30));
    scene.double.tables().memories.retain(|memory| memory.kind != MemoryKind::Summaries);
    scene.plugin = galatea_bootstrap::plugin();
    scene.model.enqueue("Maria and Bob made remark 0.");
    assert!(summarise(&scene).await.unwrap());
    let since = Timestamp(scene.clock_now().0 - 30 * 24 * 3_600 * 1_000);
    let day = scene.agent.zone.local(since).date();
    assert!(system(&scene).ends_with(&format!("Leave out everything from before {day}.")));
    // A direct Room keeps all its messages.
    scene.room.kind = galatea_core::ChannelType::Dm;
    scene.double.tables().memories.retain(|memory| memory.kind != MemoryKind::Summaries);
    scene.plugin = galatea_bootstrap::plugin();
    scene.model.enqueue("Maria and Bob made remark 0.");
    assert!(summarise(&scene).await.unwrap());
    assert!(!system(&scene).contains("Leave out everything from before"));
}

#[tokio::test]
async fn a_lost_summary_is_made_again_from_the_messages() {
    let mut scene = talk(60, 24);
    scene.model.enqueue("Remarks.  All of them.");
    assert!(summarise(&scene).await.unwrap());
    assert_eq!(stored(&scene)[0].sources.len(), 35, "all that the prompt does not show");
    scene.double.tables().memories.retain(|memory| memory.kind != MemoryKind::Summaries);
    scene.plugin = galatea_bootstrap::plugin();
    scene.model.enqueue("Remarks, once more.");
    assert!(summarise(&scene).await.unwrap());
    assert_eq!(stored(&scene)[0].sources.len(), 35);
}

#[tokio::test]
async fn invented_names_and_numbers_are_asked_about_and_then_left_out() {
    let scene = talk(25, 24);
    scene.model.enqueue("Maria met Zarathustra. Bob made 77 remarks.");
    scene.model.enqueue("Maria made remark 0. Then Bob met Zarathustra.");
    assert!(summarise(&scene).await.unwrap());
    let again = scene.model.requests()[1].messages.last().unwrap().text();
    assert!(
        again.contains("neither in the summary so far nor in the messages: Zarathustra, 77."),
        "{again}"
    );
    assert_eq!(stored(&scene)[0].memory.content.text, "Maria made remark 0.");
}

#[tokio::test]
async fn a_reset_conversation_is_not_summarised_and_nonsense_is_not_kept() {
    let mut scene = talk(25, 24);
    scene.model.enqueue("{}");
    assert!(summarise(&scene).await.unwrap());
    assert_eq!(stored(&scene).len(), 0);
    scene.plugin = galatea_bootstrap::plugin();
    scene.model.enqueue("Maria made remark 0.");
    assert!(summarise(&scene).await.unwrap());
    leave(&mut scene, 10);
    for n in 0..9 {
        let memory = scene.message_by(BOB, &format!("more {n}"));
        let last = std::mem::replace(&mut scene.message, memory);
        scene.recent.push(last.into());
    }
    assert!(scene.shows("SUMMARIZED_CONTEXT").await.text.contains("remark 0"));
    let later = Timestamp(scene.clock_now().0 + 1);
    scene.room.metadata.insert("resetAt".into(), serde_json::json!(later));
    assert_eq!(scene.shows("SUMMARIZED_CONTEXT").await.text, "");
}

#[tokio::test]
async fn old_messages_come_back_with_day_and_speaker_and_those_around_them_only_once() {
    let mut scene = talk(60, 24);
    {
        let mut tables = scene.double.tables();
        let old = tables.memories.iter_mut().find(|m| m.content.text == "remark 7").unwrap();
        old.content.text = "the key hangs behind the kettle".into();
    }
    scene.message = scene.message_by(MARIA, "where is the key, behind what?");
    let shown = scene.shows("MEMORIES").await.text;
    assert!(
        shown.starts_with("Earlier here, and perhaps of use now:\nOn Thu 1 Jan 2026 at "),
        "{shown}"
    );
    assert!(shown.contains(" Bob wrote “the key hangs behind the kettle”."), "{shown}");
    // What the prompt shows anyway is not repeated, and a conversation that it shows as a whole needs
    // no search.
    let newest = scene.recent[3].content.text.clone();
    scene.message = scene.message_by(MARIA, &newest);
    assert!(!scene.shows("MEMORIES").await.text.contains(&format!("“{newest}”")));
    scene.earlier = None;
    let asked = scene.double.tables().asked;
    assert_eq!(scene.shows("MEMORIES").await.text, "");
    assert_eq!(scene.double.tables().asked, asked);
}

#[tokio::test]
async fn a_quoted_sentence_ends_once() {
    let mut scene = talk(60, 24);
    scene.double.tables().memories[7].content.text = "The key hangs behind the kettle.".into();
    scene.message = scene.message_by(MARIA, "where is the key, behind what?");
    let shown = scene.shows("MEMORIES").await.text;
    assert!(shown.contains("Bob wrote “The key hangs behind the kettle.”"), "{shown}");
    assert!(!shown.contains(".”."), "{shown}");
}

#[tokio::test]
async fn the_messages_around_a_hit_push_out_no_other_hit() {
    let mut scene = talk(60, 24);
    scene.models.embedding = Some(Tea::of("small", 3));
    {
        let mut tables = scene.double.tables();
        for n in 1..20 {
            tables.memories[n].content.text = if n % 4 == 0 {
                format!("tea number {n}")
            } else {
                format!("{n} and then the neighbour went on about that")
            };
        }
    }
    scene.message = scene.message_by(MARIA, "which tea number?");
    let shown = scene.shows("MEMORIES").await.text;
    for n in [4, 8, 12, 16] {
        assert!(shown.contains(&format!("tea number {n}")), "{n}: {shown}");
    }
    assert!(shown.contains("Bob wrote “"), "one of those around them fits: {shown}");
}

#[tokio::test]
async fn a_question_that_left_before_its_answer_is_found() {
    let mut scene = talk(60, 24);
    let asked_at = scene.recent[0].created_at;
    {
        let mut tables = scene.double.tables();
        let old = tables.memories.iter_mut().rfind(|m| m.created_at < asked_at).unwrap();
        old.content.text = "the key hangs behind the kettle".into();
        // An answer has the time of its question.
        old.created_at = asked_at;
    }
    scene.message = scene.message_by(MARIA, "where is the key, behind what?");
    let shown = scene.shows("MEMORIES").await.text;
    assert!(shown.contains("the key hangs behind the kettle"), "{shown}");
}

/// A model that has nothing to say is asked less and less often, and as usual once it says something.
#[tokio::test]
async fn a_model_without_a_word_is_asked_for_few_summaries() {
    let mut scene = talk(9, 4);
    scene.leaving = 0;
    let mut asked = Vec::new();
    // Each answer adds two messages, and the two oldest leave.
    for n in 0..44_usize {
        scene.model.enqueue("{}");
        summarise(&scene).await.unwrap();
        if scene.model.requests().len() > asked.len() {
            asked.push(n);
        }
        let from = 9 + 2 * n;
        go_on(&mut scene, from..from + 2);
        leave(&mut scene, 2);
    }
    assert!((2..=5).contains(&asked.len()), "{asked:?}");
    let between: Vec<usize> = asked.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(between.is_sorted(), "{asked:?}");
}

/// A summary is continued: prompts that begin with it stay as they are. Once it is long it is written
/// anew.
#[tokio::test]
async fn a_summary_is_continued_until_it_is_long() {
    let mut scene = talk(9, 4);
    scene.leaving = 0;
    let mut texts: Vec<String> = Vec::new();
    let mut anew = 0;
    for n in 0..24 {
        let word = "x".repeat(n + 1);
        let answer = format!("Maria made remark {word}, {}.", "and went on about it, ".repeat(6));
        scene.model.enqueue(answer);
        assert!(summarise(&scene).await.unwrap());
        let text = stored(&scene).pop().unwrap().memory.content.text;
        let system = scene.model.requests().last().unwrap().system.clone().unwrap();
        if let Some(before) = texts.last() {
            let continues = system.contains("Write only what the messages add");
            assert_eq!(text.starts_with(before.as_str()), continues, "{before} / {text}");
            anew += usize::from(!continues);
        }
        assert!(text.chars().count() <= 2_003, "{}", text.chars().count());
        texts.push(text);
        let from = 9 + 4 * n;
        go_on(&mut scene, from..from + 4);
        leave(&mut scene, 4);
    }
    assert!((1..=3).contains(&anew), "{anew} of 24 are written anew");
}

//! Messages of ordinary length: a prompt shows some six of them, and what it no longer shows is found
//! and summarised as well.

use galatea_core::model::TextRequest;
use galatea_testkit::models::ScriptedModel;
use std::time::{Duration, Instant};

use super::stage::{Stage, club};
use crate::models::prompt;

/// Messages after the one that is asked for: the prompt has room for 600 tokens.
const TALK: usize = 12;

/// Some fifty tokens about nothing that the questions ask for.
fn chatter(n: usize) -> String {
    format!(
        "The rowers of group {n} carried both boats over the wet meadow, waited until the rain had stopped, and then spent \
         the rest of the afternoon with mending oars, sorting ropes, and telling each other what had gone wrong at the last regatta."
    )
}

/// The summariser's questions.
fn summaries(stage: &Stage) -> Vec<String> {
    let asked = stage.learner.requests();
    asked.iter().map(prompt).filter(|asked| asked.contains("# Summary so far")).collect()
}

#[tokio::test]
async fn long_messages_that_left_the_prompt_are_found_and_summarised() {
    let stage = Stage::build(None).await;
    let bob = club(2).mentioning();
    stage
        .say(
            &bob,
            "The spare padlock is on the green shelf behind the paint, next to the lamp oil.",
        )
        .await;
    for n in 0..TALK {
        stage.say(&bob, &chatter(n)).await;
    }
    let prompt = stage.ask(&club(0).mentioning(), "Where is the spare padlock?").await;
    let (_, found) = prompt
        .split_once("Earlier here, and perhaps of use now:")
        .unwrap_or_else(|| panic!("{prompt}"));
    assert!(found.contains("Bob wrote “The spare padlock is on the green shelf"), "{prompt}");
    assert!(prompt.matches("telling each other").count() < TALK, "the prompt shows all: {prompt}");
    stage.house.quiet().await;
    assert!(summaries(&stage).iter().any(|asked| asked.contains("green shelf")));
}

/// Questions and answers of which two pairs fill the prompt: it shows four messages after each turn.
#[tokio::test]
async fn with_long_answers_each_message_is_shown_or_summarised() {
    let stage = Stage::build(None).await;
    let (bob, turns) = (club(2).mentioning(), 2 * TALK);
    for n in 0..turns {
        let answer = ScriptedModel::text(format!("Answer {n}. {} {}", chatter(n), chatter(n)));
        stage.reader.enqueue(answer.text);
        stage.say(&bob, &format!("Decided: number {n}. {} {}", chatter(n), chatter(n))).await;
        stage.house.quiet().await;
    }
    let last: TextRequest = stage.reader.requests().pop().unwrap();
    let shown = prompt(&last);
    let missing = |asked: &[String]| -> Vec<usize> {
        (0..turns)
            .filter(|n| !shown.contains(&format!("Decided: number {n}.")))
            .filter(|n| !asked.iter().any(|a| a.contains(&format!("Decided: number {n}."))))
            .collect()
    };
    // The house is quiet before the summariser has begun.
    let until = Instant::now() + Duration::from_secs(20);
    while missing(&summaries(&stage)).len() > 2 && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let asked = summaries(&stage);
    let missing = missing(&asked);
    assert!(missing.len() <= 2, "neither shown nor summarised: {missing:?}");
    assert!((4..=turns).contains(&asked.len()), "{} calls", asked.len());
    let (_, summary) =
        shown.split_once("Earlier in this conversation, as it was summed up:").unwrap();
    assert!(summary.contains("Bob said Decided: number 0."), "{shown}");
}

//! A long conversation with a model that has a small context window, through the whole program: on
//! Telegram and across a restart.

use galatea_testkit::models::{Fault, Recorded, Reply};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::stage::Stage;

/// The model's context window in tokens, counted as four bytes of text each.
const WINDOW: usize = 8_192;

/// Refuses requests that exceed the window, as OpenAI does; otherwise answers question `Q7` with
/// `A7` and many words.
fn small(refusals: &Arc<AtomicUsize>) -> impl FnMut(&Recorded) -> Reply + Send + 'static {
    let refusals = Arc::clone(refusals);
    move |request| {
        let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
        let bytes: usize =
            messages.iter().map(|m| m["content"].as_str().map_or(0, str::len) + 16).sum();
        if bytes / 4 > WINDOW {
            refusals.fetch_add(1, Ordering::Relaxed);
            return Reply::Fault(Fault::TooLong);
        }
        let asked = messages.last().and_then(|m| m["content"].as_str()).unwrap_or_default();
        // Earlier messages that are shown again stand before the question.
        let number: String = asked
            .rsplit('Q')
            .next()
            .unwrap_or_default()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        Reply::text(format!("A{number}. {}", "and so it goes on and on. ".repeat(100)))
    }
}

async fn ask(stage: &Stage, numbers: std::ops::RangeInclusive<usize>) {
    let chat = stage.ann.direct();
    for n in numbers {
        stage
            .ann
            .says(&chat, &format!("Q{n} {}", "tell me more of that story, please. ".repeat(80)))
            .send();
        let begins = format!("A{n}. ");
        let look = |_: &galatea_testkit::telegram::Handle| {
            Some(stage.texts(&chat))
                .filter(|texts| texts.last().is_some_and(|text| text.starts_with(&begins)))
        };
        stage.telegram.wait_for(&format!("an answer that begins with {begins:?}"), look).await;
    }
}

async fn a_long_talk(window: Option<&str>) -> usize {
    let stage = Stage::set().await;
    let refusals = Arc::new(AtomicUsize::new(0));
    stage.model.answer_with(small(&refusals));
    let start = async || {
        // A model name whose context window the program does not know.
        let mut program = stage
            .program()
            .env("LARGE_MODEL", "small-one")
            .env("SMALL_MODEL", "small-one")
            .env("CONVERSATION_TOKENS", "none")
            .env("REFLECTION_INTERVAL", "0");
        if let Some(window) = window {
            program = program.env("MODEL_CONTEXT_WINDOW", window);
        }
        let running = program.arg("start").spawn();
        running.wait_for_line("ready in").await;
        running
    };
    let mut first = start().await;
    ask(&stage, 1..=60).await;
    first.kill_9().await;
    let before = refusals.load(Ordering::Relaxed);
    let _second = start().await;
    ask(&stage, 61..=100).await;
    assert!(refusals.load(Ordering::Relaxed) - before <= 4, "what was learnt outlives the program");
    refusals.load(Ordering::Relaxed)
}

#[tokio::test]
async fn two_hundred_messages_in_a_small_window_that_is_known() {
    assert_eq!(a_long_talk(Some("8192")).await, 0);
}

#[tokio::test]
async fn two_hundred_messages_in_a_small_undeclared_window() {
    let refusals = a_long_talk(None).await;
    assert!((1..=10).contains(&refusals), "{refusals} refusals");
}

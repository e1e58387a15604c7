//! What the program learns about a model while it runs is told by `models`, `doctor` and `status`.

use galatea_testkit::{
    models::{Fault, Reply},
    telegram::{self, Effect},
};

use crate::stage::{Stage, answer};

/// A server of one's own that refuses a field, and whose model writes no calls of tools.
const REFUSAL: &str = r#"{"error":{"message":"Unrecognized request argument supplied: stream_options","type":"invalid_request_error","param":"stream_options","code":"unknown_parameter"}}"#;

async fn said(stage: &Stage, command: &[&str]) -> String {
    let output = stage.program().without_env("MODEL_TOOLS").args(command).run().await;
    output.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_refused_field_and_a_model_without_tools_are_told() {
    let stage = Stage::set().await;
    stage.model.answer_with(|request| {
        if request.path.ends_with("/models") {
            return Reply::Auto;
        }
        if request.body.get("stream_options").is_some() {
            return Reply::Fault(Fault::Status { status: 400, retry_after: None, body: REFUSAL });
        }
        answer(request)
    });
    let running = stage.program().without_env("MODEL_TOOLS").args(["start", "--log-json"]).spawn();
    running.wait_for_line("polling").await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "A1").await;
    let tried = |request: &galatea_testkit::models::Recorded| {
        request.body["tools"].to_string().contains("ADD_NUMBERS")
    };
    let requests = stage.model.requests();
    assert!(requests.iter().any(tried), "the model is tried with a harmless tool");
    let asked = requests.iter().rev().find(|request| !asks_nothing(request)).unwrap();
    assert!(asked.body.get("tools").is_none(), "it failed, so it is offered none: {}", asked.body);
    let (models, doctor) = (said(&stage, &["models", "ls"]).await, said(&stage, &["doctor"]).await);
    for (name, output) in [("models", &models), ("doctor", &doctor)] {
        assert!(output.contains("is offered no tools"), "{name}: {output}");
        assert!(output.contains("stream_options"), "{name}: {output}");
    }
}

/// The trial of tools, and requests of the background.
fn asks_nothing(request: &galatea_testkit::models::Recorded) -> bool {
    !request.body["messages"].to_string().contains("Q1")
}

/// A refusal for length, as OpenAI writes it.
const TOO_LONG: &str = r#"{"error":{"message":"This model's maximum context length is 3000 tokens. However, your messages resulted in 3500 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#;

/// Waits until `command` says all of these.
async fn comes_to_say(stage: &Stage, command: &[&str], words: &[&str]) {
    let waits = async {
        loop {
            let output = said(stage, command).await;
            if words.iter().all(|word| output.contains(word)) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    let in_time = tokio::time::timeout(std::time::Duration::from_secs(60), waits).await;
    assert!(in_time.is_ok(), "{command:?} never said {words:?}: {}", said(stage, command).await);
}

#[tokio::test]
async fn prompts_that_are_cut_after_a_refusal_are_told() {
    let stage = Stage::set().await;
    let mut refuses = true;
    stage.model.answer_with(move |request| {
        let asks = request.body["messages"].to_string().contains("Q1");
        if asks && std::mem::take(&mut refuses) {
            return Reply::Fault(Fault::Status { status: 400, retry_after: None, body: TOO_LONG });
        }
        answer(request)
    });
    // A model whose window nobody knows: the refusal is all there is.
    let own = stage.program().env("OPENAI_LARGE_MODEL", "mill").env("OPENAI_SMALL_MODEL", "mill");
    let running = own.arg("start").spawn();
    running.wait_for_line("ready in").await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, &format!("Q1 {}", "and a long story. ".repeat(800))).send();
    stage.wait_text(&direct, "A1").await;
    for command in [["status"], ["doctor"]] {
        let words = ["refused a prompt as too long", "prompts are cut to about", "GAL-MODEL-413"];
        comes_to_say(&stage, &command, &words).await;
    }
}

#[tokio::test]
async fn a_flood_wait_that_outlasts_answers_is_told() {
    let stage = Stage::set().await;
    let _running = stage.start().await;
    let direct = stage.ann.direct();
    let flood = telegram::Fault::new(Effect::RateLimited(7200)).on("sendMessage");
    stage.telegram.fault(flood.times(usize::MAX));
    stage.ann.says(&direct, "Q1").send();
    for command in [["status"], ["doctor"]] {
        let words = ["asks account", "to wait until", "GAL-SEND-WAIT"];
        comes_to_say(&stage, &command, &words).await;
    }
}

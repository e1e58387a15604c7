//! What the program learns about a model while it runs is told by `models`, `doctor` and `status`.

use galatea_testkit::models::{Fault, Reply};

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

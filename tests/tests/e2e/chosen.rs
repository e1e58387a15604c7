//! Models without a configured name: chosen from the provider's list in the background, remembered,
//! and chosen again once they disappear.

use galatea_testkit::{
    models::{Fault, Recorded, Reply},
    process::{Program, Running},
};
use serde_json::{Value, json};

use crate::{errors::says, stage::Stage};

fn is_list(request: &Recorded) -> bool {
    request.path.ends_with("/models")
}

fn list(names: &[&str]) -> Value {
    json!({ "object": "list", "data": names.iter().map(|id| json!({ "id": id, "object": "model", "created": 1 })).collect::<Vec<_>>() })
}

/// The program without configured names of models.
fn unnamed(stage: &Stage) -> Program {
    stage.program().without_env("OPENAI_SMALL_MODEL").without_env("OPENAI_LARGE_MODEL")
}

async fn started(stage: &Stage, json: bool) -> Running {
    let running = unnamed(stage).env("LOG_JSON_FORMAT", json.to_string()).arg("start").spawn();
    running.wait_for_line("ready in").await;
    running
}

/// Models that were asked for an answer.
fn asked(stage: &Stage) -> Vec<String> {
    stage
        .model
        .requests()
        .iter()
        .filter(|r| !is_list(r))
        .filter_map(|r| r.body["model"].as_str().map(str::to_owned))
        .collect()
}

#[tokio::test]
async fn a_model_is_chosen_remembered_and_chosen_again_when_it_is_refused() {
    let stage = Stage::set().await;
    let direct = stage.ann.direct();
    stage.model.answer_with(|r| {
        if is_list(r) {
            Reply::Json(list(&["acme-8-large", "gpt-4-luna", "gpt-4-terra", "gpt-5-terra-preview"]))
        } else {
            Reply::text("of eight")
        }
    });
    let mut running = started(&stage, false).await;
    running.wait_for_line("a model was chosen from the provider's list").await;
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "of eight").await;
    assert_eq!(asked(&stage).last().map(String::as_str), Some("gpt-4-terra"));
    let output = stage.program().arg("status").run().await.stdout;
    assert!(
        output.contains("gpt-4-terra") && output.contains("chosen from the provider's list"),
        "{output}"
    );
    running.kill_9().await;

    // A list that never arrives does not delay the start; the remembered model is used.
    stage.model.answer_with(|r| {
        if is_list(r) { Reply::Fault(Fault::Hang) } else { Reply::text("remembered") }
    });
    let mut running = started(&stage, false).await;
    says(
        &running.output(),
        &["Model", "gpt-4-terra at http", "(chosen from the provider's list on 2"],
    );
    stage.ann.says(&direct, "Q2").send();
    stage.wait_text(&direct, "remembered").await;
    assert_eq!(asked(&stage).last().map(String::as_str), Some("gpt-4-terra"));
    running.kill_9().await;

    // The model disappears from the list; another one is used without a restart.
    stage.model.answer_with(|r| match r.body["model"].as_str() {
        _ if is_list(r) => Reply::Json(list(&["gpt-5-terra", "gpt-4-luna"])),
        Some("gpt-4-terra") => Reply::Fault(Fault::UnknownModel),
        Some(other) => Reply::text(format!("of {other}")),
        None => Reply::Auto,
    });
    let running = started(&stage, true).await;
    running.wait_for_line("\"to\":\"gpt-5-terra\"").await;
    stage.ann.says(&direct, "Q3").send();
    stage.wait_text(&direct, "of gpt-5-terra").await;
    let listed = unnamed(&stage).args(["models", "ls", "--json"]).run().await;
    let output: Value = serde_json::from_str(&listed.stdout).unwrap();
    let large = output["agents"][0]["models"]
        .as_array()
        .unwrap()
        .iter()
        .find(|m| m["role"] == "large")
        .unwrap()
        .clone();
    assert_eq!(
        (large["name"].as_str(), large["why"]["from"].as_str()),
        (Some("gpt-5-terra"), Some("chosen"))
    );
}

/// Both chosen models disappear while the program runs: who asks next waits for the new choice.
#[tokio::test]
async fn who_meets_a_change_of_both_models_gets_an_answer() {
    let stage = Stage::set().await;
    let direct = stage.ann.direct();
    stage.model.answer_with(|r| {
        if is_list(r) {
            Reply::Json(list(&["gpt-4-luna", "gpt-4-terra"]))
        } else {
            Reply::text("of four")
        }
    });
    let running = started(&stage, true).await;
    running.wait_for_line("\"to\":\"gpt-4-terra\"").await;
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "of four").await;
    stage.model.answer_with(|r| match r.body["model"].as_str() {
        _ if is_list(r) => Reply::Json(list(&["gpt-5-terra", "gpt-5-luna"])),
        Some("gpt-4-terra" | "gpt-4-luna") => Reply::Fault(Fault::UnknownModel),
        Some(other) => Reply::text(format!("of {other}")),
        None => Reply::Auto,
    });
    stage.ann.says(&direct, "Q2").send();
    stage.wait_text(&direct, "of gpt-5-terra").await;
    assert_eq!(stage.texts(&direct).len(), 2, "no notice of a failure: {:?}", stage.texts(&direct));
}

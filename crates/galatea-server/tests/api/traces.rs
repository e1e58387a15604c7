//! Traces over the API.

use axum::http::StatusCode;
use galatea_core::{
    Timestamp,
    store::{OperatorRole, PromptBlock, StepKind, StepTexts, StepUse, Trace, TraceStep},
};
use galatea_testkit::store_suite::fixtures::Scene;

use crate::support::{Server, ask};

/// An answered message with its trace.
async fn traced(server: &Server) -> String {
    let scene = Scene::new();
    let message = scene.message("which colour?", 5);
    let mut ingest = Scene::batch(std::slice::from_ref(&message));
    ingest.connections = scene.connections();
    server.store.ingest(ingest).await.unwrap();
    let record = scene.turn(&[&message]);
    let turn = record.turn;
    server.store.finish_turn(record).await.unwrap();
    let item = server.store.inbox_item(message.memory.id).await.unwrap().unwrap();
    let at = item.received_at;
    let used = StepUse { input: 1_000, cached: 400, output: 50, micros: Some(2_500) };
    let step = |kind, name: &str, millis| TraceStep {
        kind,
        name: name.to_owned(),
        at: Timestamp(at.0 + 1),
        millis,
        ..TraceStep::default()
    };
    let model = TraceStep { used: Some(used), ..step(StepKind::Model, "openai m", 300) };
    let block = |from: &str, role: &str, text: &str| PromptBlock {
        from: from.to_owned(),
        role: role.to_owned(),
        text: text.to_owned(),
    };
    let texts = StepTexts {
        step: 1,
        prompt: vec![
            block("instructions", "system", "You are Ada."),
            block("people", "user", "which colour?"),
        ],
        output: Some("Blue.".to_owned()),
        ..StepTexts::default()
    };
    let trace = Trace {
        turn,
        agent: scene.agent,
        room: scene.room,
        person: scene.person,
        at: Timestamp(at.0 + 1),
        since: at,
        late: false,
        steps: vec![step(StepKind::Provider, "FACTS", 2), model],
        texts: Some(vec![texts]),
    };
    server.store.add_traces(&[trace]).await.unwrap();
    message.memory.id.to_string()
}

#[tokio::test]
async fn a_trace_is_listed_and_read_step_by_step() {
    let server = Server::new().await;
    let token = server.token(OperatorRole::Viewer).await;
    let id = traced(&server).await;
    let get = async |path: String| {
        let answer = server.answer(ask("GET", &path).token(&token)).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text);
        answer.json()
    };
    let list = get("/api/v1/traces".to_owned()).await;
    let first = &list["items"][0];
    assert_eq!((first["id"].as_str(), first["tokens"].as_u64()), (Some(id.as_str()), Some(1_050)));
    assert_eq!((first["cost"].as_f64(), first["model"].as_str()), (Some(0.0025), Some("openai m")));
    assert!(
        get("/api/v1/traces?verdict=failed".to_owned()).await["items"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let trace = get(format!("/api/v1/turns/{id}/trace")).await;
    assert_eq!((trace["tokensIn"].as_u64(), trace["cached"].as_u64()), (Some(1_000), Some(400)));
    let steps = trace["steps"].as_array().unwrap();
    assert_eq!(trace["stepsTotal"].as_u64(), u64::try_from(steps.len()).ok());
    let model = steps.iter().find(|step| step["kind"] == "model").unwrap();
    assert_eq!((model["offset"].as_i64(), model["width"].as_u64()), (Some(1), Some(300)));
    assert_eq!((model["state"].as_str(), model["hasTexts"].as_bool()), (Some("ok"), Some(true)));
    let n = model["n"].as_u64().unwrap();
    let step = get(format!("/api/v1/turns/{id}/steps/{n}")).await;
    assert_eq!(step["output"], "Blue.");
    assert_eq!(step["prompt"][1]["text"], "which colour?");
    assert!(step["prompt"][0]["tokens"].as_u64().unwrap() > 2, "{step}");
    let none =
        server.answer(ask("GET", &format!("/api/v1/turns/{id}/steps/99")).token(&token)).await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_dry_run_needs_the_agents_of_the_process() {
    let server = Server::new().await;
    let token = server.token(OperatorRole::Operator).await;
    let id = traced(&server).await;
    let run = ask("POST", &format!("/api/v1/turns/{id}/dry-run")).token(&token);
    let answer = server.answer(run).await;
    assert_eq!(answer.status, StatusCode::CONFLICT, "{}", answer.text);
}

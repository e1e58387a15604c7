//! After a change of the embedding model, searches of the command line find by the old vectors what
//! waits for its new ones.

use galatea_testkit::{
    models::{Recorded, Reply},
    process::Program,
};
use serde_json::{Value, json};
use std::time::Duration;

use crate::stage::{Stage, answer};

const PATIENCE: Duration = Duration::from_secs(120);
const CHARACTER: &str =
    r#"{"name": "Juniper", "bio": "Knows the kennel.", "knowledge": [{"directory": "docs"}]}"#;
const LOG: &str = r#"{"time":"2026-01-05T10:00:00Z","speaker":"Bob","text":"The rowing club meets on Tuesdays."}
{"time":"2026-01-05T10:01:00Z","speaker":"Bob","text":"The weather is wet."}
{"time":"2026-01-05T10:02:00Z","speaker":"Bob","text":"Waldi the dachshund barks."}
"#;

/// Dogs are one direction, everything else another. The two models have nothing else in common.
fn vectors(request: &Recorded) -> Reply {
    let Some(texts) = request.body["input"].as_array() else { return answer(request) };
    let alike = if request.body["model"] == "first" { 0.9 } else { 0.2 };
    let vector = |text: &Value| {
        let text = text.as_str().unwrap();
        let is_dog = text.contains("dog") || text.contains("dachshund");
        if is_dog { json!([1.0, 0.0, alike]) } else { json!([0.0, 1.0, alike]) }
    };
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(n, text)| json!({ "object": "embedding", "index": n, "embedding": vector(text) }))
        .collect();
    Reply::Json(json!({
        "object": "list", "model": request.body["model"], "data": data,
        "usage": { "prompt_tokens": 3, "total_tokens": 3 },
    }))
}

async fn json_of(program: Program, arguments: &[&str]) -> Value {
    let done = program.args(arguments).arg("--json").run().await;
    assert_eq!(done.code, Some(0), "{arguments:?}: {}{}", done.stdout, done.stderr);
    assert!(!done.stderr.contains("words only"), "{}", done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memories_and_documents_are_found_by_their_old_vectors() {
    let stage = Stage::set().await;
    stage.model.answer_with(vectors);
    stage.home.write("juniper.json", CHARACTER);
    std::fs::create_dir(stage.home.path().join("docs")).unwrap();
    stage.home.write("docs/kennel.txt", "A dachshund needs a long walk.");
    stage.home.write("docs/prices.txt", "The kiln costs ten euros.");
    stage.home.write("club.jsonl", LOG);
    let program = |model: &str| {
        stage
            .program()
            .env("CHARACTER_FILES", "juniper.json")
            .env("OPENAI_EMBEDDING_MODEL", model)
            .env("EVALUATION_PAUSE_SECONDS", "0")
            .env("REFLECTION_INTERVAL", "0")
    };
    let mut running = program("first").arg("start").spawn();
    running.wait_for_line("ready in").await;
    running.wait_for_line("documents are up to date").await;
    json_of(program("first"), &["memory", "import", "club.jsonl"]).await;
    let search = ["memory", "search", "my dog", "--room", "club"];
    let embedded = async {
        // Hits without a vector are found by words, and no word fits.
        while json_of(program("first"), &search).await["hits"].as_array().unwrap().len() < 3 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, embedded).await.expect("the history is embedded");
    running.kill_9().await;

    let asked = |model: &str| {
        let is_asked = |request: &Recorded| request.body["model"] == model;
        stage.model.requests().iter().filter(|request| is_asked(request)).count()
    };
    let before = (asked("first"), asked("second"));
    let found = json_of(program("second"), &search).await;
    assert_eq!(found["embeddingModel"], "openai second");
    assert_eq!(found["hits"][0]["memory"]["content"]["text"], "Waldi the dachshund barks.");
    assert_eq!(found["hits"][0]["meaning"]["rank"], 1, "{found}");
    assert_eq!((asked("first"), asked("second")), (before.0 + 1, before.1 + 1));

    let question = ["knowledge", "search", "what about my dog?"];
    let found = json_of(program("second"), &question).await;
    let pieces = found["pieces"].as_array().unwrap();
    let first = &pieces[0];
    assert_eq!(first["piece"]["text"], "A dachshund needs a long walk.");
    assert_eq!((&first["relevant"], &first["rankByMeaning"]), (&json!(true), &json!(1)), "{first}");
    assert!(first["similarity"].as_f64().unwrap() > 0.99, "{first}");
    let others: Vec<&Value> = pieces.iter().skip(1).map(|piece| &piece["relevant"]).collect();
    assert_eq!(others, [&json!(false)], "in the range of the new model the other says nothing");
    assert_eq!((asked("first"), asked("second")), (before.0 + 2, before.1 + 2));
}

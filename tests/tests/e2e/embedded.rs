//! A history that was imported is searched by its meaning without a message to the agent, also after a
//! change of the embedding model: by the real program on both databases.

use galatea_testkit::{
    models::{Recorded, Reply},
    postgres::Database,
    process::Program,
};
use serde_json::{Value, json};
use std::time::Duration;

use crate::stage::{Stage, answer};

/// Longer than two looks of the service take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const LOG: &str = r#"{"time":"2026-01-05T10:00:00Z","speaker":"Bob","text":"The rowing club meets on Tuesdays."}
{"time":"2026-01-05T10:01:00Z","speaker":"Bob","text":"Waldi the dachshund barks."}
{"time":"2026-01-05T10:02:00Z","speaker":"Bob","text":"The weather is wet."}
"#;

/// Dogs are one direction, everything else another. A message is embedded with the one before it.
fn vectors(request: &Recorded) -> Reply {
    let Some(texts) = request.body["input"].as_array() else { return answer(request) };
    let vector = |text: &Value| {
        let text = text.as_str().unwrap();
        let is_dog =
            text.contains("dog") || text.contains("dachshund") && !text.contains("weather");
        if is_dog { json!([1.0, 0.1, 0.2, -0.1]) } else { json!([-0.1, 1.0, -0.2, 0.1]) }
    };
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(n, text)| json!({ "object": "embedding", "index": n, "embedding": vector(text) }))
        .collect();
    Reply::Json(json!({
        "object": "list", "model": "test", "data": data, "usage": { "prompt_tokens": 3, "total_tokens": 3 },
    }))
}

async fn json_of(program: Program, arguments: &[&str]) -> Value {
    let done = program.args(arguments).arg("--json").run().await;
    assert_eq!(done.code, Some(0), "{arguments:?}: {}{}", done.stdout, done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

/// Waits until a question that shares no word with the message finds it.
async fn until_found(program: impl Fn() -> Program) {
    let search = ["memory", "search", "my dog", "--room", "club"];
    let found = async {
        loop {
            let found = json_of(program(), &search).await;
            // Hits without a vector are found by words, and no word fits.
            if found["hits"].as_array().unwrap().len() == 3 {
                break found;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, found).await.expect("the history is embedded");
    let first = &found["hits"][0];
    assert_eq!(first["memory"]["content"]["text"], "Waldi the dachshund barks.", "{found}");
    assert_eq!((&first["words"], &first["meaning"]["rank"]), (&Value::Null, &json!(1)));
}

async fn a_history_is_found(stage: &Stage, database: Option<&Database>) {
    stage.model.answer_with(vectors);
    let program = |model: &str| {
        let program = stage
            .program()
            .env("OPENAI_EMBEDDING_MODEL", model)
            .env("EVALUATION_PAUSE_SECONDS", "0");
        match database {
            Some(database) => program.env("DATABASE_URL", database.url()),
            None => program,
        }
    };
    let mut running = program("first").arg("start").spawn();
    running.wait_for_line("ready in").await;
    stage.home.write("club.jsonl", LOG);
    let done = json_of(program("first"), &["memory", "import", "club.jsonl"]).await;
    assert_eq!(done["new"], 3, "{done}");
    until_found(|| program("first")).await;
    running.kill_9().await;

    let mut running = program("second").arg("start").spawn();
    running.wait_for_line("ready in").await;
    until_found(|| program("second")).await;
    running.kill_9().await;

    let asked = stage.model.requests();
    let of = |model: &str| {
        let batches = asked.iter().filter(|request| request.body["model"] == model);
        batches.filter(|request| request.body["input"][0] != "my dog").count()
    };
    assert_eq!((of("first"), of("second")), (1, 1), "one request of each model for the history");
    assert!(asked.iter().all(|request| request.path.ends_with("/embeddings")), "no model answered");
    // It is the agent's own use.
    let used = json_of(program("second"), &["usage", "--by", "platform,person,room"]).await;
    let [line] = used["lines"].as_array().unwrap().as_slice() else { panic!("{used}") };
    let agent = &json_of(program("second"), &["usage", "--by", "agent"]).await["lines"][0];
    assert_eq!((&line["platform"], &line["personId"]), (&json!("memory"), &agent["agentId"]));
    assert_eq!(line["room"], "memory", "{used}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_sqlite() {
    a_history_is_found(&Stage::set().await, None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_postgresql() {
    let (stage, database) = (Stage::set().await, Database::fresh().await);
    a_history_is_found(&stage, Some(&database)).await;
}

//! A new embedding model: every message is embedded again in the background, and the process is
//! killed meanwhile.

use galatea_testkit::{
    models::{Fault, Recorded, Reply},
    process::Program,
};
use serde_json::json;
use sqlx::SqlitePool;
use std::collections::HashMap;

use super::{count, has_died, until_counted};
use crate::stage::{Stage, answer};

/// Five requests of 64 texts.
const MESSAGES: usize = 300;
const ALL: &str = "SELECT CAST(count(*) AS text) FROM memories WHERE type = 'messages'";
const FIRST: &str = "SELECT CAST(count(*) AS text) FROM embeddings e JOIN memories m ON m.seq = e.seq WHERE m.type = 'messages' AND e.model LIKE '%first'";
const SECOND: &str = "SELECT CAST(count(*) AS text) FROM embeddings e JOIN memories m ON m.seq = e.seq WHERE m.type = 'messages' AND e.model LIKE '%second'";
const SECOND_PAID: &str =
    "SELECT CAST(coalesce(sum(calls), 0) AS text) FROM usage WHERE model LIKE '%second'";
const WAITING: &str = "SELECT CAST(count(*) AS text) FROM embedding_due";

fn program(stage: &Stage, model: &str) -> Program {
    stage
        .program()
        .env("OPENAI_EMBEDDING_MODEL", model)
        .env("REFLECTION_INTERVAL", "0")
        .env("EVALUATION_PAUSE_SECONDS", "0")
        .arg("start")
}

/// Texts of the requests for embeddings of a model.
fn texts(stage: &Stage, model: &str) -> Vec<String> {
    let requests = stage.model.requests();
    let of_model = requests
        .iter()
        .filter(|request| request.path.ends_with("/embeddings") && request.body["model"] == model);
    of_model
        .flat_map(|request| request.body["input"].as_array().unwrap().clone())
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

/// Lets the claims of dead processes end: they last five minutes.
async fn five_minutes_pass(stage: &Stage) {
    let file = stage.home.path().join(".galatea/galatea.db");
    let pool = SqlitePool::connect(&format!("sqlite://{}", file.display())).await.unwrap();
    let passed = "UPDATE embedding_due SET claimed_until = claimed_until - 300000 WHERE claimed_until BETWEEN 1 AND 9000000000000";
    sqlx::query(passed).execute(&pool).await.unwrap();
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_is_embedded_again_after_three_kills() {
    let stage = Stage::set().await;
    let mut running = program(&stage, "first").spawn();
    running.wait_for_line("ready in").await;
    let line = |n: usize| {
        json!({ "time": 1_767_607_200_000_u64 + n as u64, "speaker": "Ann", "text": format!("remark number {n}") }).to_string()
    };
    stage.home.write("club.jsonl", &(0..MESSAGES).map(line).collect::<Vec<_>>().join("\n"));
    let done = stage.program().args(["memory", "import", "club.jsonl"]).run().await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    // No message is sent: what the other process imported is found at the next look.
    until_counted(&stage, FIRST, MESSAGES).await;
    running.kill_9().await;

    // Killed before the first batch is stored, and after the second.
    for (point, stored) in [("embedding.before=return", 0), ("embedding.after=1*off->return", 128)]
    {
        let mut running = program(&stage, "second").env("FAILPOINTS", point).spawn();
        has_died(&mut running, point).await;
        assert_eq!(count(&stage, SECOND).await, stored, "after {point}");
        // The stored embeddings are paid for: two batches of 64.
        assert_eq!(count(&stage, SECOND_PAID).await, stored / 64, "after {point}");
        // The old vectors stay until then.
        assert_eq!(count(&stage, FIRST).await + stored, MESSAGES, "after {point}");
    }
    // Killed while the service has a batch.
    stage.model.answer_with(|request: &Recorded| {
        let batch = request.body["input"].as_array().is_some_and(|texts| texts.len() > 1);
        if batch {
            Reply::Fault(Fault::Hang)
        } else if request.path.ends_with("/embeddings") {
            Reply::Auto
        } else {
            answer(request)
        }
    });
    let before = texts(&stage, "second").len();
    let mut running = program(&stage, "second").spawn();
    let hangs = async {
        while texts(&stage, "second").len() < before + 50 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(super::PATIENCE, hangs).await.expect("a batch is asked for");
    running.kill_9().await;

    stage.model_wakes();
    five_minutes_pass(&stage).await;
    let mut running = program(&stage, "second").spawn();
    until_counted(&stage, SECOND, MESSAGES).await;
    assert_eq!(count(&stage, ALL).await, MESSAGES);
    assert_eq!((count(&stage, FIRST).await, count(&stage, WAITING).await), (0, 0));
    running.kill_9().await;

    // Paid twice is only what was under way at a kill: two batches that were not stored.
    let mut asked: HashMap<String, usize> = HashMap::new();
    for text in texts(&stage, "second").into_iter().filter(|text| text.contains("remark")) {
        *asked.entry(text).or_default() += 1;
    }
    let again: usize = asked.values().map(|times| times - 1).sum();
    assert_eq!(asked.len(), MESSAGES);
    assert!(again <= 2 * 64, "{again} texts were embedded more than once");
}

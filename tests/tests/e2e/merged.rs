//! A merged fact is exported and imported with the facts that it was made of: when it is contradicted
//! in the other database, these hold again.

use galatea_testkit::{
    models::{Recorded, Reply},
    process::Program,
};
use serde_json::{Value, json};
use std::{fs, time::Duration};

use crate::stage::{Stage, answer};

const PATIENCE: Duration = Duration::from_secs(120);
const MERGED: &str = "Ann drinks black tea and eats sweet cake";
const CONTRADICTED: &str = "Ann drinks no black tea.";

/// Learns that the one known fact no longer holds.
fn contradicts(request: &Recorded) -> Reply {
    let text = request.body["messages"].to_string();
    if !text.contains("You read a conversation") {
        return answer(request);
    }
    assert!(text.contains(MERGED) && !text.contains("\\nk2 "), "{text}");
    // The newest message: `m12 Ann: …`.
    let number = |rest: &str| rest.split(' ').next()?.parse::<u32>().ok();
    let evidence = text.rsplit("\\nm").find_map(number).unwrap();
    let fact = json!({ "about": "Ann", "fact": CONTRADICTED, "evidence": evidence, "replaces": 1 });
    Reply::text(json!({ "facts": [fact] }).to_string())
}

async fn exported(program: Program) -> Vec<Value> {
    let done = program.args(["memory", "export"]).run().await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn imports(program: Program, file: &str, new: usize) {
    let done = program.args(["memory", "import", file, "--json"]).run().await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let done: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(done["new"], json!(new), "{done}");
}

/// Text, end and successor of a fact.
fn facts(exported: &[Value]) -> Vec<(&str, bool, &Value)> {
    let facts = exported.iter().filter(|line| line["type"] == "facts");
    facts
        .map(|line| {
            let text = line["content"]["text"].as_str().unwrap();
            (text, line.get("validUntil").is_some(), &line["supersededBy"])
        })
        .collect()
}

/// Three facts on Ann's message: two, and the one that they were merged into.
fn merged_facts(message: &Value) -> Vec<Value> {
    let id = |n: u32| json!(format!("00000000-0000-4000-8000-{n:012}"));
    let ann = &message["entityId"];
    let at = message["createdAt"].as_i64().unwrap();
    let fact = |n: u32, text: &str, sources: Value| {
        json!({
            "record": "memory", "id": id(n), "type": "facts", "agentId": message["agentId"],
            "entityId": ann, "roomId": message["roomId"], "worldId": message["worldId"],
            "content": { "text": text }, "createdAt": at + 1, "scope": "private", "sources": sources,
            "metadata": { "type": "fact", "trust": "untrusted", "subjectName": "Ann", "saidBy": ann, "saidByName": "Ann", "confidence": 0.9 },
        })
    };
    let part = |n: u32, text: &str| {
        let mut part = fact(n, text, json!([message["id"]]));
        part["validUntil"] = json!(at + 2);
        part["supersededBy"] = id(3);
        part
    };
    let mut merged = fact(3, MERGED, json!([message["id"], id(1), id(2)]));
    merged["metadata"]["mergedSources"] = json!(1);
    vec![part(1, "Ann drinks black tea"), part(2, "Ann eats sweet cake"), merged]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_parts_of_a_merged_fact_hold_again_after_an_import() {
    let stage = Stage::set().await;
    let mut running = stage.start().await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1 I like black tea and sweet cake").send();
    stage.wait_text(&direct, "A1").await;
    running.kill_9().await;
    let before = exported(stage.program()).await;
    let message = before.iter().find(|line| line["type"] == "messages").unwrap();
    let mut head = before[0].clone();
    head["has_end"] = json!(false);
    let lines: Vec<String> =
        std::iter::once(&head).chain(&merged_facts(message)).map(Value::to_string).collect();
    stage.home.write("facts.jsonl", &lines.join("\n"));
    imports(stage.program(), "facts.jsonl", 3).await;
    let whole = exported(stage.program()).await;
    let known = facts(&whole);
    let by = json!("00000000-0000-4000-8000-000000000003");
    assert_eq!(
        known,
        [
            ("Ann drinks black tea", true, &by),
            ("Ann eats sweet cake", true, &by),
            (MERGED, false, &Value::Null)
        ]
    );
    let text: Vec<String> = whole.iter().map(Value::to_string).collect();
    fs::write(stage.home.path().join("whole.jsonl"), text.join("\n")).unwrap();

    let elsewhere = || {
        stage
            .program()
            .env("GALATEA_DATA_DIR", "elsewhere")
            .env("REFLECTION_INTERVAL", "1")
            .env("EVALUATION_PAUSE_SECONDS", "0")
    };
    let mut running = elsewhere().arg("start").spawn();
    running.wait_for_line("ready in").await;
    running.kill_9().await;
    let memories = whole.iter().filter(|line| line["record"] == "memory").count();
    imports(elsewhere(), "whole.jsonl", memories).await;
    imports(elsewhere(), "whole.jsonl", 0).await;
    stage.model.answer_with(contradicts);
    let mut running = elsewhere().arg("start").spawn();
    running.wait_for_line("ready in").await;
    stage.ann.says(&direct, "Q2 I no longer drink black tea").send();
    stage.wait_text(&direct, "A2").await;
    let learnt = async {
        loop {
            let now = exported(elsewhere()).await;
            if facts(&now).iter().any(|(text, ..)| *text == CONTRADICTED) {
                break now;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let learnt = tokio::time::timeout(PATIENCE, learnt).await.expect("the reflection is stored");
    for (text, ended, by) in facts(&learnt) {
        assert_eq!(ended, text == MERGED, "{text}");
        assert_eq!(by.is_null(), text != MERGED, "{text}: {by}");
    }
    running.kill_9().await;
}

//! `memory import`, killed before, between and after its commits.

use serde_json::{Value, json};

use super::{count, dies, rows};
use crate::{
    elizaos::{Form, Names, Rows, id},
    stage::Stage,
};

/// Four commits of 500 messages, the last one smaller.
const MESSAGES: usize = 1_700;
const STORED: &str = "SELECT CAST(count(*) AS text) FROM memories WHERE type = 'messages'";
const TEXTS: &str = "SELECT CAST(count(DISTINCT content ->> '$.text') AS text) FROM memories WHERE type = 'messages'";
const FACTS: &str = "SELECT CAST(count(*) AS text) FROM memories WHERE type = 'facts'";
const SOURCES: &str = "SELECT CAST(count(*) AS text) FROM memory_sources";
/// Rows that stand beside messages, with how often they are stored.
const BESIDE: &str = "SELECT 'room ' || name, CAST(count(*) AS text) FROM rooms GROUP BY source, account, remote \
    UNION ALL SELECT 'person', CAST(count(*) AS text) FROM participants GROUP BY entity_id, room_id";

async fn import(stage: &Stage, file: &str) -> Value {
    let done = stage.program().args(["memory", "import", file, "--json"]).run().await;
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

/// Makes the database and the agent.
async fn begin(stage: &Stage) {
    let mut running = stage.start().await;
    running.terminate();
    running.finish().await;
}

#[tokio::test]
async fn a_chat_log_is_whole_after_four_kills() {
    let stage = Stage::set().await;
    begin(&stage).await;
    let line = |n: usize| {
        let speaker = ["Ann", "Bob", "Cleo"][n % 3];
        let at = 1_767_607_200_000_u64 + n as u64 * 1_000;
        json!({ "time": at, "speaker": speaker, "text": format!("remark number {n}") }).to_string()
    };
    let log: Vec<String> = (0..MESSAGES).map(line).collect();
    stage.home.write("club.jsonl", &log.join("\n"));

    for (point, stored) in [
        ("import.before=return", 0),
        ("import.after=return", 500),
        ("import.before=3*off->return", 1_500),
        ("import.after=3*off->return", 1_700),
    ] {
        dies(stage.program().args(["memory", "import", "club.jsonl"]), point).await;
        assert_eq!(count(&stage, STORED).await, stored, "after {point}");
    }
    let done = import(&stage, "club.jsonl").await;
    assert_eq!((&done["read"], &done["new"]), (&json!(MESSAGES), &json!(0)), "{done}");
    assert_eq!((count(&stage, STORED).await, count(&stage, TEXTS).await), (MESSAGES, MESSAGES));
    let beside = rows(&stage, BESIDE).await;
    assert!(beside.len() >= 4 && beside.iter().all(|row| row[1] == "1"), "{beside:?}");
    // A memory that was imported between the kills is found by its words.
    for n in [0, 499, 500, 1_499, 1_500, 1_699] {
        let words = format!("{n}");
        let found =
            stage.program().args(["memory", "search", words.as_str(), "--json"]).run().await;
        let found: Value = serde_json::from_str(&found.stdout).unwrap();
        let texts: Vec<&str> = found["hits"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|hit| hit["memory"]["content"]["text"].as_str())
            .collect();
        assert_eq!(
            texts.iter().filter(|text| **text == format!("remark number {n}")).count(),
            1,
            "{n}: {texts:?}"
        );
    }
}

#[tokio::test]
async fn an_export_with_facts_is_whole_after_three_kills() {
    let stage = Stage::set().await;
    begin(&stage).await;
    let line = |n: usize| {
        json!({ "time": 1_767_607_200_000_u64 + n as u64, "speaker": "Ann", "text": format!("remark number {n}") }).to_string()
    };
    stage.home.write("club.jsonl", &(0..300).map(line).collect::<Vec<_>>().join("\n"));
    import(&stage, "club.jsonl").await;
    let done = stage.program().args(["memory", "export", "-o", "all.jsonl"]).run().await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    // A fact for every message, made from it.
    let mut lines: Vec<String> = Vec::new();
    for line in stage.home.read("all.jsonl").unwrap().lines() {
        lines.push(line.to_owned());
        let mut record: Value = serde_json::from_str(line).unwrap();
        if record["record"] != "memory" {
            continue;
        }
        let source = record["id"].as_str().unwrap().to_owned();
        let text = record["content"]["text"].as_str().unwrap().to_owned();
        record["id"] = json!(galatea_core::ids::string_to_uuid(&format!("fact {source}")));
        record["type"] = json!("facts");
        record["content"] = json!({ "text": format!("fact of {text}") });
        record["sources"] = json!([source]);
        lines.push(record.to_string());
    }
    stage.home.write("filled.jsonl", &lines.join("\n"));

    let elsewhere = || stage.program().env("GALATEA_DATA_DIR", "elsewhere");
    let mut running = elsewhere().arg("start").spawn();
    running.wait_for_line("ready in").await;
    running.kill_9().await;
    let filled = ["memory", "import", "filled.jsonl"];
    for point in ["import.derived=return", "import.after=return", "import.derived=1*off->return"] {
        dies(elsewhere().args(filled), point).await;
    }
    let done = elsewhere().args(filled).run().await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let database = crate::places::Database::open_in(&stage.home.path().join("elsewhere")).await;
    for (query, wanted) in [(STORED, "300"), (TEXTS, "300"), (FACTS, "300"), (SOURCES, "300")] {
        assert_eq!(database.rows(query).await[0][0], wanted, "{query}");
    }
}

/// A dump names rooms and people's ties behind its memories, so a kill leaves memories without
/// them; the next run brings the rest.
#[tokio::test]
async fn a_dump_of_elizaos_is_whole_after_three_kills() {
    let stage = Stage::set().await;
    begin(&stage).await;
    let agent = galatea_core::ids::string_to_uuid("Eliza");
    let mut dump = Rows::default();
    dump.house(&agent);
    for n in 0..1_200 {
        dump.memory(1_000 + n, &agent, "messages", 21, &format!("remark number {n}"));
    }
    stage.home.write("eliza.sql", &dump.dump(Form::Copy, Names::Snake));
    for (point, stored) in [
        // Two people are part of the first 500 rows.
        ("import.before=1*off->return", 498),
        ("import.after=1*off->return", 998),
        ("import.after=2*off->return", 1_200),
    ] {
        dies(stage.program().args(["memory", "import", "eliza.sql"]), point).await;
        assert_eq!(count(&stage, STORED).await, stored, "after {point}");
    }
    let ties = "SELECT source_entity_id, target_entity_id FROM relationships";
    assert_eq!(rows(&stage, ties).await, Vec::<Vec<String>>::new(), "they come last");
    let done = import(&stage, "eliza.sql").await;
    assert_eq!((&done["read"], &done["new"]), (&json!(1_200), &json!(0)), "{done}");
    assert_eq!(rows(&stage, ties).await, [[id(21), id(22)]]);
    assert_eq!((count(&stage, STORED).await, count(&stage, TEXTS).await), (1_200, 1_200));
}

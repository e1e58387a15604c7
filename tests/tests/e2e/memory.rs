//! `galatea memory`: what an agent remembers is listed, found, exported, imported and removed.

use galatea_testkit::process::Program;
use serde_json::{Value, json};

use crate::stage::Stage;

const LOG: &str = r#"{"time":"2026-01-05T10:00:00Z","speaker":"Bob","text":"The rowing club meets on Tuesdays."}
{"time":"2026-01-05T10:00:00Z","speaker":"Bob","text":"The rowing club meets on Tuesdays."}
{"time":1767607260000,"speaker":"Eliza","text":"Noted.","id":3}
"#;

async fn json_of(program: Program, arguments: &[&str]) -> Value {
    let done = program.args(arguments).arg("--json").run().await;
    assert_eq!(done.code, Some(0), "{arguments:?}: {}{}", done.stdout, done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

fn texts(listed: &Value, under: &str, of: &str) -> Vec<String> {
    let text = |row: &Value| row.pointer(of).unwrap().as_str().unwrap().to_owned();
    listed[under].as_array().unwrap().iter().map(text).collect()
}

#[tokio::test]
async fn memories_are_listed_found_exported_imported_and_removed() {
    let stage = Stage::set().await;
    let mut running = stage.start().await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1 I keep bees in Ghent").send();
    stage.wait_text(&direct, "A1").await;

    let listed = json_of(stage.program(), &["memory", "ls", "--person", "Ann"]).await;
    assert_eq!(texts(&listed, "memories", "/content/text"), ["Q1 I keep bees in Ghent"]);
    let id = listed["memories"][0]["id"].as_str().unwrap().to_owned();
    let found = json_of(stage.program(), &["memory", "search", "who has bees"]).await;
    assert_eq!(found["hits"][0]["memory"]["id"], json!(id));
    assert_eq!(found["hits"][0]["words"]["rank"], 1);
    let shown = stage.program().args(["memory", "show", &id[..13]]).run().await;
    assert!(shown.stdout.contains("I keep bees in Ghent"), "{}{}", shown.stdout, shown.stderr);

    stage.home.write("club.jsonl", LOG);
    for new in [3, 0] {
        let done = json_of(stage.program(), &["memory", "import", "club.jsonl"]).await;
        assert_eq!((&done["read"], &done["new"]), (&json!(3), &json!(new)), "{done}");
    }
    let club = ["memory", "search", "rowing club", "--room", "club", "--person", "Bob"];
    let found = json_of(stage.program(), &club).await;
    assert_eq!(found["hits"].as_array().unwrap().len(), 2, "{found}");
    let bot = stage.telegram.token().split(':').next().unwrap().to_owned();
    let export = json!({ "name": "Old", "type": "private_supergroup", "id": 77, "messages": [
        { "id": 5, "type": "message", "date_unixtime": "1767607200", "from": "Ann", "from_id": format!("user{}", stage.ann.id), "text": "Ghent is wet" },
        { "id": 6, "type": "message", "date_unixtime": "1767607201", "from": "Bot", "from_id": format!("user{bot}"), "text": "So it is" },
    ] });
    stage.home.write("result.json", &export.to_string());
    let done = json_of(stage.program(), &["memory", "import", "result.json"]).await;
    assert_eq!(done["new"], 2, "{done}");
    let ann = json_of(stage.program(), &["memory", "ls", "--person", "Ann"]).await;
    assert_eq!(
        texts(&ann, "memories", "/content/text"),
        ["Q1 I keep bees in Ghent", "Ghent is wet"],
        "the same person as on Telegram"
    );

    let all = json_of(stage.program(), &["memory", "ls", "--limit", "100"]).await;
    let count = all["memories"].as_array().unwrap().len();
    let done = stage.program().args(["memory", "export", "-o", "all.jsonl"]).run().await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let again = stage.program().args(["memory", "export", "-o", "all.jsonl"]).run().await;
    assert!(again.stderr.contains("GAL-MEMORY-WRITE"), "{}", again.stderr);
    let removed = json_of(stage.program(), &["memory", "rm", &id, "--yes"]).await;
    assert_eq!(removed["removed"], 1);
    let found = json_of(stage.program(), &["memory", "search", "bees"]).await;
    assert_eq!(found["hits"], json!([]));
    running.kill_9().await;

    let elsewhere = || stage.program().env("GALATEA_DATA_DIR", "elsewhere");
    let mut running = elsewhere().arg("start").spawn();
    running.wait_for_line("ready in").await;
    running.kill_9().await;
    for new in [count, 0] {
        let done = json_of(elsewhere(), &["memory", "import", "all.jsonl"]).await;
        assert_eq!(done["new"], json!(new), "{done}");
    }
    let moved = json_of(elsewhere(), &["memory", "ls", "--limit", "100"]).await;
    assert_eq!(
        texts(&moved, "memories", "/content/text"),
        texts(&all, "memories", "/content/text")
    );
}

#[tokio::test]
async fn what_cannot_be_imported_is_named_with_its_place() {
    let stage = Stage::set().await;
    let _running = stage.start().await;
    stage.home.write("broken.jsonl", &format!("{LOG}{{\"time\":1}}\n"));
    stage.home.write("poem.txt", "roses are red\n");
    for (file, told) in [("broken.jsonl", "line 4"), ("poem.txt", "unknown"), ("gone", "gone")] {
        let done = stage.program().args(["memory", "import", file]).run().await;
        assert_eq!(done.code, Some(3), "{file}: {}", done.stderr);
        assert!(
            done.stderr.contains("GAL-MEMORY-IMPORT") && done.stderr.contains(told),
            "{file}: {}",
            done.stderr
        );
    }
    let listed = json_of(stage.program(), &["memory", "ls"]).await;
    assert_eq!(listed["memories"], json!([]), "nothing of a broken log is stored");
}

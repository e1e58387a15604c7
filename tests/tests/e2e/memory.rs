//! `galatea memory`: what an agent remembers is listed, found, exported, imported and removed.

use galatea_core::ids::string_to_uuid;
use galatea_testkit::{
    models::{Fault, Recorded, Reply},
    process::Program,
};
use serde_json::{Value, json};
use std::time::Duration;

use crate::stage::{Stage, answer};

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
    let own = ["memory", "ls", "--kind", "messages", "--person", "Bot"];
    let done = stage.program().args(own).run().await;
    assert!(done.stderr.contains("GAL-MEMORY-PERSON"), "the agent's own account: {}", done.stderr);
    let ann = json_of(stage.program(), &["memory", "ls", "--person", "Ann"]).await;
    assert_eq!(
        texts(&ann, "memories", "/content/text"),
        ["Q1 I keep bees in Ghent", "Ghent is wet"],
        "the same person as on Telegram"
    );

    let all = json_of(stage.program(), &["memory", "ls", "--limit", "100"]).await;
    let count = all["memories"].as_array().unwrap().len();
    let done = json_of(stage.program(), &["memory", "export", "-o", "all.jsonl"]).await;
    assert_eq!(done["schema"], "galatea.memory.export/1");
    assert_eq!((&done["memories"], &done["file"]), (&json!(count), &json!("all.jsonl")), "{done}");
    let printed = stage.program().args(["memory", "export", "--json"]).run().await;
    let lines: Vec<Value> =
        printed.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["record"], &done["records"]), (&json!("export"), &json!(lines.len())));
    let again = stage.program().args(["memory", "export", "-o", "all.jsonl"]).run().await;
    assert!(again.stderr.contains("GAL-MEMORY-WRITE"), "{}", again.stderr);
    assert_eq!(again.code, Some(6), "{}", again.stderr);
    let removed = json_of(stage.program(), &["memory", "rm", &id, "--yes"]).await;
    assert_eq!(removed["removed"], 1);
    let done = json_of(stage.program(), &["memory", "import", "all.jsonl"]).await;
    assert_eq!((&done["new"], &done["deleted"]), (&json!(0), &json!(1)), "{done}");
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
    stage.home.write("broken.jsonl", "{\"time\":1}\n");
    stage.home.write("poem.txt", "roses are red\n");
    stage.home.write("club.jsonl", LOG);
    let strange = ["memory", "import", "club.jsonl", "--own", "Elsa"];
    let done = stage.program().args(strange).run().await;
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(
        done.stderr.contains("GAL-MEMORY-OWN") && done.stderr.contains("Bob"),
        "{}",
        done.stderr
    );
    for (file, output) in [("broken.jsonl", "line 1"), ("poem.txt", "unknown"), ("gone", "gone")] {
        let done = stage.program().args(["memory", "import", file]).run().await;
        assert_eq!(done.code, Some(3), "{file}: {}", done.stderr);
        assert!(
            done.stderr.contains("GAL-MEMORY-IMPORT") && done.stderr.contains(output),
            "{file}: {}",
            done.stderr
        );
    }
    let listed = json_of(stage.program(), &["memory", "ls"]).await;
    assert_eq!(listed["memories"], json!([]), "nothing of such a file is stored");
}

#[tokio::test]
async fn what_is_left_out_of_an_import_is_named() {
    let stage = Stage::set().await;
    let _running = stage.start().await;
    stage.home.write("club.jsonl", &format!("\u{feff}\nnonsense\n{LOG}{{\"time\":1}}\n"));
    for new in [3, 0] {
        let done = stage.program().args(["memory", "import", "club.jsonl", "--json"]).run().await;
        assert_eq!(done.code, Some(1), "{}", done.stderr);
        let counts: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!((&counts["new"], &counts["skipped"]["count"]), (&json!(new), &json!(2)));
        for word in ["GAL-MEMORY-SKIPPED", "line 2", "line 6", "club.jsonl"] {
            assert!(done.stderr.contains(word), "{word} is missing: {}", done.stderr);
        }
    }
    let listed = json_of(stage.program(), &["memory", "ls"]).await;
    let id = listed["memories"][0]["id"].as_str().unwrap().to_owned();
    let done = stage.program().args(["memory", "rm", &id, "--no-input"]).run().await;
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("--yes"), "{}", done.stderr);
    json_of(stage.program(), &["memory", "show", &id]).await;
}

/// Links of accounts come out of an export and back with their ids and times, whole or not at all.
#[tokio::test]
async fn links_of_accounts_are_exported_and_imported() {
    let stage = Stage::set().await;
    let mut running = stage.start().await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1 I keep bees").send();
    stage.wait_text(&direct, "A1").await;
    let listed = json_of(stage.program(), &["memory", "ls", "--person", "Ann"]).await;
    let ann = listed["memories"][0]["entityId"].as_str().unwrap().to_owned();
    let id = |n: u32| format!("00000000-0000-4000-8000-{n:012}");
    let link = |a: &str, b: &str, at: i64| {
        json!({ "record": "link", "entityId": a, "linkedId": b, "linkedAt": at }).to_string()
    };
    let head =
        json!({ "record": "export", "format": "galatea.memory/1", "agent": "Eliza", "at": "" });
    let (a, b, c, d) = (id(1), id(2), id(3), id(4));
    let links = [
        link(&ann, &a, 1_700_000_000_000),
        // Not each with each: it is left out.
        link(&b, &c, 5),
        link(&c, &d, 6),
    ];
    stage.home.write("links.jsonl", &format!("{head}\n{}\n", links.join("\n")));
    for new in [1, 0] {
        let done = json_of(stage.program(), &["memory", "import", "links.jsonl", "--links"]).await;
        assert_eq!(done["links"], json!({ "read": 3, "new": new }), "{done}");
    }
    let exported = async |program: Program, arguments: &[&str]| {
        let done = program.args(["memory", "export"]).args(arguments).run().await;
        let lines = done.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.filter(|record: &Value| record["record"] == "link").collect::<Vec<_>>()
    };
    let all = exported(stage.program(), &[]).await;
    let [only] = all.as_slice() else { panic!("{all:?}") };
    let mut pair = [&only["entityId"], &only["linkedId"]].map(|id| id.as_str().unwrap().to_owned());
    pair.sort();
    let mut expected = [ann.clone(), a];
    expected.sort();
    assert_eq!((pair, &only["linkedAt"]), (expected, &json!(1_700_000_000_000_i64)));
    let of_ann = exported(stage.program(), &["--person", "Ann"]).await;
    assert_eq!(of_ann, all);
    let done = stage.program().args(["memory", "export", "-o", "all.jsonl"]).run().await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    running.kill_9().await;

    let elsewhere = || stage.program().env("GALATEA_DATA_DIR", "elsewhere");
    let mut running = elsewhere().arg("start").spawn();
    running.wait_for_line("ready in").await;
    running.kill_9().await;
    let imported = async |arguments: &[&str]| {
        let output =
            elsewhere().args(["memory", "import", "all.jsonl"]).args(arguments).run().await;
        format!("{}{}", output.stdout, output.stderr)
    };
    let said = imported(&[]).await;
    assert!(said.contains("1 links of accounts left out: --links restores them"), "{said}");
    assert_eq!(exported(elsewhere(), &[]).await, Vec::<Value>::new());
    let said = imported(&["--links"]).await;
    assert!(said.contains("1 of 1 links of accounts are new"), "{said}");
    assert_eq!(exported(elsewhere(), &[]).await, all);
}

const TEAM: &str = r#"{"time":"2026-02-10T10:00:00Z","speaker":"Cleo","text":"Dora said the kettle is new"}
{"time":"2026-02-11T10:00:00Z","speaker":"Dora","text":"my kettle is blue"}
{"time":"2026-03-10T10:00:00Z","speaker":"Cleo","text":"the boiler is broken"}
{"time":"2026-01-10T10:00:00Z","speaker":"Cleo","text":"the boiler is broken"}
"#;

/// A search finds what a named person said before what others say to or of that person. Of equal
/// messages the newer one comes first only if age is set to count.
#[tokio::test]
async fn a_search_knows_whom_the_question_names_and_the_age_that_is_set() {
    let stage = Stage::set().await;
    stage.start().await.kill_9().await;
    stage.home.write("team.jsonl", TEAM);
    json_of(stage.program(), &["memory", "import", "team.jsonl"]).await;
    let search = async |program: Program, question: &str| {
        let arguments = ["memory", "search", question, "--room", "team", "--kind", "messages"];
        json_of(program, &arguments).await["hits"].as_array().unwrap().clone()
    };
    let hits = search(stage.program(), "what did DORA say of the kettle?").await;
    assert_eq!(hits[0]["memory"]["content"]["text"], "my kettle is blue", "{hits:?}");
    let aging = || stage.program().env("MEMORY_HALF_LIFE_DAYS", "30");
    for (program, at) in [(stage.program(), 1_768_039_200_000_i64), (aging(), 1_773_136_800_000)] {
        let hits = search(program, "is the boiler broken?").await;
        assert_eq!(hits[0]["memory"]["createdAt"], at, "{hits:?}");
    }
}

/// Each further source message raises the confidence in a fact.
#[tokio::test]
async fn a_confirmed_fact_is_shown_with_more_confidence() {
    let stage = Stage::set().await;
    let mut running = stage.start().await;
    running.kill_9().await;
    let id = |n: u32| format!("00000000-0000-4000-8000-{n:012}");
    let (ann, bob, room) = (id(1), id(2), id(3));
    let memory = |n: u32, kind: &str, who: &str, text: &str, more: Value| {
        let mut record = json!({
            "record": "memory", "id": id(n), "type": kind, "agentId": string_to_uuid("Eliza"), "entityId": who, "roomId": room,
            "content": { "text": text }, "metadata": {}, "createdAt": 1_767_607_200_000_u64 + u64::from(n),
        });
        for (key, value) in more.as_object().unwrap() {
            record[key] = value.clone();
        }
        record.to_string()
    };
    let fact = |n: u32, said_by: &str, sources: &[u32]| {
        let sources: Vec<String> = sources.iter().map(|n| id(*n)).collect();
        let metadata =
            json!({ "type": "fact", "saidBy": said_by, "saidByName": "x", "confidence": 0.1 });
        let more = json!({ "sources": sources, "scope": "room", "metadata": metadata });
        memory(n, "facts", &ann, &format!("fact {n}"), more)
    };
    let head =
        json!({ "record": "export", "format": "galatea.memory/1", "agent": "Eliza", "at": "" });
    let mut lines = vec![head.to_string()];
    lines.extend((11..14).map(|n| memory(n, "messages", &ann, "said", json!({}))));
    lines.extend([
        fact(21, &bob, &[11]),
        fact(22, &bob, &[11, 12]),
        fact(23, &bob, &[11, 12, 13]),
        fact(24, &ann, &[11]),
        fact(25, &ann, &[11, 12]),
    ]);
    stage.home.write("facts.jsonl", &lines.join("\n"));
    let done = json_of(stage.program(), &["memory", "import", "facts.jsonl"]).await;
    assert_eq!(done["new"], 8, "{done}");
    for (n, confidence) in [(21, 0.5), (22, 0.75), (23, 0.875), (24, 0.9), (25, 0.95)] {
        let shown = json_of(stage.program(), &["memory", "show", &id(n)]).await;
        assert_eq!(shown["memory"]["metadata"]["confidence"], confidence, "{shown}");
        let shown = stage.program().args(["memory", "show", &id(n)]).run().await.stdout;
        let line = shown.lines().find(|line| line.starts_with("confidence"));
        assert!(line.is_some_and(|line| line.ends_with(&confidence.to_string())), "{shown}");
    }
}

/// Dogs are one direction, everything else another. A message is embedded with the one before it.
fn vectors(request: &Recorded) -> Reply {
    if !request.path.ends_with("/embeddings") {
        return answer(request);
    }
    let vector = |text: &Value| {
        let text = text.as_str().unwrap();
        let dog = text.contains("dog") || text.contains("dachshund") && !text.contains("weather");
        if dog { json!([1.0, 0.1, 0.2, -0.1]) } else { json!([-0.1, 1.0, -0.2, 0.1]) }
    };
    let data: Vec<Value> = request.body["input"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(n, text)| json!({ "object": "embedding", "index": n, "embedding": vector(text) }))
        .collect();
    Reply::Json(json!({
        "object": "list", "model": "test-embedding", "data": data, "usage": { "prompt_tokens": 3, "total_tokens": 3 },
    }))
}

/// With an embedding model a search looks by meaning too; without one, or with one that fails, it looks
/// by words and says so.
#[tokio::test]
async fn a_search_looks_by_words_and_by_meaning() {
    let stage = Stage::set().await;
    stage.model.answer_with(vectors);
    let program = || stage.program().env("OPENAI_EMBEDDING_MODEL", "test-embedding");
    let mut running = program()
        .env("EVALUATION_PAUSE_SECONDS", "0")
        .env("REFLECTION_INTERVAL", "0")
        .arg("start")
        .spawn();
    running.wait_for_line("ready in").await;
    let direct = stage.ann.direct();
    for (text, said) in [("Q1 Waldi the dachshund barks", "A1"), ("Q2 the weather is wet", "A2")] {
        stage.ann.says(&direct, text).send();
        stage.wait_text(&direct, said).await;
    }
    let waldi = "Q1 Waldi the dachshund barks";
    let search = ["memory", "search", "my dog", "--person", "Ann"];
    let embedded = async {
        loop {
            let found = json_of(program(), &search).await;
            if found["hits"].as_array().unwrap().len() == 2 {
                break found;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(120), embedded).await;
    let found = found.expect("messages are embedded when the room is quiet");
    assert_eq!(found["embeddingModel"], "openai test-embedding");
    assert_eq!(texts(&found, "hits", "/memory/content/text")[0], waldi);
    let first = &found["hits"][0];
    assert_eq!((&first["words"], &first["meaning"]["rank"]), (&Value::Null, &json!(1)));
    assert!(first["meaning"]["score"].as_f64().unwrap() > 0.99, "{first}");

    let both = ["memory", "search", "Waldi the dog", "--person", "Ann"];
    let shown = program().args(both).run().await;
    let line = shown.stdout.lines().next().unwrap();
    let (score, rest) =
        line.split_once("  words #1  meaning #1  ").unwrap_or_else(|| panic!("{line}"));
    assert!(score.parse::<f32>().unwrap() > 0.0 && rest.contains(waldi), "{line}");
    assert!(!shown.stderr.contains("words only"), "{}", shown.stderr);
    let used = json_of(program(), &["usage", "--by", "platform"]).await.to_string();
    assert!(used.contains("\"memory\""), "what a search costs is counted: {used}");

    // It fails, or there is none.
    stage.model.answer_with(|request| match request.path.ends_with("/embeddings") {
        true => Reply::Fault(Fault::BadKey),
        false => answer(request),
    });
    for (program, why) in [
        (program(), "searched by words only: "),
        (stage.program(), "searched by words only: no embedding model is configured"),
    ] {
        let done = program.args(both).arg("--json").run().await;
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert_eq!(
            done.stderr.lines().filter(|line| line.contains(why)).count(),
            1,
            "{}",
            done.stderr
        );
        let found: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(texts(&found, "hits", "/memory/content/text")[0], waldi);
        assert_eq!(
            (&found["hits"][0]["words"]["rank"], &found["embeddingModel"]),
            (&json!(1), &Value::Null)
        );
        let hits = found["hits"].as_array().unwrap();
        assert!(hits.iter().all(|hit| hit["meaning"].is_null()), "{found}");
    }
    running.kill_9().await;
}

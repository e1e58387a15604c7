//! `galatea memory import`: from which files and into which Rooms, and what of it an export has.

use galatea_testkit::process::{Finished, Program};
use serde_json::{Value, json};

use crate::stage::Stage;

const LOG: &str = r#"{"time":"2026-01-05T10:00:00Z","speaker":"Bob","text":"The rowing club meets on Tuesdays.","id":1}
{"time":"2026-01-05T10:01:00Z","speaker":"Bob","text":"Bring a boat.","id":2}
"#;

async fn run(program: Program, arguments: &[&str]) -> Finished {
    program.args(arguments).run().await
}

async fn json_of(program: Program, arguments: &[&str]) -> Value {
    let done = program.args(arguments).arg("--json").run().await;
    assert_eq!(done.code, Some(0), "{arguments:?}: {}{}", done.stdout, done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

/// An agent that has run once.
async fn stage() -> Stage {
    let stage = Stage::set().await;
    stage.start().await.kill_9().await;
    stage
}

/// An export of a group with a topic: one message in General, two in the topic.
fn forum() -> Value {
    let message = |id: i64, text: &str, to: Option<i64>| {
        json!({ "id": id, "type": "message", "date_unixtime": (1_767_607_200 + id).to_string(), "from": "Cleo",
            "from_id": "user9", "text": text, "reply_to_message_id": to })
    };
    json!({ "name": "Honey Club", "type": "private_supergroup", "id": 77, "messages": [
        { "id": 3, "type": "service", "action": "topic_created", "title": "Recipes" },
        message(4, "my hive is called Zanzibar", None),
        message(5, "honey cake: 300 g flour", Some(3)),
        message(6, "and two eggs", Some(5)),
    ] })
}

async fn texts(stage: &Stage, room: &str) -> Vec<String> {
    let listed = json_of(stage.program(), &["memory", "ls", "--room", room]).await;
    let text = |row: &Value| row["content"]["text"].as_str().unwrap().to_owned();
    listed["memories"].as_array().unwrap().iter().map(text).collect()
}

#[tokio::test]
async fn a_pipe_is_imported_whole() {
    let stage = stage().await;
    for (file, new) in [("-", 2), ("/dev/stdin", 0)] {
        let mut running = stage.program().args(["memory", "import", file, "--json"]).spawn();
        for line in LOG.lines() {
            running.write_line(line).await;
        }
        running.close_stdin();
        let done = running.finish().await;
        assert_eq!(done.code, Some(0), "{file}: {}", done.stderr);
        let counts: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!((&counts["read"], &counts["new"]), (&json!(2), &json!(new)), "{file}: {counts}");
    }
}

/// An import may come before the first start, which then finds what was imported.
#[tokio::test]
async fn an_import_before_the_first_start_makes_the_database() {
    let stage = Stage::set().await;
    stage.home.write("club.jsonl", LOG);
    stage.home.write("juniper.json", r#"{ "name": "Juniper", "bio": "b" }"#);
    let program = || stage.program().env("CHARACTER_FILES", "juniper.json");
    let dry = json_of(program(), &["memory", "import", "club.jsonl", "--dry-run"]).await;
    assert_eq!((&dry["read"], &dry["agent"]), (&json!(2), &json!("Juniper")));
    assert!(!stage.home.path().join(".galatea").exists(), "a dry run makes nothing");
    let done = json_of(program(), &["memory", "import", "club.jsonl"]).await;
    assert_eq!((&done["new"], &done["agent"]), (&json!(2), &json!("Juniper")));
    let mut running = program().arg("start").spawn();
    running.wait_for_line("ready in").await;
    let found = json_of(program(), &["memory", "search", "rowing club"]).await;
    assert!(found.to_string().contains("meets on Tuesdays"), "{found}");
    running.kill_9().await;
    // A character that has not run yet is stored by its file.
    stage.home.write("ada.json", r#"{ "name": "Ada", "bio": "b" }"#);
    let ada = ["memory", "import", "club.jsonl", "-c", "ada.json", "--agent", "Ada"];
    assert_eq!(json_of(program(), &ada).await["new"], 2);
}

#[tokio::test]
async fn topics_are_rooms_and_a_selection_has_its_own_places_only() {
    let stage = stage().await;
    stage.home.write("result.json", &forum().to_string());
    stage.home.write("club.jsonl", LOG);
    let done = json_of(stage.program(), &["memory", "import", "result.json"]).await;
    assert_eq!((&done["new"], &done["leftOut"]), (&json!(3), &json!({ "service messages": 1 })));
    assert_eq!(texts(&stage, "Recipes").await, ["and two eggs", "honey cake: 300 g flour"]);
    assert_eq!(texts(&stage, "-1000000000077").await, ["my hive is called Zanzibar"]);
    json_of(stage.program(), &["memory", "import", "club.jsonl"]).await;

    let names = async |arguments: &[&str]| {
        let done = run(stage.program().args(["memory", "export"]), arguments).await;
        let records: Vec<Value> =
            done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            records.last().unwrap(),
            &json!({ "record": "end", "records": records.len() - 1 })
        );
        let places =
            records.iter().filter(|one| one["record"] == "room" || one["record"] == "world");
        let mut names: Vec<String> =
            places.map(|one| one["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&["--room", "club"]).await, ["club", "club"]);
    // The group's Room is the topic's parent.
    assert_eq!(names(&["--room", "Recipes"]).await, ["Honey Club", "Honey Club", "Recipes"]);
    assert_eq!(names(&["--person", "Bob"]).await, ["club", "club"]);
    assert_eq!(names(&["--kind", "facts"]).await, Vec::<String>::new());
    // The agent has a World of its own, too.
    assert!(names(&[]).await.len() > 5);
}

#[tokio::test]
async fn an_import_that_was_corrected_says_what_differs() {
    let stage = stage().await;
    stage.home.write("club.jsonl", LOG);
    stage.home.write("more/club.jsonl", &LOG.replace("a boat", "two boats"));
    json_of(stage.program(), &["memory", "import", "club.jsonl"]).await;
    let again = ["memory", "import", "more/club.jsonl"];
    let done = run(stage.program(), &again).await;
    assert!(
        done.stderr.contains("1 differs from what is stored and was left as it is"),
        "{}",
        done.stderr
    );
    let done = json_of(stage.program(), &again).await;
    assert_eq!((&done["new"], &done["differing"]), (&json!(0), &json!(1)));
    let dry = json_of(stage.program(), &["memory", "import", "more/club.jsonl", "--dry-run"]).await;
    assert_eq!((&dry["read"], &dry["new"]), (&json!(2), &Value::Null), "unknown");

    // Once the old one is removed, the new one is stored.
    let listed = json_of(stage.program(), &["memory", "ls", "--room", "club"]).await;
    let id = listed["memories"][0]["id"].as_str().unwrap().to_owned();
    let dry = run(stage.program(), &["memory", "rm", &id, &id[..20], "--dry-run"]).await;
    assert!(dry.stderr.contains("1 would be removed"), "{}", dry.stderr);
    let done = json_of(stage.program(), &["memory", "rm", &id, &id, "--yes"]).await;
    assert_eq!(done["removed"], 1, "{done}");
    let done = json_of(stage.program(), &again).await;
    assert_eq!((&done["new"], &done["deleted"]), (&json!(0), &json!(1)));
    let [verb, import, file] = again;
    let done = json_of(stage.program(), &[verb, import, file, "--deleted"]).await;
    assert_eq!((&done["new"], &done["differing"]), (&json!(1), &json!(0)));
    let known = "The rowing club meets on Tuesdays.";
    assert_eq!(texts(&stage, "club").await, ["Bring two boats.", known]);
}

#[tokio::test]
async fn a_chat_log_goes_into_a_room_that_exists() {
    let stage = stage().await;
    stage.home.write("result.json", &forum().to_string());
    stage.home.write("club.jsonl", LOG);
    json_of(stage.program(), &["memory", "import", "result.json"]).await;
    let into = async |room: &str| {
        run(stage.program(), &["memory", "import", "club.jsonl", "--room", room]).await.stderr
    };
    // The World and the Room have this name; only Rooms count.
    let said = into("honey club").await;
    assert!(said.starts_with("2 imported") && !said.contains("chat logs only"), "{said}");
    let boat = "Bring a boat.";
    let main = "-1000000000077";
    assert_eq!(texts(&stage, main).await[0], boat);
    let said = into(main).await;
    assert!(said.contains("0 imported, 2 were there already"), "{said}");
    let said = into("regatta").await;
    assert!(said.contains("2 imported") && said.contains("galatea memory search"), "{said}");
    let said = into("Regatta").await;
    assert!(said.contains("0 imported, 2 were there already"), "the same Room: {said}");

    for (arguments, fix) in [
        (["result.json", "--room", "club"].as_slice(), "a chat log"),
        (&["result.json", "--links"], "galatea memory export"),
        (&["club.jsonl", "--links"], "galatea memory export"),
        (&["club.jsonl", "--room", ""], "name or the id of a room"),
    ] {
        let done = run(stage.program().args(["memory", "import"]), arguments).await;
        assert_eq!(done.code, Some(2), "{arguments:?}: {}", done.stderr);
        assert!(done.stderr.contains(fix), "{arguments:?}: {}", done.stderr);
    }
    let done = run(stage.program(), &["memory", "ls", "--since", "soon"]).await;
    assert_eq!(done.code, Some(2), "{}", done.stderr);
}

/// A database of an unreleased version is refused with the two commands that move it. After them the
/// agent goes on with the same people, remembers what was said, and answers nothing again.
#[tokio::test]
async fn a_database_of_an_earlier_version_moves_by_export_and_import() {
    let stage = Stage::set().await;
    let direct = stage.ann.direct();
    let mut running = stage.start().await;
    stage.ann.says(&direct, "Q1: my heron is called Ottokar").send();
    stage.wait_text(&direct, "A1").await;
    running.kill_9().await;
    let file = stage.home.path().join("memories.jsonl");
    let export = ["memory", "export", "-o", "memories.jsonl"];
    assert_eq!(run(stage.program(), &export).await.code, Some(0));
    // Earlier versions wrote neither a last line nor that there is one.
    let exported = std::fs::read_to_string(&file).unwrap();
    let lines = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut lines: Vec<Value> = lines.collect();
    assert_eq!(lines.pop().unwrap()["record"], "end");
    lines[0].as_object_mut().unwrap().remove("has_end").unwrap();
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();

    let data = stage.home.path().join(".galatea");
    let database = data.join("galatea.db");
    let address = format!("sqlite://{}", database.display());
    let pool = sqlx::SqlitePool::connect(&address).await.unwrap();
    for change in [
        "UPDATE _sqlx_migrations SET description = 'init', checksum = x'00'",
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (24, 'deleted', true, x'00', 0)",
    ] {
        sqlx::query(change).execute(&pool).await.unwrap();
    }
    pool.close().await;
    for refused in [&["start"][..], &["memory", "ls"]] {
        let refused = run(stage.program(), refused).await;
        assert_ne!(refused.code, Some(0));
        for words in ["GAL-DB-EARLIER", "galatea memory export", "galatea memory import"] {
            assert!(refused.stderr.contains(words), "{words}: {}", refused.stderr);
        }
    }

    for entry in std::fs::read_dir(&data).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with("galatea.db") {
            std::fs::rename(&path, stage.home.path().join(name)).unwrap();
        }
    }
    let done = json_of(stage.program(), &["memory", "import", "memories.jsonl"]).await;
    assert_eq!(done["new"], 2, "{done}");
    let _running = stage.start().await;
    let found = json_of(stage.program(), &["memory", "search", "heron"]).await;
    assert!(found.to_string().contains("Ottokar"), "{found}");
    stage.ann.says(&direct, "Q2: what is it called?").send();
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"]);
    let asked = stage.model.requests();
    let last = asked.iter().rev().find(|request| request.body.to_string().contains("Q2"));
    assert!(last.unwrap().body.to_string().contains("Ottokar"), "the conversation goes on");
}

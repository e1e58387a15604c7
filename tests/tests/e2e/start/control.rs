//! The commands with which an operator looks at the running process, and after its database.

use super::home::{Home, err, get, json, out};
use std::path::Path;

/// What a command prints, if it succeeds.
fn ok(home: &Home, args: &[&str]) -> String {
    let output = home.run(args);
    assert!(output.status.success(), "{args:?}: {}{}", out(&output), err(&output));
    out(&output)
}

#[test]
fn an_operator_sees_and_steers_the_running_process() {
    let home = Home::new();
    let running = home.start(&[]);
    ok(&home, &["chat", "-m", "what do you know about tides?"]);
    let turns = json(&home.run(&["trace", "ls", "--json"]));
    let first = &turns["turns"][0];
    assert_eq!(first["outcome"], "replied", "{turns}");
    let id = first["message"].as_str().unwrap().to_owned();
    // Traces are written shortly after their turns.
    let shown = (0..100)
        .map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            ok(&home, &["trace", "show", &id[..13], "--prompt"])
        })
        .find(|text| text.contains("stored with"))
        .expect("the trace was never written");
    for part in ["was answered", "received", "gate", "provider", "model", "send", "tides"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let agents = json(&home.run(&["agent", "ls", "--json"]));
    let name = agents["agents"][0]["name"].as_str().unwrap().to_owned();
    let state = |wanted: &str| {
        let agents = json(&home.run(&["agent", "ls", "--json"]));
        assert_eq!(agents["agents"][0]["state"], wanted, "{agents}");
    };
    ok(&home, &["agent", "stop", &name]);
    state("stopped");
    ok(&home, &["agent", "start", &name]);
    state("running");
    let lines = json(&home.run(&["logs", "--json", "--level", "debug"]));
    assert!(lines["lines"].is_array(), "{lines}");
    let figures = get(running.health(), "/metrics");
    assert!(figures.contains("galatea_messages_total{") && figures.contains("# EOF"), "{figures}");
    // Tokens of commands end with them.
    let tokens = json(&home.run(&["token", "ls", "--json"]));
    assert_eq!(tokens["tokens"].as_array().unwrap().len(), 0, "{tokens}");
    let link = ok(&home, &["user", "add", "ada", "--role", "operator"]);
    assert!(link.starts_with("http://127.0.0.1:") && link.contains("/login#"), "{link}");
    ok(&home, &["user", "role", "ada", "viewer"]);
    assert!(ok(&home, &["user", "ls"]).contains("viewer    ada"));
    let token = ok(&home, &["token", "make", "backup"]);
    assert!(token.starts_with("galatea_"), "{token}");
    ok(&home, &["token", "rm", "backup"]);
    ok(&home, &["user", "rm", "ada"]);
    let document = json(&home.run(&["openapi"]));
    assert!(document["paths"]["/api/v1/traces"].is_object());
    assert_eq!(running.stop(), Some(0));
}

#[test]
fn a_database_is_copied_checked_restored_and_an_agent_moves() {
    let (home, other) = (Home::new(), Home::new());
    let running = home.start(&[]);
    ok(&home, &["chat", "-m", "my word is heliotrope"]);
    assert!(ok(&home, &["db", "status"]).contains("SQLite"));
    ok(&home, &["db", "backup", "copy.db"]);
    let again = home.run(&["db", "backup", "copy.db"]);
    assert!(!again.status.success() && err(&again).contains("GAL-DB-BACKUP"), "{}", err(&again));
    let refused = home.run(&["db", "restore", "copy.db"]);
    assert_eq!(refused.status.code(), Some(6), "it runs: {}", err(&refused));
    running.stop();
    let audit = ok(&home, &["audit", "--json"]);
    ok(&home, &["export", "agent.jsonl"]);
    std::fs::copy(home.path().join("agent.jsonl"), other.path().join("agent.jsonl")).unwrap();
    ok(&other, &["import", "agent.jsonl"]);
    assert_eq!(ok(&other, &["audit", "--json"]), audit);
    let found = ok(&other, &["memory", "search", "heliotrope"]);
    assert!(found.contains("heliotrope"), "{found}");
    let twice = other.run(&["import", "agent.jsonl"]);
    assert!(err(&twice).contains("GAL-EXPORT-THERE"), "{}", err(&twice));
    std::fs::write(home.path().join("broken.db"), "no database").unwrap();
    let broken = home.run(&["db", "restore", "broken.db"]);
    assert!(err(&broken).contains("GAL-DB-BACKUP"), "{}", err(&broken));
    ok(&home, &["db", "restore", "copy.db"]);
    assert_eq!(ok(&home, &["db", "check"]).trim(), "sound");
    assert!(ok(&home, &["memory", "search", "heliotrope"]).contains("heliotrope"));
}

#[test]
fn scenarios_run_and_one_that_fails_shows_the_difference() {
    let home = Home::new();
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../characters/scenarios");
    let ours = ours.canonicalize().unwrap_or_else(|_| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../characters/scenarios")
    });
    let passed = json(&home.run(&["test", ours.to_str().unwrap(), "--json"]));
    assert_eq!((&passed["passed"], &passed["failed"]), (&5.into(), &0.into()), "{passed}");
    let wrong = r#"{
        "name": "expects another greeting",
        "character": { "name": "Nova", "bio": "A gardener." },
        "model": [{ "say": "Hello you!" }],
        "steps": [{ "say": "hi", "expect": { "answer": "Hello Ada!" } }]
    }"#;
    std::fs::write(home.path().join("wrong.json"), wrong).unwrap();
    let failed = home.run(&["test", "wrong.json"]);
    assert_eq!(failed.status.code(), Some(7));
    let text = out(&failed);
    for part in
        ["FAIL", "expects another greeting", "step 1: ada says \"hi\"", "Hello Ada!", "you!"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_service_is_written_for_this_folder_and_removed() {
    let home = Home::new();
    let shown = ok(&home, &["service", "install", "--dry-run"]);
    assert!(shown.contains("\" start") || shown.contains("<string>start</string>"));
    let next = ok(&home, &["service", "install"]);
    assert!(next.contains("systemctl --user") || next.contains("launchctl"), "{next}");
    ok(&home, &["service", "uninstall"]);
}

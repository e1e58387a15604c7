//! The sentences of docs/operating.md about logs and exit codes, held against the program.

use super::home::{Home, Running, err, json, out};

/// The manual's sentences about logs. A sentence about lasting failures is
/// held by the end-to-end tests of a refused model and a refused webhook.
#[test]
fn logs_are_as_the_manual_says() {
    let manual = include_str!("../../../../docs/operating.md");
    let row = manual.lines().find(|line| line.starts_with("| logs | ")).unwrap();
    for sentence in [
        "stderr: text on a terminal, otherwise one JSON object per line after the banner",
        "`--log-json` and `LOG_JSON_FORMAT` change that",
        "Ids only, never message text or secrets",
        "`LOG_LEVEL` and `-v` set the level",
        "short commands log errors only",
        "A lasting failure is logged once, and again when its cause changes",
    ] {
        assert!(row.contains(sentence), "{sentence:?} is not in {row}");
    }
    // Lines that a run writes to stderr after its banner, and those of its lines that are JSON.
    let run = |args: &[&str], env: &[(&str, &str)]| {
        let home = Home::new();
        let mut start = home.command(&[&["start", "--port", "0"], args].concat());
        start.envs(env.iter().copied()).env("TELEGRAM_WEBHOOK_SECRET", "canary-secret");
        let running = Running::of(start);
        let open = running.banner.contains("terminal.sock");
        let mut text = if open { String::new() } else { running.until("terminal.sock") };
        assert!(home.run(&["chat", "-m", "canary-text"]).status.success());
        text += &running.until("answered");
        running.signal("-TERM");
        let lines = running.rest.iter().filter(|line| !line.starts_with("Stopping: "));
        text.extend(lines.map(|line| line + "\n"));
        assert!(!text.contains("canary"), "{text}");
        let json = |line: &&str| serde_json::from_str::<serde_json::Value>(line).is_ok();
        let lines: Vec<String> = text.lines().filter(json).map(str::to_owned).collect();
        (text, lines)
    };
    let level = |lines: &[String], level: &str| {
        lines.iter().any(|line| line.contains(&format!("\"level\":\"{level}\"")))
    };
    let (text, lines) = run(&[], &[]);
    assert_eq!(lines.len(), text.lines().count(), "one JSON object per line: {text}");
    assert!(level(&lines, "INFO") && !level(&lines, "DEBUG"), "{text}");
    let (text, lines) = run(&[], &[("LOG_JSON_FORMAT", "false")]);
    assert!(lines.is_empty() && text.contains(" INFO "), "{text}");
    let (text, lines) = run(&["--log-json"], &[("LOG_JSON_FORMAT", "false")]);
    assert_eq!(lines.len(), text.lines().count(), "{text}");
    for (args, env) in [(&["-v"][..], &[][..]), (&[], &[("LOG_LEVEL", "debug")])] {
        let (text, lines) = run(args, env);
        assert!(level(&lines, "DEBUG"), "{args:?} {env:?}: {text}");
    }
    let home = Home::new();
    for args in [&["chat", "-m", "hello"][..], &["audit"], &["usage"], &["memory", "ls"]] {
        let quiet = home.run(args);
        assert!(quiet.status.success(), "{args:?}: {}", err(&quiet));
        assert!(!err(&quiet).contains("INFO") && !err(&quiet).contains("WARN"), "{}", err(&quiet));
    }
    let loud = home.command(&["chat", "-m", "hello"]).env("LOG_LEVEL", "debug").output().unwrap();
    assert!(loud.status.success() && err(&loud).contains("DEBUG"), "{}", err(&loud));
}

/// The manual's code 7 of `audit`: a message that was finished without a reason.
#[tokio::test]
async fn an_audit_that_finds_a_message_without_a_reason_ends_with_7() {
    use sqlx::{Connection as _, Executor as _};
    let home = Home::new();
    assert!(home.run(&["chat", "-m", "hello"]).status.success());
    let audit = home.run(&["audit"]);
    assert_eq!(audit.status.code(), Some(0), "{}{}", out(&audit), err(&audit));
    let path = home.path().join(".galatea/galatea.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut database = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    let changed = database.execute("UPDATE inbox SET verdict = NULL").await.unwrap();
    assert_eq!(changed.rows_affected(), 1);
    database.close().await.unwrap();
    let audit = home.run(&["audit"]);
    assert_eq!(audit.status.code(), Some(7), "{}{}", out(&audit), err(&audit));
    assert!(out(&audit).contains("Finished without a reason"), "{}", out(&audit));
    let audit = home.run(&["audit", "--json"]);
    assert_eq!((audit.status.code(), &json(&audit)["sound"]), (Some(7), &false.into()));
}

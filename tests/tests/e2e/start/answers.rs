//! The program answers, or reports why it cannot.

use super::home::{Home, Running, err, get, json, out};
use galatea_testkit::port::RefusedPort;
use std::{io::Write, process::Stdio};

#[test]
fn without_any_key_it_starts_answers_and_stops() {
    let home = Home::new();
    let running = home.start(&[]);
    for line in [
        "no .env here, starting the demo agent",
        "galatea.db (SQLite, created)",
        "Eliza (built-in)",
        "offline script — pattern matching, not AI",
        "off  set TELEGRAM_BOT_TOKEN",
    ] {
        assert!(running.banner.contains(line), "{line:?} is missing:\n{}", running.banner);
    }
    running.wait_printed("terminal.sock");
    assert!(get(running.health(), "/healthz").starts_with("HTTP/1.1 200 "));
    let ready = get(running.health(), "/readyz");
    assert!(ready.starts_with("HTTP/1.1 200 "), "{ready}");

    let status = home.run(&["status"]);
    assert!(
        status.status.success() && out(&status).starts_with("ready "),
        "{}{}",
        out(&status),
        err(&status)
    );
    assert_eq!(json(&home.run(&["status", "--json"]))["schema"], "galatea.status/1");

    let answer = home.run(&["chat", "-m", "my build is broken"]);
    assert!(answer.status.success(), "{}", err(&answer));
    assert!(out(&answer).starts_with("Eliza (offline script) › "), "{}", out(&answer));

    let handled = running.until("answered");
    assert!(!handled.contains("my build is broken"), "ids only:\n{handled}");
    assert_eq!(running.stop(), Some(0));
    assert!(!home.path().join(".galatea/terminal.sock").exists());
    let status = home.run(&["status"]);
    assert_eq!(status.status.code(), Some(5));
    assert!(err(&status).contains("GAL-STATUS-OFF"), "{}", err(&status));
}

#[test]
fn chat_needs_no_running_process() {
    let home = Home::new();
    let answer = home.run(&["chat", "--json", "-m", "I am unhappy"]);
    assert!(answer.status.success(), "{}", err(&answer));
    let first = json(&answer);
    assert_eq!(first["schema"], "galatea.chat/1");
    assert_eq!(first["answers"][0]["label"], "offline script");
    assert_eq!(first["answers"][0]["inReplyTo"], first["memory"]);

    let memory = first["memory"].as_str().unwrap();
    let why = home.run(&["explain", memory]);
    assert!(why.status.success(), "{}", err(&why));
    assert!(out(&why).contains("sent"), "{}", out(&why));
    assert!(
        json(&home.run(&["explain", memory, "--json"]))["schema"]
            .as_str()
            .unwrap()
            .starts_with("galatea.explain/")
    );

    let mut piped = home
        .command(&["chat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    piped.stdin.take().unwrap().write_all(b"hello\n\nmy mother is here\n").unwrap();
    let piped = piped.wait_with_output().unwrap();
    assert!(piped.status.success(), "{}", err(&piped));
    assert_eq!(out(&piped).matches("Eliza (offline script) › ").count(), 2, "{}", out(&piped));
}

#[test]
fn the_beginning_of_an_id_is_enough_to_explain() {
    let home = Home::new();
    let memory = |text: &str| {
        json(&home.run(&["chat", "--json", "-m", text]))["memory"].as_str().unwrap().to_owned()
    };
    let id = memory("hello");
    for begin in [&id[..8], &id[..13], &id.replace('-', "")[..20]] {
        let explained = home.run(&["explain", begin]);
        assert!(
            explained.status.success() && out(&explained).contains(&id),
            "{begin}: {}{}",
            out(&explained),
            err(&explained)
        );
    }
    let short = home.run(&["explain", &id[..3]]);
    assert!(err(&short).contains("GAL-EXPLAIN-UNKNOWN"), "{}", err(&short));
    let other = home.run(&["explain", if id.starts_with('0') { "ffff0000" } else { "0000ffff" }]);
    assert_eq!(other.status.code(), Some(1));
}

#[test]
fn a_silent_agent_says_why() {
    let home = Home::new();
    let muted =
        home.command(&["chat", "-m", "hello"]).env("DM_POLICY", "disabled").output().unwrap();
    assert!(!muted.status.success());
    assert!(
        err(&muted).contains("GAL-CHAT-SILENT") && err(&muted).contains("DM_POLICY"),
        "{}",
        err(&muted)
    );
}

#[test]
fn several_agents_are_distinguished() {
    let home = Home::new();
    for name in ["Ada", "Bob"] {
        std::fs::write(
            home.path().join(format!("{name}.json")),
            format!(r#"{{"name": "{name}", "bio": "A test."}}"#),
        )
        .unwrap();
    }
    let running = home.start(&["--character", "Ada.json", "--character", "Bob.json"]);
    for name in ["Ada", "bob"] {
        let answer = home.run(&["chat", name, "-m", "hello"]);
        assert!(answer.status.success(), "{}", err(&answer));
        assert!(
            out(&answer)
                .to_lowercase()
                .starts_with(&format!("{} (offline script) › ", name.to_lowercase())),
            "{}",
            out(&answer)
        );
    }
    let unknown = home.run(&["chat", "Eve", "-m", "hello"]);
    assert!(
        err(&unknown).contains("GAL-CHAT-AGENT") && err(&unknown).contains("Ada, Bob"),
        "{}",
        err(&unknown)
    );
    assert_eq!(running.stop(), Some(0));
}

#[test]
fn a_terminal_that_is_off_is_reported() {
    let home = Home::new();
    let running = Running::of({
        let mut command = home.command(&["start", "--port", "0"]);
        command.env("TERMINAL_ENABLED", "false");
        command
    });
    assert!(running.banner.contains("Terminal   off"), "{}", running.banner);
    let beside = home.run(&["chat", "-m", "hello"]);
    assert_eq!(beside.status.code(), Some(5));
    assert!(
        err(&beside).contains("GAL-CHAT-OFF")
            && err(&beside).contains(&running.child.id().to_string()),
        "{}",
        err(&beside)
    );
    assert_eq!(running.stop(), Some(0));
    let alone =
        home.command(&["chat", "-m", "hello"]).env("TERMINAL_ENABLED", "false").output().unwrap();
    assert!(err(&alone).contains("GAL-CHAT-OFF"), "{}", err(&alone));
}

#[test]
fn a_model_that_does_not_answer_shows_in_readyz_and_in_the_chat() {
    let home = Home::new();
    let nowhere = RefusedPort::take();
    let mut command = home.command(&["start", "--port", "0"]);
    command
        .env("OPENAI_API_KEY", "sk-test-canary")
        .env("OPENAI_BASE_URL", format!("{}/v1", nowhere.url()));
    let running = Running::of(command);
    running.wait_printed("terminal.sock");
    assert!(
        get(running.health(), "/readyz").starts_with("HTTP/1.1 200 "),
        "no message has asked it yet"
    );
    let chat = home.run(&["chat", "-m", "hello"]);
    assert!(!out(&chat).is_empty() || !chat.status.success(), "never silence");
    assert!(!out(&chat).contains("canary") && !err(&chat).contains("canary"));
    let ready = get(running.health(), "/readyz");
    assert!(
        ready.starts_with("HTTP/1.1 503 ")
            && ready.contains("no model answers")
            && !ready.contains("canary"),
        "{ready}"
    );
    let status = home.run(&["status"]);
    assert_eq!(status.status.code(), Some(1));
    assert!(
        out(&status).contains("not ready") && out(&status).contains("no model answers"),
        "{}",
        out(&status)
    );
    assert_eq!(running.stop(), Some(0));
}

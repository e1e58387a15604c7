//! A bot that reads Telegram and has no model is reported as unhealthy everywhere.

use crate::stage::{KEY, Stage};
use galatea_testkit::process::Program;

fn without_model(stage: &Stage) -> Program {
    stage.program().without_env("OPENAI_API_KEY").without_env("OPENAI_BASE_URL")
}

#[tokio::test]
async fn doctor_status_and_log_say_that_messages_stay_unanswered_and_what_to_set() {
    let stage = Stage::set().await;
    let program = without_model(&stage);
    for offline in [&["doctor", "--json"][..], &["doctor", "--json", "--offline"]] {
        let doctor = program.clone().args(offline.iter().copied()).run().await;
        assert_eq!(doctor.code, Some(7), "{offline:?}: {}", doctor.stdout);
        let report: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
        let found = report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .find(|f| f["id"] == "GAL-MODEL-NONE")
            .unwrap_or_else(|| panic!("{report}"));
        assert!(
            found["severity"] == "error"
                && found["fix"].as_str().unwrap().contains("OPENAI_API_KEY"),
            "{found}"
        );
    }
    let running = program.clone().args(["start", "--log-json"]).spawn();
    running.wait_for_line("polling").await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    running.wait_for_line("skipped").await;
    let status = program.clone().args(["status"]).run().await;
    assert_eq!(status.code, Some(1), "{}", status.stdout);
    assert!(
        status.stdout.starts_with("not ready")
            && status.stdout.contains("GAL-MODEL-NONE")
            && status.stdout.contains("answers no message"),
        "{}",
        status.stdout
    );
    let said = running.stderr();
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("GAL-MODEL-NONE")).collect();
    assert!(
        lines.len() == 1
            && lines[0].contains("no model is set")
            && lines[0].contains("galatea init"),
        "once, with the reason and what to set: {said}"
    );
}

#[tokio::test]
async fn with_a_model_or_with_answers_switched_off_nothing_is_wrong() {
    let stage = Stage::set().await;
    for program in [
        stage.program(),
        without_model(&stage).env("TELEGRAM_AUTO_REPLY", "false"),
        without_model(&stage).env("OFFLINE_RESPONDER_PUBLIC", "true"),
    ] {
        let doctor = program.args(["doctor", "--offline"]).run().await;
        assert!(
            doctor.code == Some(0) && !doctor.stdout.contains("GAL-MODEL-NONE"),
            "{}",
            doctor.stdout
        );
    }
    assert!(!KEY.is_empty());
}

#[tokio::test]
async fn doctor_offline_says_what_it_did_not_ask_and_checks_forms() {
    let stage = Stage::set().await;
    let good = stage.program().args(["doctor", "--offline"]).run().await;
    assert_eq!(good.code, Some(0), "{}", good.stdout);
    let said = format!("{}{}", good.stdout, good.stderr);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!said.contains(" works."), "{said}");
    for part in [
        "Telegram of Eliza: its settings have the right form; whether it works was not asked",
        "set up; whether it works was not asked",
        "Models and platforms were not asked: leave out --offline.",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(stage.telegram.calls().is_empty() && stage.model.requests().is_empty());
    // Tokens and keys of another form are found without asking.
    for (name, value, code, exit) in [
        ("TELEGRAM_BOT_TOKEN", "sk-proj-abcdef0123", "GAL-TG-TOKEN", 7),
        ("TELEGRAM_BOT_TOKEN", "123456789:short", "GAL-DOCTOR-KEY", 7),
        ("DISCORD_API_TOKEN", "12345678901234567890", "GAL-DC-TOKEN", 7),
        ("ANTHROPIC_API_KEY", "xai-abc", "GAL-DOCTOR-KEY", 0),
    ] {
        let program = stage.program().without_env("TELEGRAM_API_ROOT").env(name, value);
        let bad = program.args(["doctor", "--offline", "--json"]).run().await;
        assert_eq!(bad.code, Some(exit), "{name}: {}", bad.stdout);
        let report: serde_json::Value = serde_json::from_str(&bad.stdout).unwrap();
        let found = report["findings"].as_array().unwrap().iter().any(|f| f["id"] == code);
        assert!(found && report["asked"] == false, "{name}: {report}");
        assert!(!bad.stdout.contains(value), "{name}: its value is not shown");
    }
}

#[tokio::test]
async fn what_the_character_asks_for_and_is_not_here_is_remarked_everywhere() {
    let stage = Stage::set().await;
    let text = r#"{"name": "Ada", "bio": "b", "plugins": ["@elizaos/plugin-solana", "@elizaos/plugin-discord"], "knowledge": ["a line", {"path": "docs/gone.md"}]}"#;
    stage.home.write("ada.json", text);
    let program = stage.program().env("CHARACTER_FILES", "ada.json");
    let valid = program.clone().args(["character", "validate", "ada.json"]).run().await;
    assert_eq!(valid.code, Some(0), "{}", valid.stdout);
    let doctor = program.clone().args(["doctor"]).run().await;
    assert_eq!(doctor.code, Some(0), "{}", doctor.stdout);
    for said in [&valid.stdout, &doctor.stdout] {
        for part in ["plugin-solana", "GAL-CHAR-PLUGIN", "docs/gone.md", "GAL-CHAR-KNOWLEDGE"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    assert!(
        doctor.stdout.contains("Discord of Ada is off, and its character asks for it")
            && doctor.stdout.contains("set DISCORD_API_TOKEN"),
        "{}",
        doctor.stdout
    );
    let running = program.arg("start").spawn();
    running.wait_for_line("ready in").await;
    let banner = running.stderr();
    for part in [
        "it asks for what is not here: solana",
        "docs/gone.md",
        "off  set DISCORD_API_TOKEN; its character asks for it",
    ] {
        assert!(banner.contains(part), "{part}: {banner}");
    }
}

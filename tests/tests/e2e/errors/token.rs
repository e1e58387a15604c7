//! The bot's token: malformed, refused, unknown.

use super::{Scene, finding, http, says, something_else};

/// Texts that people paste in place of a token, and how the message describes each.
const PASTED: &[(&str, &str, &str)] = &[
    (
        "bot123456789:AAcanaryCANARYcanaryCANARYcanaryCAN",
        "it begins with the word bot",
        "leave out the word",
    ),
    ("“123456789:AAcanaryCANARYcanaryCANARYcanaryCAN”", "it holds quotes", "@BotFather"),
    (
        "sk-proj-canaryCANARYcanaryCANARYcanaryCANARYcanary",
        "it looks like an OpenAI key",
        "OPENAI_API_KEY",
    ),
    (
        "MTE4MjAwMDAwMDAwMDAwMDAw.GcanAr.canaryCANARYcanaryCANARYcanaryCANARYca",
        "it looks like a Discord token",
        "DISCORD_API_TOKEN",
    ),
    ("123456789", "it is a number only", "@BotFather"),
];

#[tokio::test]
async fn an_invalid_token_is_recognised_by_its_shape() {
    for (pasted, cause, fix) in PASTED {
        let mut scene = Scene::set().await;
        scene.env("TELEGRAM_BOT_TOKEN", pasted);
        if pasted.len() > 9 {
            scene.canary(pasted);
            scene.canary("anaryCANARYcanary");
        }
        let expected = [
            "GAL-TG-TOKEN",
            "cause:",
            cause,
            "where: TELEGRAM_BOT_TOKEN from .env line 1",
            "fix:",
            fix,
        ];
        let started = scene.run(&["start"]).await;
        assert_eq!(started.code, Some(3), "{}", started.stderr);
        says(&started.stderr, &expected);
        let doctor = scene.run(&["doctor"]).await;
        assert_eq!(doctor.code, Some(7));
        says(&doctor.stdout, &expected);
        let check = scene.run(&["connector", "check", "telegram"]).await;
        assert_eq!(check.code, Some(7), "{}", check.stderr);
        says(&check.stdout, &expected);
        let list = scene.run(&["connector", "ls"]).await;
        assert_eq!(list.code, Some(0));
        says(&list.stdout, &["Telegram", "wrong", "Not a valid bot token", "Terminal"]);
        assert!(scene.stage.telegram.calls().is_empty(), "nothing was asked");
    }
}

#[tokio::test]
async fn a_token_in_quotes_is_understood() {
    let mut scene = Scene::set().await;
    let token = scene.stage.telegram.token();
    scene.env("TELEGRAM_BOT_TOKEN", &format!("'\"{token}\"'"));
    let check = scene.run(&["connector", "check", "telegram"]).await;
    assert_eq!(check.code, Some(0), "{}", check.stdout);
}

/// Checks that every command reports a refused token.
async fn is_refused(scene: &Scene, cause: &str) {
    let expected = [
        "Telegram refused the bot token: it was revoked or replaced, or it belongs to no bot",
        "cause:",
        cause,
        "where: TELEGRAM_BOT_TOKEN from .env line 1",
        "fix: copy the token again: @BotFather → /mybots → your bot → API Token",
    ];
    let check = scene.run(&["connector", "check", "telegram"]).await;
    assert_eq!(check.code, Some(7));
    says(&check.stdout, &expected);
    let doctor = scene.run(&["doctor"]).await;
    assert_eq!(doctor.code, Some(7));
    says(&doctor.stdout, &expected);
    let found = finding(&scene.run(&["doctor", "--json"]).await, "GAL-TG-401");
    assert_eq!((&found["severity"], &found["subject"]), (&"error".into(), &"connector".into()));
    assert_eq!(found["origin"], "TELEGRAM_BOT_TOKEN from .env line 1");

    // The agent works without Telegram.
    let running = scene.start().await;
    running.wait_for_line("error[GAL-TG-401]").await;
    running.wait_for_line("more:").await;
    let status = scene.run(&["status"]).await;
    assert_eq!(status.code, Some(1));
    says(&status.stdout, &["not ready", "GAL-TG-401"]);
    says(&status.stdout, &expected);
    let said = scene.end(running).await.stderr;
    says(&said, &["error[GAL-TG-401]: telegram:"]);
    says(&said, &expected);
}

#[tokio::test]
async fn a_log_for_programs_holds_the_same_in_fields() {
    let mut scene = Scene::set().await;
    scene.env("TELEGRAM_BOT_TOKEN", "7000000001:AAwrong-canary-wrong-canary-wrong-xx");
    scene.canary("AAwrong-canary");
    let running = scene.program().env("LOG_JSON_FORMAT", "true").arg("start").spawn();
    let line = running
        .wait_for("the trouble", |line| line.contains("telegram  stopped").then(|| line.to_owned()))
        .await;
    let entry: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&entry["level"], &entry["code"]),
        (&"ERROR".into(), &"GAL-TG-401".into()),
        "{line}"
    );
    assert_eq!(entry["cause"], "getMe answered 401 Unauthorized", "{line}");
    assert_eq!(entry["where"], "TELEGRAM_BOT_TOKEN from .env line 1", "{line}");
    assert!(entry["fix"].as_str().unwrap().starts_with("copy the token again"), "{line}");
    assert!(
        !scene.end(running).await.stderr.contains("error["),
        "with logs in JSON no report is printed as text"
    );
}

#[tokio::test]
async fn a_wrong_token_is_refused_with_its_line() {
    let mut scene = Scene::set().await;
    scene.env("TELEGRAM_BOT_TOKEN", "7000000001:AAwrong-canary-wrong-canary-wrong-xx");
    scene.canary("AAwrong-canary");
    is_refused(&scene, "getMe answered 401 Unauthorized").await;
}

#[tokio::test]
async fn a_token_that_telegram_takes_for_none_is_refused_likewise() {
    let mut scene = Scene::set().await;
    let answer = http(
        "404 Not Found",
        "application/json",
        r#"{"ok":false,"error_code":404,"description":"Not Found"}"#,
    );
    scene.env("TELEGRAM_API_ROOT", &something_else(answer).await);
    is_refused(&scene, "getMe answered 404 Not Found").await;
}

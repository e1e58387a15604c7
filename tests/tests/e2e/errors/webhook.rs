//! Conflicts between Telegram and the bot: another poller, a webhook, privacy mode.

use serde_json::json;

use super::{Scene, finding, says};

/// Calls the Bot API as another program that has the token.
async fn other_program(
    scene: &Scene,
    method: &str,
    params: serde_json::Value,
) -> serde_json::Value {
    let url =
        format!("{}/bot{}/{method}", scene.stage.telegram.url(), scene.stage.telegram.token());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    client.post(url).json(&params).send().await.unwrap().json().await.unwrap()
}

/// A scene in which another program has set a webhook, and a message waits for it.
async fn with_a_webhook() -> Scene {
    let scene = Scene::set().await;
    assert_eq!(
        other_program(&scene, "setWebhook", json!({ "url": "https://127.0.0.1/canary-path" }))
            .await["ok"],
        true
    );
    scene
}

const OWNED: &[&str] = &[
    "A webhook to 127.0.0.1 owns this bot",
    "cause: getWebhookInfo names it",
    "where: TELEGRAM_BOT_TOKEN from .env line 1",
    "fix:",
    "--fix",
];

#[tokio::test]
async fn a_webhook_in_the_way_is_named_by_its_host() {
    let mut scene = with_a_webhook().await;
    scene.canary("canary-path");
    let check = scene.run(&["connector", "check", "telegram"]).await;
    assert_eq!(check.code, Some(7));
    says(&check.stdout, &["GAL-TG-WEBHOOK"]);
    says(&check.stdout, OWNED);
    let found =
        finding(&scene.run(&["connector", "check", "telegram", "--json"]).await, "GAL-TG-WEBHOOK");
    assert_eq!(found["repair"], "Remove the webhook to 127.0.0.1?");
    says(&scene.run(&["doctor"]).await.stdout, OWNED);
    let running = scene.start().await;
    running.wait_for_line("error[GAL-TG-WEBHOOK]").await;
    running.wait_for_line("more:").await;
    says(&scene.run(&["status"]).await.stdout, OWNED);
    says(&scene.end(running).await.stderr, OWNED);
    assert!(
        scene.stage.telegram.calls_of("deleteWebhook").is_empty(),
        "the fix was applied without consent"
    );
}

#[tokio::test]
async fn without_an_answer_nothing_is_removed() {
    let scene = with_a_webhook().await;
    let question = "Remove the webhook to 127.0.0.1?";
    let cause = "Telegram of Eliza: A webhook to 127.0.0.1 owns this bot";
    for args in [
        &["connector", "check", "telegram", "--fix"][..],
        &["doctor", "--fix"],
        &["--no-input", "doctor", "--fix"],
    ] {
        let refused = scene.run(args).await;
        assert_eq!(refused.code, Some(2), "{args:?}: {}", refused.stderr);
        says(
            &refused.stderr,
            &["error[GAL-FIX-ASK]", question, &format!("cause: {cause}"), "fix: add --yes"],
        );
        // A program that asked for JSON reads the refusal as JSON.
        let refused = scene.run(&[args, &["--json"]].concat()).await;
        assert_eq!((refused.code, refused.stderr.as_str()), (Some(2), ""), "{args:?}");
        let printed: serde_json::Value = serde_json::from_str(&refused.stdout)
            .unwrap_or_else(|e| panic!("{args:?}: {e}:\n{}", refused.stdout));
        let told = &printed["errors"][0];
        assert_eq!(
            (&printed["schema"], &told["code"], &told["cause"]),
            (&"galatea.error/1".into(), &"GAL-FIX-ASK".into(), &cause.into()),
            "{args:?}: {printed}"
        );
        says(told["message"].as_str().unwrap(), &[question]);
        says(told["fix"].as_str().unwrap(), &["add --yes"]);
    }
    let alone = scene.run(&["connector", "check", "telegram", "--yes"]).await;
    assert!(alone.stdout.contains("owns this bot"), "{}", alone.stdout);
    assert!(
        scene.stage.telegram.calls_of("deleteWebhook").is_empty(),
        "--yes without --fix changes nothing"
    );
}

#[tokio::test]
async fn an_agreed_repair_removes_the_webhook_keeps_what_waits_and_looks_again() {
    for args in
        [&["connector", "check", "telegram", "--fix", "--yes"][..], &["doctor", "--fix", "--yes"]]
    {
        let scene = with_a_webhook().await;
        let ann = &scene.stage.ann;
        ann.says(&ann.direct(), "Q1 while the other one had it").send();
        let fixed = scene.run(args).await;
        assert_eq!(fixed.code, Some(0), "{}{}", fixed.stdout, fixed.stderr);
        says(&fixed.stdout, &["done: Remove the webhook to 127.0.0.1", "no webhook in the way"]);
        let calls = scene.stage.telegram.calls_of("deleteWebhook");
        assert!(
            calls.len() == 1
                && calls[0].is_ok()
                && calls[0].params.get("drop_pending_updates").is_none_or(|drop| *drop == false),
            "{calls:?}"
        );
        let again = scene.run(args).await;
        assert_eq!(
            (again.code, scene.stage.telegram.calls_of("deleteWebhook").len()),
            (Some(0), 1),
            "there is nothing left to do"
        );
        let running = scene.start().await;
        assert_eq!(scene.stage.wait_text(&ann.direct(), "A1").await, ["A1"]);
        scene.end(running).await;
    }
}

#[tokio::test]
async fn a_repair_while_the_program_runs_is_noticed_without_a_restart() {
    let scene = with_a_webhook().await;
    let running = scene.start().await;
    running.wait_for_line("error[GAL-TG-WEBHOOK]").await;
    let ann = &scene.stage.ann;
    ann.says(&ann.direct(), "Q1 while it was parked").send();
    assert_eq!(scene.run(&["status"]).await.code, Some(1));
    let fixed = scene.run(&["connector", "check", "telegram", "--fix", "--yes"]).await;
    assert_eq!(fixed.code, Some(0), "{}{}", fixed.stdout, fixed.stderr);
    // The connector checks again 30 s after it was parked.
    running.wait_for_line("polling").await;
    assert_eq!(scene.stage.wait_text(&ann.direct(), "A1").await, ["A1"]);
    let status = scene.run(&["status"]).await;
    assert_eq!(status.code, Some(0), "{}", status.stdout);
    scene.end(running).await;
}

/// Lines of warnings and errors that contain a text.
fn warnings(output: &str, text: &str) -> Vec<String> {
    let is_loud = |line: &&str| {
        let read: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        matches!(read["level"].as_str(), Some("WARN" | "ERROR"))
    };
    output.lines().filter(is_loud).filter(|line| line.contains(text)).map(str::to_owned).collect()
}

#[tokio::test]
async fn a_connector_that_fails_is_reported_once() {
    // A failure that needs a person, in text and in JSON.
    let scene = with_a_webhook().await;
    let running = scene.start().await;
    running.wait_for_line("more:").await;
    let said = scene.end(running).await.stderr;
    assert_eq!(said.matches("GAL-TG-WEBHOOK]").count(), 1, "{said}");
    let mut running = scene.stage.program().arg("start").spawn();
    running.wait_for_line("stopped:").await;
    running.terminate();
    let said = running.finish().await.stderr;
    assert_eq!(warnings(&said, "GAL-TG-WEBHOOK").len(), 1, "{said}");

    // A failure that is retried: the first one is logged as a warning, the further ones only at a
    // finer level.
    let nowhere = galatea_testkit::port::RefusedPort::take();
    let mut running = scene
        .stage
        .program()
        .env("TELEGRAM_API_ROOT", nowhere.url())
        .env("LOG_LEVEL", "debug")
        .arg("start")
        .spawn();
    let three = async {
        while running.output().matches("a connector ended; restarting it after the pause").count()
            < 3
        {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), three).await.unwrap();
    running.terminate();
    let said = running.finish().await.stderr;
    let warned = warnings(&said, "not connected");
    assert_eq!(
        (warned.len(), warnings(&said, "restarting it after the pause").len()),
        (1, 0),
        "{said}"
    );
}

#[tokio::test]
async fn a_repair_in_json_tells_the_result() {
    let scene = with_a_webhook().await;
    let fixed = scene.run(&["connector", "check", "telegram", "--fix", "--yes", "--json"]).await;
    assert_eq!(fixed.code, Some(0), "{}{}", fixed.stdout, fixed.stderr);
    let done = finding(&fixed, "GAL-TG-WEBHOOK");
    assert_eq!((&done["severity"], &done["repair"]), (&"info".into(), &serde_json::Value::Null));
}

#[tokio::test]
async fn a_second_poller_is_reported_and_does_not_end_it() {
    let scene = Scene::set().await;
    let running = scene.start().await;
    running.wait_for_line("polling").await;
    scene
        .stage
        .telegram
        .wait_for("a poll", |t| (!t.calls_of("getUpdates").is_empty()).then_some(()))
        .await;
    let url =
        format!("{}/bot{}/getUpdates", scene.stage.telegram.url(), scene.stage.telegram.token());
    let other = reqwest::Client::builder()
        .no_proxy()
        .build()
        .unwrap()
        .post(url)
        .json(&json!({ "timeout": 50 }));
    let poll = tokio::spawn(other.send());
    running.wait_for_line("error[GAL-TG-409]").await;
    running.wait_for_line("more:").await;
    let expected = [
        "another program is reading this Telegram bot's messages",
        "cause: getUpdates answered 409 Conflict",
        "where: TELEGRAM_BOT_TOKEN from .env line 1",
        "fix: stop the other copy, or make a second bot for testing.",
    ];
    let status = scene.run(&["status"]).await;
    assert_eq!(status.code, Some(1));
    says(&status.stdout, &expected);
    says(&status.stdout, &["next try in 30 s", "GAL-TG-409"]);
    poll.abort();
    let said = scene.end(running).await.stderr;
    says(&said, &expected);
    says(&said, &["fix:", "Next try in 30 s."]);
}

#[tokio::test]
async fn privacy_mode_is_reported_with_the_way_to_change_it() {
    let scene = Scene::set().await;
    scene.stage.telegram.set_privacy(true);
    let expected = [
        "privacy mode is on: in groups it sees commands, replies and @mentions",
        "fix: fine for a helper; to change: @BotFather → /setprivacy → Disable",
    ];
    let check = scene.run(&["connector", "check", "telegram"]).await;
    assert_eq!(check.code, Some(0), "it is not a fault: {}", check.stdout);
    says(&check.stdout, &expected);
    says(&scene.run(&["doctor"]).await.stdout, &expected);
    assert_eq!(
        finding(&scene.run(&["doctor", "--json"]).await, "GAL-TG-PRIVACY")["severity"],
        "info"
    );
    let running = scene.start().await;
    running.wait_for_line("privacy mode is on").await;
    scene.end(running).await;
}

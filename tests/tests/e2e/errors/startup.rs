//! Telegram's server fails during the start: the log of it, and the way back.

use super::Scene;

#[tokio::test]
async fn it_comes_up_by_itself_when_telegram_does() {
    let scene = Scene::set().await;
    scene.stage.telegram.fault(
        galatea_testkit::telegram::Fault::new(galatea_testkit::telegram::Effect::Garbage)
            .on("getMe")
            .times(2),
    );
    let running = scene.start().await;
    running.wait_for_line("error[GAL-TG-GARBAGE]").await;
    running.wait_for_line("polling").await;
    assert_eq!(
        running.stderr().matches("error[GAL-TG-GARBAGE]").count(),
        1,
        "the problem is reported once for two attempts:\n{}",
        running.stderr()
    );
    let status = scene.run(&["status"]).await;
    assert_eq!(status.code, Some(0), "{}", status.stdout);
    scene.end(running).await;
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

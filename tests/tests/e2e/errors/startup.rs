//! Telegram's server fails during the start: the program does not crash, retries with growing
//! backoff, and reports the problem in every command.

use super::{Scene, http, says, something_else};

const PAGE: &str = "<html><head><title>canary-page</title></head><body>nginx</body></html>";

async fn is_survived(answer: String, code: &str, parts: &[&str]) {
    let mut scene = Scene::set().await;
    let real = scene.stage.telegram.url().to_owned();
    scene.canary("canary-page");
    scene.env("TELEGRAM_API_ROOT", &something_else(answer).await);
    let check = scene.run(&["connector", "check", "telegram"]).await;
    assert_eq!(check.code, Some(7));
    says(&check.stdout, &[code]);
    says(&check.stdout, parts);
    let doctor = scene.run(&["doctor"]).await;
    assert_eq!(doctor.code, Some(7));
    says(&doctor.stdout, parts);

    let running = scene.start().await;
    running.wait_for_line(&format!("error[{code}]")).await;
    running.wait_for_line("more:").await;
    let status = scene.run(&["status"]).await;
    assert_eq!(status.code, Some(1));
    says(&status.stdout, &["not ready", "telegram retrying", "next try in", code]);
    says(&status.stdout, parts);
    let answered = scene.run(&["chat", "-m", "Q1"]).await;
    assert!(
        answered.stdout.contains("A1"),
        "the rest works: {}{}",
        answered.stdout,
        answered.stderr
    );
    says(&scene.end(running).await.stderr, parts);

    // The fix works: the same settings with the right address.
    scene.env("TELEGRAM_API_ROOT", &real);
    let running = scene.start().await;
    running.wait_for_line("polling").await;
    scene.end(running).await;
}

#[tokio::test]
async fn a_server_error_in_json() {
    let body = r#"{"ok":false,"error_code":500,"description":"Internal Server Error"}"#;
    is_survived(
        http("500 Internal Server Error", "application/json", body),
        "GAL-TG-CONNECT",
        &[
            "Telegram has a fault",
            "cause: getMe answered 500 Internal Server Error",
            "where: TELEGRAM_API_ROOT from .env line 2",
            "fix:",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_proxys_page() {
    is_survived(
        http("502 Bad Gateway", "text/html", PAGE),
        "GAL-TG-CONNECT",
        &[
            "has a fault",
            "cause: getMe at 127.0.0.1",
            "answered 502",
            "where: TELEGRAM_API_ROOT from .env line 2",
            "fix:",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_page_that_says_everything_is_fine() {
    is_survived(
        http("200 OK", "text/html", PAGE),
        "GAL-TG-GARBAGE",
        &[
            "the answer is not the Telegram Bot API's",
            "cause: getMe at 127.0.0.1",
            "where: TELEGRAM_API_ROOT from .env line 2",
            "fix: check TELEGRAM_API_ROOT",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_login_page_that_forbids() {
    is_survived(
        http("403 Forbidden", "text/html", PAGE),
        "GAL-TG-GARBAGE",
        &[
            "the answer is not the Telegram Bot API's",
            "answered 403",
            "where: TELEGRAM_API_ROOT from .env line 2",
            "fix: check TELEGRAM_API_ROOT",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_connection_that_is_closed() {
    is_survived(
        String::new(),
        "GAL-TG-CONNECT",
        &[
            "Telegram cannot be reached",
            "cause: getMe:",
            "where: TELEGRAM_API_ROOT from .env line 2",
            "fix:",
        ],
    )
    .await;
}

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

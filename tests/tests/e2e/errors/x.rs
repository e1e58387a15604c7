//! Errors of X: permission, credits, summons, limits.

use galatea_testkit::{
    process::Running,
    x::{Access, Effect, Fault, XApi},
};
use serde_json::{Value, json};

use super::{Scene, finding, says};

const LOOK: &str = "GET /2/users/:id/mentions";
const SEND: &str = "POST /2/tweets";
const KEYS_LINE: &str = "where: TWITTER_ACCESS_TOKEN from .env line 7";

/// A scene whose `.env` has the four keys in lines 5 to 8 and X's address in line 9.
async fn set() -> (Scene, XApi) {
    let (mut scene, x) = (Scene::set().await, XApi::start().await);
    let keys = x.keys();
    scene.env("TWITTER_API_KEY", &keys.api_key);
    scene.env("TWITTER_API_SECRET_KEY", &keys.api_secret);
    scene.env("TWITTER_ACCESS_TOKEN", &keys.token);
    scene.env("TWITTER_ACCESS_TOKEN_SECRET", &keys.token_secret);
    scene.env("TWITTER_API_ROOT", x.url());
    scene.env("TWITTER_DRY_RUN", "false");
    // Three seconds, the shortest interval X allows.
    scene.env("TWITTER_POLL_INTERVAL", "0.05");
    x.secrets().iter().for_each(|secret| scene.canary(secret));
    (scene, x)
}

/// Starts the program and waits until it has looked for mentions.
async fn start(scene: &Scene, x: &XApi) -> Running {
    let running = scene.start().await;
    x.wait_calls(LOOK, 1).await;
    running
}

/// Checks the output of the paid checks.
async fn check_says(scene: &Scene, code: &str, parts: &[&str]) {
    let check = scene.run(&["connector", "check", "x", "--yes"]).await;
    assert_eq!(check.code, Some(7), "{}{}", check.stdout, check.stderr);
    says(&check.stdout, &[code]);
    says(&check.stdout, parts);
    let found = finding(&scene.run(&["connector", "check", "x", "--yes", "--json"]).await, code);
    assert_eq!((&found["severity"], &found["subject"]), (&"error".into(), &"connector".into()));
}

/// Output of `explain` for a post of Ann's.
async fn explained(scene: &Scene, post: u64) -> String {
    let output = scene.run(&["explain", &format!("https://x.com/ann_x/status/{post}")]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout
}

/// The access level in X's answers causes a warning. Only a post that X refuses proves it, and that
/// post is tried once.
#[tokio::test]
async fn a_read_only_token_is_a_warning_until_x_refuses_a_post() {
    let (scene, x) = set().await;
    x.set_access(Access::Read);
    let parts = [
        "✓ keys sign correctly: @galatea_test",
        "! the access token is read-only",
        "GAL-X-403-PERM",
        "cause: X says x-access-level: read",
        KEYS_LINE,
        "fix: console.x.com → your app → User authentication settings → Read and write; then regenerate access token and secret",
        "cap $1.00/day: mention read $0.001*, post $0.015, with link $0.20, reply when summoned $0.01",
    ];
    let check = scene.run(&["connector", "check", "x", "--yes"]).await;
    assert_eq!(check.code, Some(0), "{}{}", check.stdout, check.stderr);
    says(&check.stdout, &parts);
    let found = finding(
        &scene.run(&["connector", "check", "x", "--yes", "--json"]).await,
        "GAL-X-403-PERM",
    );
    assert_eq!(found["severity"], "warning");
    let running = start(&scene, &x).await;
    running.wait_for_line("works in part: the access token is read-only").await;
    let asked = x.user("Ann", "ann_x").posts("@galatea_test Q1");
    running.wait_for_line("a part ended").await;
    says(
        &explained(&scene, asked).await,
        &["dead", "the access token is read-only", "GAL-X-403-PERM", KEYS_LINE, "fix:"],
    );
    let said = scene.end(running).await.stderr;
    says(
        &said,
        &[
            "GAL-X-403-PERM",
            "console.x.com → your app → User authentication settings → Read and write",
        ],
    );
    assert_eq!(x.calls_of(SEND).len(), 1, "X is asked once");
}

#[tokio::test]
async fn check_asks_before_it_pays_and_tells_dry_run_and_cap() {
    let (mut scene, x) = set().await;
    scene.env("TWITTER_DRY_RUN", "");
    let unasked = scene.run(&["connector", "check", "x"]).await;
    says(
        &unasked.stdout,
        &[
            "not asked whether it works. This makes one paid read (about $0.01).",
            "fix: `galatea connector check x --yes` asks",
        ],
    );
    assert!(x.calls().is_empty(), "a paid call was made without consent");
    let check = scene.run(&["connector", "check", "x", "--yes"]).await;
    assert_eq!(check.code, Some(0), "{}", check.stdout);
    let cap = "cap $1.00/day: mention read $0.001*, post $0.015, with link $0.20, reply when summoned $0.01";
    says(
        &check.stdout,
        &[
            "✓ keys sign correctly: @galatea_test",
            "! posting is a dry run until TWITTER_DRY_RUN=false",
            "GAL-X-DRY-RUN",
            "fix:",
            cap,
        ],
    );
    assert_eq!(x.calls().len(), 1, "one paid read");
}

#[tokio::test]
async fn without_credits_it_pauses_with_one_alert() {
    let (scene, x) = set().await;
    let running = start(&scene, &x).await;
    x.set_credits(false);
    running.wait_for_line("works in part: No credits at X: reading and posting pause (GAL-X-402); add credits in console.x.com").await;
    let status = scene.run(&["status"]).await;
    says(&status.stdout, &["No credits at X", "GAL-X-402", "add credits in console.x.com"]);
    let direct = scene.stage.ann.direct();
    scene.stage.ann.says(&direct, "Q1").send();
    scene.stage.wait_text(&direct, "A1").await;
    let said = scene.end(running).await.stderr;
    assert_eq!(said.matches("X refuses further calls").count(), 1, "one alert: {said}");
    let refused = x
        .calls()
        .iter()
        .filter(|c| c.answer.as_ref().is_some_and(|(status, _)| *status == 402))
        .count();
    assert_eq!(refused, 1, "X is left alone: {}", x.story());
    let parts = [
        "No credits at X: reading and posting pause",
        "cause: GET /2/users/me answered 402",
        KEYS_LINE,
        "fix: add credits in console.x.com",
    ];
    check_says(&scene, "GAL-X-402", &parts).await;
}

#[tokio::test]
async fn an_unsummoned_reply_is_not_sent() {
    let (scene, x) = set().await;
    let mut running = start(&scene, &x).await;
    x.fault(Fault::new(Effect::RateLimited(3)).on(SEND));
    let ann = x.user("Ann", "ann_x");
    let asked = ann.posts("@galatea_test Q1");
    x.wait_calls(SEND, 1).await;
    running.kill_9().await;
    // The summons is lost, so the program asks X before it sends anything.
    let file = scene.stage.home.path().join(".galatea/galatea.db");
    let pool = sqlx::SqlitePool::connect(&format!("sqlite://{}", file.display())).await.unwrap();
    let lost = sqlx::query("DELETE FROM connector_state WHERE source = 'x' AND key = 'summons'");
    assert_eq!(lost.execute(&pool).await.unwrap().rows_affected(), 1);
    pool.close().await;
    ann.deletes(asked);
    let running = scene.start().await;
    running.wait_for_line("a part ended").await;
    says(
        &explained(&scene, asked).await,
        &["dead", "Not sent: X permits replies only when mentioned", "GAL-X-NOT-SUMMONED", "fix:"],
    );
    scene.end(running).await;
    assert_eq!(x.calls_of(SEND).len(), 1, "told before it was sent: {}", x.story());
    says(&scene.run(&["explain", "GAL-X-NOT-SUMMONED"]).await.stdout, &["Fix"]);
}

#[tokio::test]
async fn what_x_takes_for_unsummoned_is_reported_alike() {
    let (scene, x) = set().await;
    let running = start(&scene, &x).await;
    let detail = "Reply to this conversation is not allowed because you have not been mentioned or otherwise engaged by the author.";
    x.fault(
        Fault::new(Effect::Refuse(
            403,
            json!({ "title": "Forbidden", "type": "about:blank", "status": 403, "detail": detail }),
        ))
        .on(SEND),
    );
    let asked = x.user("Ann", "ann_x").posts("@galatea_test Q1");
    running.wait_for_line("a part ended").await;
    let output = explained(&scene, asked).await;
    says(
        &output,
        &[
            "dead",
            "Not sent: X permits replies only when mentioned",
            "cause: POST /2/tweets answered 403 Reply to this conversation",
        ],
    );
    scene.end(running).await;
    assert_eq!(x.calls_of(SEND).len(), 1, "a final refusal is not retried");
}

#[tokio::test]
async fn a_limit_of_posting_is_waited_for_and_is_no_error() {
    let (scene, x) = set().await;
    let running = start(&scene, &x).await;
    x.fault(Fault::new(Effect::RateLimited(4)).on(SEND).times(usize::MAX));
    let asked = x.user("Ann", "ann_x").posts("@galatea_test Q1");
    running.wait_for_line("GAL-X-429").await;
    says(
        &explained(&scene, asked).await,
        &["X asked to wait", "cause: POST /2/tweets answered 429"],
    );
    x.end_faults();
    // A post before the deadline would be a violation.
    assert_eq!(x.wait_shown(1).await[0].text, "A1");
    assert_eq!(scene.run(&["status"]).await.code, Some(0), "nothing is wrong");
    let said = scene.end(running).await.stderr;
    assert!(
        !said.contains("error[") && !said.contains("ERROR") && !said.contains("WARN"),
        "{said}"
    );
    let is_limited = |answer: &(u16, Value)| answer.0 == 429;
    let taken =
        x.calls_of(SEND).into_iter().filter(|call| !call.answer.as_ref().is_some_and(is_limited));
    assert_eq!((x.shown().len(), taken.count()), (1, 1), "delivered once");
}

#[tokio::test]
async fn a_limit_of_reading_is_a_countdown() {
    let (scene, x) = set().await;
    x.fault(Fault::new(Effect::RateLimited(3)).on(LOOK));
    let running = scene.start().await;
    running.wait_for_line("note[GAL-X-429]").await;
    running.wait_for_line("more:").await;
    x.user("Ann", "ann_x").posts("@galatea_test Q1");
    assert_eq!(x.wait_shown(1).await[0].text, "A1");
    let said = scene.end(running).await.stderr;
    says(
        &said,
        &[
            "note[GAL-X-429]: x: X asked to wait",
            "cause: GET /2/users/:id/mentions answered 429",
            "fix:",
            "Next try in",
        ],
    );
    assert!(!said.contains("error["), "{said}");
}

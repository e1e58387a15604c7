//! Tests of refusals that only the owner can fix: one alert, no repeated calls, no secret in a
//! message.

use galatea_core::{Connector, ErrorKind, Health, Retry, Severity};
use galatea_testkit::{
    connector_suite::CapturedLog,
    x::{Access, Effect, Fault, XApi},
};
use std::time::Duration;

use super::support::{at, config, gateway, reply, send, start};
use galatea_testkit::connector_suite::running::{host, patient};

fn alerts(log: &CapturedLog) -> usize {
    log.text().lines().filter(|line| line.starts_with("ERROR")).count()
}

#[tokio::test]
async fn wrong_keys_end_it_with_the_fix() {
    let api = XApi::start().await;
    let config = config(&api);
    api.revoke_keys();
    let folder = tempfile::tempdir().unwrap();
    let error = start(config, folder.path(), &gateway()).failure().await;
    assert_eq!(
        (error.code(), error.kind(), error.retry()),
        (Some("GAL-X-401"), ErrorKind::Unauthorized, Retry::Never)
    );
    assert!(error.fix().unwrap().contains("console.x.com"));
    assert_eq!(api.calls().len(), 1);
}

#[tokio::test]
async fn keys_taken_back_at_work_are_reported_once_and_x_is_left_alone() {
    let (log, _guard) = CapturedLog::start();
    let api = XApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let asked = ann.posts("@galatea_test hello");
    let folder = tempfile::tempdir().unwrap();
    let running = start(config(&api), folder.path(), &gateway());
    running.messages(1).await;
    let handler = running.handler().await;
    api.revoke_keys();
    for _ in 0..5 {
        let error = send(&*handler, &api, &asked.to_string(), &reply("hi", asked))
            .await
            .remove(0)
            .unwrap_err();
        assert_eq!((error.code(), error.retry()), (Some("GAL-X-401"), Retry::Never));
    }
    assert_eq!(running.failure().await.code(), Some("GAL-X-401"));
    let refused = api
        .calls()
        .iter()
        .filter(|c| c.answer.as_ref().is_some_and(|(status, _)| *status == 401))
        .count();
    assert_eq!((refused, alerts(&log)), (1, 1), "{}", log.text());
}

#[tokio::test]
async fn a_clock_that_is_off_is_named() {
    let api = XApi::start().await;
    let folder = tempfile::tempdir().unwrap();
    let clock = galatea_testkit::clock::ManualClock::new();
    let error = at(config(&api), folder.path(), &gateway(), clock.shared()).failure().await;
    assert!(
        error.code() == Some("GAL-X-401") && error.fix().unwrap().contains("clock"),
        "{}",
        error.report()
    );
}

#[tokio::test]
async fn without_credits_everything_pauses_and_goes_on() {
    let (log, _guard) = CapturedLog::start();
    let api = XApi::start().await;
    let asked = api.user("Ann", "ann_b").posts("@galatea_test hello");
    let folder = tempfile::tempdir().unwrap();
    let running = start(config(&api), folder.path(), &gateway());
    running.messages(1).await;
    let handler = running.handler().await;
    api.set_credits(false);
    let waits = |error: &galatea_core::Error| matches!(error.retry(), Retry::After(wait) if wait > Duration::from_secs(600));
    for _ in 0..3 {
        let error = send(&*handler, &api, &asked.to_string(), &reply("hi", asked))
            .await
            .remove(0)
            .unwrap_err();
        assert!(error.code() == Some("GAL-X-402") && waits(&error), "{}", error.report());
    }
    let degraded =
        |h: &Health| matches!(h, Health::Degraded { reason } if reason.contains("GAL-X-402"));
    patient("health", running.gateway.wait_for(|g| g.health().iter().any(degraded).then_some(())))
        .await;
    let refused = api
        .calls()
        .iter()
        .filter(|c| c.answer.as_ref().is_some_and(|(status, _)| *status == 402))
        .count();
    assert_eq!((refused, alerts(&log)), (1, 1));
    running.end().await;
}

#[tokio::test]
async fn an_app_that_is_not_enrolled_is_reported_with_the_place_to_enrol() {
    let api = XApi::start().await;
    api.set_enrolled(false);
    let folder = tempfile::tempdir().unwrap();
    let error = start(config(&api), folder.path(), &gateway()).failure().await;
    assert_eq!((error.code(), error.retry()), (Some("GAL-X-403-ENROLL"), Retry::Never));
    assert!(error.fix().unwrap().contains("Pay-per-use"));
}

/// The header is only a warning, since X has been wrong about it. A refused post is definite, and
/// the post is not tried again.
#[tokio::test]
async fn a_read_only_token_is_a_warning_until_x_refuses_a_post() {
    let api = XApi::start().await;
    api.set_access(Access::Read);
    let asked = api.user("Ann", "ann_b").posts("@galatea_test hello");
    let folder = tempfile::tempdir().unwrap();
    let running = start(config(&api), folder.path(), &gateway());
    running.messages(1).await;
    let handler = running.handler().await;
    let reported =
        |h: &Health| matches!(h, Health::Degraded { reason } if reason.contains("GAL-X-403-PERM"));
    patient("health", running.gateway.wait_for(|g| g.health().iter().any(reported).then_some(())))
        .await;
    let findings = running.connector.check().await;
    assert!(
        findings.iter().any(|f| f.id == "GAL-X-403-PERM"
            && f.severity == Severity::Warning
            && f.fix.is_some()),
        "{findings:?}"
    );
    let delivery =
        super::support::deliveries(&*handler, &api, &asked.to_string(), &reply("hi", asked))
            .remove(0);
    let barred = || {
        handler
            .barred(&delivery.address, &galatea_core::RemoteId::new(asked))
            .and_then(|error| error.code())
    };
    assert_eq!(barred(), None);
    for _ in 0..3 {
        let error = handler.send(&delivery).await.unwrap_err();
        assert_eq!(
            (error.code(), error.kind(), error.retry()),
            (Some("GAL-X-403-PERM"), ErrorKind::Forbidden, Retry::Never)
        );
    }
    assert_eq!(api.calls_of("POST /2/tweets").len(), 1, "asked once, then latched");
    assert_eq!(barred(), Some("GAL-X-403-PERM"), "no model is asked for an answer that X refuses");
    running.end().await;
}

/// The cause (a suspension, a plan) can end without a notification.
#[tokio::test]
async fn mentions_that_may_not_be_read_are_asked_for_again_slowly() {
    const LOOK: &str = "GET /2/users/:id/mentions";
    let clock = galatea_testkit::clock::ManualClock::at(galatea_core::Clock::now(
        &galatea_core::SystemClock,
    ));
    let api =
        XApi::with(galatea_testkit::x::Options { clock: clock.shared(), ..Default::default() })
            .await;
    let ann = api.user("Ann", "ann_b");
    let forbidden = serde_json::json!({ "title": "Forbidden", "detail": "You are not permitted to perform this action.", "status": 403 });
    api.fault(Fault::new(Effect::Refuse(403, forbidden)).on(LOOK).times(3));
    let folder = tempfile::tempdir().unwrap();
    let running = at(config(&api), folder.path(), &gateway(), clock.shared());
    let begun = galatea_core::Clock::now(&*clock.shared());
    let mut waits = Vec::new();
    for looks in 1..=3 {
        api.wait_calls(LOOK, looks).await;
        clock.wait_for_sleepers(1).await;
        assert_eq!(api.calls_of(LOOK).len(), looks);
        let before = galatea_core::Clock::now(&*clock.shared());
        clock.advance_to_next();
        waits.push(galatea_core::Clock::now(&*clock.shared()).since(before).as_secs() / 60);
    }
    assert_eq!(waits, [15, 30, 60]);
    let shown = running.gateway.health();
    assert!(
        shown
            .iter()
            .any(|h| matches!(h, Health::Retrying { code: Some(code), .. } if code == "GAL-X-403")),
        "{shown:?}"
    );
    api.wait_calls(LOOK, 4).await;
    let said = ann.posts("@galatea_test are you back?");
    clock.wait_for_sleepers(1).await;
    clock.advance_to_next();
    assert_eq!(running.messages(1).await[0].1.id.0, said.to_string());
    assert!(
        galatea_core::Clock::now(&*clock.shared()).since(begun) < Duration::from_secs(2 * 3600)
    );
    running.kill().await;
}

#[tokio::test]
async fn a_check_says_what_it_costs_and_tells_what_there_is() {
    let api = XApi::start().await;
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&api);
    config.dry_run = true;
    let connector = config
        .connector(&host(folder.path(), std::sync::Arc::new(galatea_core::SystemClock)))
        .unwrap();
    assert_eq!(connector.check_cost().as_deref(), Some("This makes one paid read (about $0.01)."));
    let findings = connector.check().await;
    let ids: Vec<_> = findings.iter().map(|f| (f.id.as_str(), f.severity)).collect();
    assert_eq!(
        ids,
        [
            ("GAL-X-TOKEN", Severity::Ok),
            ("GAL-X-DRY-RUN", Severity::Warning),
            ("GAL-X-BUDGET", Severity::Info)
        ]
    );
    assert!(
        findings[0].message.contains("@galatea_test")
            && findings[2].message.contains("reply when summoned $0.01"),
        "{findings:?}"
    );
    assert_eq!(api.calls().len(), 1);
    api.set_reachable(false);
    assert_eq!(connector.check().await[0].id, "GAL-X-CONNECT");
}

#[tokio::test]
async fn no_secret_is_shown_whatever_x_answers() {
    let (log, guard) = CapturedLog::start();
    let api = XApi::start().await;
    let asked = api.user("Ann", "ann_b").posts("@galatea_test hello");
    let folder = tempfile::tempdir().unwrap();
    let running = start(config(&api), folder.path(), &gateway());
    running.messages(1).await;
    let handler = running.handler().await;
    let mut reported = String::new();
    // A hostile server repeats the secrets it received.
    let keys = api.keys();
    let echo = serde_json::json!({ "title": "Forbidden", "detail": format!("no {}", "x".repeat(500)), "status": 403, "keys": keys.token_secret });
    for effect in [
        Effect::Refuse(403, echo),
        Effect::Refuse(400, serde_json::json!({})),
        Effect::Garbage,
        Effect::CutAfter(20),
    ] {
        api.fault(Fault::new(effect).on("POST /2/tweets"));
        let error = send(&*handler, &api, &asked.to_string(), &reply("hi", asked))
            .await
            .remove(0)
            .unwrap_err();
        reported.push_str(&format!("{} {error:?}", error.report()));
    }
    reported.push_str(&format!(
        "{:?} {:?} {:?}",
        running.connector,
        running.gateway.health(),
        running.connector.check().await
    ));
    running.end().await;
    drop(guard);
    reported.push_str(&log.text());
    for secret in api.secrets() {
        assert!(!reported.contains(&secret), "a secret is exposed");
    }
}

//! Tests of the start: tokens, other programs' webhooks, commands, privacy mode, and what `check`
//! finds.

use galatea_core::{Connector, Health, Retry, SecretString, Severity, SystemClock};
use galatea_telegram::Mode;
use galatea_testkit::telegram::{BotApi, Effect, ErrorBody, Fault};
use std::sync::Arc;

use super::support::{build, config, start};

#[tokio::test]
async fn it_comes_up_with_its_name_and_sets_commands_once() {
    let api = BotApi::start().await;
    for _ in 0..2 {
        let running = start(config(&api));
        let detail = running
            .until("health", |s| {
                s.health().iter().find_map(|h| {
                    if let Health::Up { detail } = h { Some(detail.clone()) } else { None }
                })
            })
            .await;
        assert!(
            detail.contains(&api.bot_username())
                && detail.contains("polling")
                && detail.contains("privacy mode"),
            "{detail}"
        );
        assert!(running.gateway.handler().is_some());
        running.end().await;
    }
    assert_eq!(
        api.default_commands().iter().map(|c| c["command"].as_str().unwrap()).collect::<Vec<_>>(),
        [
            "ask",
            "more",
            "reset",
            "mute",
            "unmute",
            "memory",
            "reminders",
            "privacy",
            "link",
            "unlink",
            "help"
        ]
    );
    assert_eq!(api.calls_of("setMyCommands").len(), 1, "they did not differ the second time");
}

#[tokio::test]
async fn a_wrong_token_parks_it() {
    let api = BotApi::start().await;
    let mut settings = config(&api);
    settings.token =
        SecretString::from("7000000001:AAwrong-canary-wrong-canary-wrong-xx".to_owned());
    let error = start(settings).failure().await;
    assert_eq!((error.code(), error.retry()), (Some("GAL-TG-401"), Retry::Never));
    assert!(!format!("{error} {} {error:?}", error.report()).contains("canary"));
}

#[tokio::test]
async fn a_server_that_answers_rubbish_is_an_error_not_a_panic() {
    let faults = [
        (Effect::ServerError(500, ErrorBody::Html), "GAL-TG-CONNECT"),
        (Effect::ServerError(502, ErrorBody::Json), "GAL-TG-CONNECT"),
        (Effect::Garbage, "GAL-TG-GARBAGE"),
        (Effect::LoseResponse, "GAL-TG-CONNECT"),
        (Effect::RateLimited(7), "GAL-TG-429"),
    ];
    for (effect, code) in faults {
        let api = BotApi::start().await;
        api.fault(Fault::new(effect.clone()).on("getMe"));
        let error = start(config(&api)).failure().await;
        assert_eq!(error.code(), Some(code), "{effect:?}: {error}");
        assert_ne!(error.retry(), Retry::Never, "{effect:?} is temporary");
        assert!(!format!("{error} {} {error:?}", error.report()).contains("canary"), "{error:?}");
    }
}

#[tokio::test]
async fn an_address_without_a_server_is_reported_with_a_fix() {
    let api = BotApi::start().await;
    let mut settings = config(&api);
    settings.api_root = "http://127.0.0.1:9".parse().unwrap();
    let error = start(settings).failure().await;
    assert_eq!((error.code(), error.retry()), (Some("GAL-TG-CONNECT"), Retry::Soon));
    assert!(error.fix().unwrap().contains("TELEGRAM_API_ROOT"));
    assert!(!format!("{error} {} {error:?}", error.report()).contains("canary"));
}

/// Sets a webhook as another program would.
async fn foreign_webhook(api: &BotApi) {
    let mut settings = config(api);
    settings.mode = Mode::Webhook;
    settings.webhook_url = Some("https://127.0.0.1/hook".parse().unwrap());
    settings.webhook_listen = "127.0.0.1:0".parse().unwrap();
    let other = start(settings);
    api.wait_calls("setWebhook", 1).await;
    other.end().await;
}

#[tokio::test]
async fn a_foreign_webhook_is_named_and_left_alone() {
    let api = BotApi::start().await;
    foreign_webhook(&api).await;
    let error = start(config(&api)).failure().await;
    assert_eq!((error.code(), error.retry()), (Some("GAL-TG-WEBHOOK"), Retry::Never));
    assert!(
        error.message().contains("127.0.0.1") && error.fix().unwrap().contains("--fix"),
        "{error}"
    );
    assert!(api.calls_of("deleteWebhook").is_empty());
    let folder = tempfile::tempdir().unwrap();
    let connector = build(config(&api), folder.path(), Arc::new(SystemClock));
    let findings = connector.check().await;
    assert!(
        findings.iter().any(|f| f.id == "GAL-TG-WEBHOOK" && f.severity == Severity::Error),
        "{findings:?}"
    );
    connector.remove_webhook().await.unwrap();
    start(config(&api)).end().await;
}

#[tokio::test]
async fn a_foreign_webhook_is_removed_after_a_yes_and_what_waits_is_kept() {
    let api = BotApi::start().await;
    foreign_webhook(&api).await;
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "old").send();
    let folder = tempfile::tempdir().unwrap();
    let connector = build(config(&api), folder.path(), Arc::new(SystemClock));
    let found = connector.check().await;
    let finding = found.iter().find(|f| f.repair.is_some()).unwrap();
    assert_eq!(
        (finding.id.as_str(), finding.repair.as_deref()),
        ("GAL-TG-WEBHOOK", Some("Remove the webhook to 127.0.0.1?"))
    );
    // Neither another finding nor consent to remove another webhook changes anything.
    let error = connector.repair(&found[0]).await.unwrap_err();
    assert_eq!(error.kind(), galatea_core::ErrorKind::Invalid);
    let other = finding.clone().with_repair("Remove the webhook to example.com?");
    assert_eq!(connector.repair(&other).await.unwrap_err().code(), Some("GAL-TG-WEBHOOK"));
    assert!(api.calls_of("deleteWebhook").is_empty());
    connector.repair(finding).await.unwrap();
    assert!(
        connector.check().await.iter().all(|f| f.repair.is_none() && f.severity != Severity::Error)
    );
    connector.repair(finding).await.unwrap();
    assert_eq!(api.calls_of("deleteWebhook").len(), 1, "it is gone already");
    let running = start(config(&api));
    assert_eq!(running.heard(1).await[0].content.text, "old");
    running.end().await;
}

#[tokio::test]
async fn our_own_webhook_gives_way_to_polling() {
    let api = BotApi::start().await;
    foreign_webhook(&api).await;
    let mut settings = config(&api);
    settings.webhook_url = Some("https://127.0.0.1/hook".parse().unwrap());
    let running = start(settings);
    api.wait_calls("deleteWebhook", 1).await;
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "hello").send();
    running.heard(1).await;
    running.end().await;
}

#[tokio::test]
async fn check_tells_name_webhook_and_privacy() {
    let api = BotApi::start().await;
    let folder = tempfile::tempdir().unwrap();
    let connector = build(config(&api), folder.path(), Arc::new(SystemClock));
    let findings = connector.check().await;
    let ids: Vec<_> = findings.iter().map(|f| (f.id.as_str(), f.severity)).collect();
    assert_eq!(
        ids,
        [
            ("GAL-TG-TOKEN", Severity::Ok),
            ("GAL-TG-WEBHOOK", Severity::Ok),
            ("GAL-TG-PRIVACY", Severity::Info)
        ]
    );
    assert!(findings[0].message.contains(&api.bot_username()));
    assert!(findings[2].fix.as_ref().unwrap().contains("/setprivacy"));
    api.set_privacy(false);
    assert_eq!(connector.check().await[2].severity, Severity::Ok);
    api.fault(Fault::new(Effect::Garbage).on("getMe"));
    assert_eq!(connector.check().await[0].id, "GAL-TG-GARBAGE");
}

#[tokio::test]
async fn pending_messages_can_be_dropped() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "old").send();
    let mut settings = config(&api);
    settings.drop_pending = true;
    let running = start(settings);
    api.wait_calls("deleteWebhook", 1).await;
    ann.says(&ann.direct(), "new").send();
    assert_eq!(running.heard(1).await[0].content.text, "new");
    running.end().await;
}

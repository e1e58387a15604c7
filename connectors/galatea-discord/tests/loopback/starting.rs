//! Tests of the start: what is checked, what is reported, and which hosts are contacted.

use crate::support::{build, config, send, start};
use galatea_core::{
    Connector, Content, ErrorKind, Outgoing, Retry, SecretString, Severity, SystemClock,
};
use galatea_discord::DiscordConfig;
use galatea_testkit::discord::{DiscordApi, Effect, Fault, Options, Order};
use std::sync::Arc;

/// The Message Content intent (Discord, "Gateway Intents").
const CONTENT: u64 = 1 << 15;

/// A token of the same bot with another secret.
fn wrong_token(token: &str) -> SecretString {
    let (head, _) = token.rsplit_once('.').unwrap();
    SecretString::from(format!("{head}.dc-canary-another-secret-0123456789abcdef"))
}

#[tokio::test]
async fn a_refused_token_stops_it_with_the_fix() {
    let api = DiscordApi::start().await;
    let mut config = config(&api);
    config.token = wrong_token(&api.token());
    let error = start(config.clone()).failure().await;
    assert_eq!(
        (error.code(), error.kind(), error.retry()),
        (Some("GAL-DC-4004"), ErrorKind::Unauthorized, Retry::Never)
    );
    assert!(error.fix().unwrap().contains("Reset Token") && !error.report().contains("canary"));
    let folder = tempfile::tempdir().unwrap();
    let findings = build(config, folder.path(), Arc::new(SystemClock)).check().await;
    assert_eq!(
        (findings.len(), findings[0].id.as_str(), findings[0].severity),
        (1, "GAL-DC-4004", Severity::Error)
    );
}

#[tokio::test]
async fn close_codes_that_need_a_person_stop_this_connector_only() {
    for (code, name) in [(4004, "GAL-DC-4004"), (4014, "GAL-DC-4014"), (4012, "GAL-DC-4010")] {
        let api = DiscordApi::start().await;
        let running = start(config(&api));
        api.wait_connected(1).await;
        api.order(Order::Close(code));
        let error = running.failure().await;
        assert_eq!((error.code(), error.retry()), (Some(name), Retry::Never), "{code}");
        assert!(error.fix().is_some());
        assert_eq!(api.identified(), 1, "no repeated IDENTIFY");
    }
}

/// The flags are read at the start only, so a session begun after the intent was withdrawn asks for
/// it once more. Discord refuses it, and the next start does not ask.
#[tokio::test]
async fn an_intent_withdrawn_in_the_portal_is_4014() {
    // Two connectors run one after the other, and each begins a session.
    let api = DiscordApi::with(Options { own_time: true, ..Options::default() }).await;
    let running = start(config(&api));
    api.wait_connected(1).await;
    assert_ne!(api.intents()[0] & CONTENT, 0, "the intent is granted and requested");
    api.set_content(false);
    api.order(Order::InvalidSession(false));
    let error = running.failure().await;
    assert_eq!((error.code(), error.retry()), (Some("GAL-DC-4014"), Retry::Never));
    assert!(error.fix().unwrap().contains("Message Content Intent"), "{}", error.report());
    assert_eq!(api.identified(), 1, "no session was begun with the withdrawn intent");
    let again = start(config(&api));
    api.wait_connected(1).await;
    assert_eq!(api.intents()[0] & CONTENT, 0, "only intents that the flags allow are requested");
    again.end().await;
}

#[tokio::test]
async fn check_tells_the_intent_the_servers_and_the_link_and_repairs() {
    let api = DiscordApi::with(Options { content: false, ..Options::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let connector = build(config(&api), folder.path(), Arc::new(SystemClock));
    let findings = connector.check().await;
    let by = |id: &str| findings.iter().find(|f| f.id == id).unwrap();
    assert!(by("GAL-DC-TOKEN").message.contains("token valid: Galatea (app 112233445566778800)"));
    let content = by("GAL-DC-4014");
    assert_eq!(content.severity, Severity::Warning);
    assert!(content.repair.as_deref().unwrap().ends_with('?'));
    let invite = by("GAL-DC-INVITE");
    assert!(invite.fix.as_deref().unwrap().contains(
        "client_id=112233445566778800&scope=bot+applications.commands&permissions=274878024768"
    ));
    connector.repair(content).await.unwrap();
    assert!(
        connector.check().await.iter().all(|f| f.id != "GAL-DC-4014" || f.severity == Severity::Ok)
    );
    assert!(connector.repair(by("GAL-DC-INVITE")).await.is_err());
}

#[tokio::test]
async fn with_the_api_unreachable_nothing_else_is_contacted_and_it_may_be_tried_again() {
    let api = DiscordApi::start().await;
    api.set_reachable(false);
    let error = start(config(&api)).failure().await;
    assert_eq!((error.code(), error.retry()), (Some("GAL-DC-CONNECT"), Retry::Soon));
    // A host that refuses connections: the error names it, and no other host is contacted.
    let mut nowhere = DiscordConfig::new(SecretString::from(api.token()));
    nowhere.api_root = "http://127.0.0.1:9".parse().unwrap();
    let error = start(nowhere).failure().await;
    assert!(
        error.report().contains("127.0.0.1") && !error.report().contains("discord.gg"),
        "{}",
        error.report()
    );
    api.set_reachable(true);
}

#[tokio::test]
async fn an_exhausted_identify_quota_is_waited_for() {
    let api = DiscordApi::with(Options { identifies: 0, ..Options::default() }).await;
    let error = start(config(&api)).failure().await;
    assert_eq!((error.code(), error.kind()), (Some("GAL-DC-IDENTIFY"), ErrorKind::RateLimited));
    assert!(matches!(error.retry(), Retry::After(_)));
    assert_eq!(api.identified(), 0);
}

#[tokio::test]
async fn another_bots_token_is_noticed() {
    let api = DiscordApi::start().await;
    api.fault(Fault::new(Effect::Garbage).on("GET /users/@me"));
    let error = start(config(&api)).failure().await;
    assert_eq!((error.code(), error.retry()), (Some("GAL-DC-GARBAGE"), Retry::Soon));
}

/// The token of another server need not tell the bot's id: the API tells it.
#[tokio::test]
async fn a_token_of_another_shape_works_with_another_server() {
    let token = Some("dc-canary-of-another-shape".to_owned());
    let api = DiscordApi::with(Options { token, ..Options::default() }).await;
    let running = start(config(&api));
    api.wait_connected(1).await;
    let account = running.connector.info().account.0.clone();
    assert!(account.starts_with("bot-") && !account.contains("canary"), "{account}");
    let ann = api.user("Ann", "ann_b");
    let guild = api.guild("Garden", &[&ann]);
    ann.says(&guild.general(), &format!("hey {}", api.mention())).send();
    let heard = running.heard(1).await;
    assert!(heard[0].addressed.mention, "it knows its own id");
    let hi = Outgoing::Message { content: Content::text("hi"), reply_to: None };
    let room = guild.general().id.to_string();
    for sent in send(&*running.handler().await, &room, &hi).await {
        sent.unwrap();
    }
    running.end().await;
}

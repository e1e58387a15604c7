//! Tests of the daily spend limit.

use galatea_core::{Connector, ErrorKind, Health, Retry, Severity};
use galatea_testkit::{
    clock::ManualClock,
    connector_suite::{CapturedLog, RecordingGateway, running::patient},
    x::{Options, XApi},
};
use galatea_x::Usd;
use std::{collections::HashMap, sync::Arc};

use super::support::{at, config, gateway, reply, say, send, start};

#[tokio::test]
async fn the_cap_holds_over_a_restart_with_one_alert() {
    let (log, _guard) = CapturedLog::start();
    let api = XApi::start().await;
    let asked = api.user("Ann", "ann_b").posts("@galatea_test hello");
    let folder = tempfile::tempdir().unwrap();
    let capped = || {
        let mut config = config(&api);
        // Costs: the account 0.010, the mention 0.001, two summoned replies 0.010 each.
        config.daily_limit = Usd(31_500);
        config
    };
    let gateway = gateway();
    let running = start(capped(), folder.path(), &gateway);
    running.messages(1).await;
    let handler = running.handler().await;
    for text in ["one", "two"] {
        send(&*handler, &api, &asked.to_string(), &reply(text, asked)).await.remove(0).unwrap();
    }
    let gateway = with_state(running.gateway.states());
    running.kill().await;
    let running = start(capped(), folder.path(), &gateway);
    let handler = running.handler().await;
    for _ in 0..3 {
        let error = send(&*handler, &api, &asked.to_string(), &reply("three", asked))
            .await
            .remove(0)
            .unwrap_err();
        assert_eq!((error.code(), error.kind()), (Some("GAL-X-BUDGET"), ErrorKind::RateLimited));
        assert!(matches!(error.retry(), Retry::After(_)), "until midnight");
    }
    let reported =
        |h: &Health| matches!(h, Health::Degraded { reason } if reason.contains("GAL-X-BUDGET"));
    patient("health", running.gateway.wait_for(|g| g.health().iter().any(reported).then_some(())))
        .await;
    assert_eq!(
        (api.shown().len(), log.text().matches("GAL-X-BUDGET").count()),
        (2, 1),
        "{}",
        log.text()
    );
    running.end().await;
}

/// The account moves to another machine with its own folder, and back. Only the store is shared.
#[tokio::test]
async fn the_cap_is_the_accounts_wherever_it_is() {
    let api = XApi::start().await;
    let asked = api.user("Ann", "ann_b").posts("@galatea_test hello");
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut state = HashMap::new();
    for (folder, words) in [(&here, "one"), (&there, "two"), (&here, "three"), (&there, "four")] {
        let mut config = config(&api);
        // Costs: the account 0.010 once; each time the mention 0.001 and a reply 0.010.
        config.daily_limit = Usd(48_000);
        let gateway = with_state(state);
        let running = start(config, folder.path(), &gateway);
        let handler = running.handler().await;
        running.messages(1).await;
        let posted =
            send(&*handler, &api, &asked.to_string(), &reply(words, asked)).await.remove(0);
        assert_eq!(
            posted.err().and_then(|error| error.code()),
            (words == "four").then_some("GAL-X-BUDGET"),
            "{words}"
        );
        running.end().await;
        state = gateway.states();
    }
    assert_eq!((api.shown().len(), api.calls_of("GET /2/users/me").len()), (3, 1));
}

#[tokio::test]
async fn reading_pauses_at_the_cap_and_goes_on_when_the_day_turns() {
    const LOOK: &str = "GET /2/users/:id/mentions";
    let clock = ManualClock::new();
    let api = XApi::with(Options { clock: clock.shared(), ..Options::default() }).await;
    let (ann, folder, mut config) =
        (api.user("Ann", "ann_b"), tempfile::tempdir().unwrap(), config(&api));
    ann.posts("@galatea_test one");
    // Costs: the account 0.010, and one mention 0.001.
    config.daily_limit = Usd(11_000);
    let running = at(config, folder.path(), &gateway(), clock.shared());
    running.messages(1).await;
    let reported = |h: &Health| matches!(h, Health::Degraded { reason } if reason.contains("GAL-X-BUDGET") && reason.contains("midnight"));
    patient("health", running.gateway.wait_for(|g| g.health().iter().any(reported).then_some(())))
        .await;
    let remarks = running.connector.remarks();
    assert_eq!((remarks[0].id.as_str(), remarks[0].severity), ("GAL-X-BUDGET", Severity::Warning));
    ann.posts("@galatea_test two");
    clock.wait_for_sleepers(1).await;
    clock.advance_to_next();
    clock.wait_for_sleepers(1).await;
    assert_eq!(api.calls_of(LOOK).len(), 1, "nothing is read while the budget is exhausted");
    clock.advance_to_next();
    assert_eq!(clock.shared().now().0.rem_euclid(24 * 3600 * 1000), 0, "it slept until midnight");
    assert_eq!(
        running.messages(2).await[1].1.content.text,
        "@galatea_test two",
        "mentions made meanwhile are read then"
    );
    assert!(running.connector.remarks().is_empty());
    running.end().await;
}

/// Asking a model for an answer that cannot be posted wastes money.
#[tokio::test]
async fn at_the_cap_no_answer_is_asked_for() {
    let api = XApi::start().await;
    let asked = api.user("Ann", "ann_b").posts("@galatea_test hello");
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&api);
    // Costs: the account 0.010, the mention 0.001, one summoned reply 0.010.
    config.daily_limit = Usd(21_000);
    let running = start(config, folder.path(), &gateway());
    running.messages(1).await;
    let handler = running.handler().await;
    let delivery =
        super::support::deliveries(&*handler, &api, &asked.to_string(), &reply("one", asked))
            .remove(0);
    let barred = || handler.barred(&delivery.address, &galatea_core::RemoteId::new(asked));
    assert!(barred().is_none());
    handler.send(&delivery).await.unwrap();
    let error = barred().unwrap();
    assert_eq!((error.code(), error.kind()), (Some("GAL-X-BUDGET"), ErrorKind::RateLimited));
    assert_eq!(api.shown().len(), 1, "asking costs nothing");
    running.end().await;
}

#[tokio::test]
async fn links_cost_more_and_refused_posts_nothing() {
    let api = XApi::start().await;
    let asked = api.user("Ann", "ann_b").posts("@galatea_test hello");
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&api);
    config.daily_limit = Usd(211_500);
    let running = start(config, folder.path(), &gateway());
    running.messages(1).await;
    let handler = running.handler().await;
    let post = async |text: &str| {
        send(&*handler, &api, &asked.to_string(), &reply(text, asked)).await.remove(0)
    };
    api.set_suspended(true);
    assert_eq!(post("see https://example.org/ there").await.unwrap_err().code(), Some("GAL-X-403"));
    api.set_suspended(false);
    post("see https://example.org/ there").await.unwrap();
    assert_eq!(
        post("and").await.unwrap_err().code(),
        Some("GAL-X-BUDGET"),
        "0.011 + 0.200 of 0.2115 are spent"
    );
    running.end().await;
}

/// A new gateway with this state. Its handler is the one of the next connector.
fn with_state(state: HashMap<String, serde_json::Value>) -> Arc<RecordingGateway> {
    let gateway = gateway();
    state.into_iter().for_each(|(key, value)| gateway.put_state(&key, value));
    gateway
}

/// The account moves to another machine with its own folder. Only the store is shared.
#[tokio::test]
async fn what_was_posted_is_known_on_another_machine() {
    let api = XApi::start().await;
    let asked = api.user("Ann", "ann_b").posts("@galatea_test hello");
    let home = format!("{}-home", api.account());
    let (words, thought) = ("Sorry, I cannot think.", "Eleven left-hand gloves since Sunday.");
    let gateway = gateway();
    let here = tempfile::tempdir().unwrap();
    let running = start(config(&api), here.path(), &gateway);
    let handler = running.handler().await;
    running.messages(1).await;
    send(&*handler, &api, &asked.to_string(), &reply(words, asked)).await.remove(0).unwrap();
    send(&*handler, &api, &home, &say(thought)).await.remove(0).unwrap();
    let stored = |g: &RecordingGateway| {
        let count = |key| Some(g.stored_state(key)?.as_array()?.len());
        (count("said") == Some(2) && count("recent") == Some(1)).then_some(())
    };
    patient("the state", gateway.wait_for(stored)).await;
    // Killed: nothing more is stored.
    running.kill().await;
    let (there, gateway) = (tempfile::tempdir().unwrap(), with_state(gateway.states()));
    let running = start(config(&api), there.path(), &gateway);
    let handler = running.handler().await;
    for (room, outgoing) in [
        (asked.to_string(), reply("sorry – I cannot think!", asked)),
        (home.clone(), say("Twelve left-hand gloves since Sunday.")),
    ] {
        let error = send(&*handler, &api, &room, &outgoing).await.remove(0).unwrap_err();
        assert_eq!(error.code(), Some("GAL-X-SIMILAR"), "{room}");
    }
    assert_eq!(api.shown().len(), 2);
    running.end().await;
}

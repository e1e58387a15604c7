//! Tests of an hour without Discord and of days of sessions that end at once: no event is lost, and
//! no quota of Discord's is used up. The clock is manual. Sockets and calls are real, so the tests
//! count what Discord would count.

use crate::support::{Running, config, deliveries, gateway, with};
use galatea_core::{Clock, Content, Health, Outgoing, Timestamp};
use galatea_testkit::{
    clock::ManualClock,
    connector_suite::RecordingGateway,
    discord::{DiscordApi, Effect, Fault, Options},
};
use std::{sync::Arc, time::Duration};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A Discord, and a manual clock for the bot.
async fn stage() -> (DiscordApi, ManualClock) {
    let api = DiscordApi::with(Options { own_time: true, ..Options::default() }).await;
    // Starts at the machine's time: Discord's ids contain it, and messages older than a day are not
    // read.
    (api, ManualClock::at(galatea_core::SystemClock.now()))
}

fn start(api: &DiscordApi, gateway: &Arc<RecordingGateway>, clock: &ManualClock) -> Running {
    with(config(api), gateway.clone(), clock.shared())
}

/// Advances the clock from sleep to sleep until `until`. Tasks that need no sleep run in between.
async fn pass(clock: &ManualClock, until: Timestamp) {
    while clock.now() < until {
        if tokio::time::timeout(Duration::from_millis(500), clock.wait_for_sleepers(1))
            .await
            .is_ok()
        {
            clock.advance_to_next();
        } else {
            // No task sleeps: the connector has ended or is busy.
            clock.advance(Duration::from_secs(1));
        }
        tokio::task::yield_now().await;
    }
}

async fn texts(running: &Running, count: usize) -> Vec<String> {
    running.heard(count).await.into_iter().map(|m| m.content.text).collect()
}

#[tokio::test]
async fn after_an_hour_in_which_nothing_could_be_reached_it_goes_on_with_its_session() {
    let (api, clock) = stage().await;
    let ann = api.user("Ann", "ann_b");
    let gateway = gateway();
    let running = start(&api, &gateway, &clock);
    api.wait_connected(1).await;
    ann.says(&ann.direct(), "before").send();
    texts(&running, 1).await;
    api.set_reachable(false);
    running
        .until("it to notice", |g| {
            matches!(g.health().last(), Some(Health::Retrying { .. })).then_some(())
        })
        .await;
    for n in 0..6 {
        ann.says(&ann.direct(), &format!("in the outage {n}")).send();
    }
    pass(&clock, clock.now().plus(HOUR)).await;
    assert_eq!((api.identified(), api.resumed(), api.invalid_calls()), (1, 0, 0));
    api.set_reachable(true);
    // Advance only until it is connected. After that, a clock that runs ahead would demand
    // heartbeats faster than sockets carry them.
    while api.connected() == 0 {
        if clock.sleepers() > 0 && api.connected() == 0 {
            clock.advance(Duration::from_secs(1));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let heard = texts(&running, 7).await;
    assert_eq!(
        heard,
        [
            "before",
            "in the outage 0",
            "in the outage 1",
            "in the outage 2",
            "in the outage 3",
            "in the outage 4",
            "in the outage 5"
        ]
    );
    assert_eq!(
        (api.identified(), api.invalid_calls()),
        (1, 0),
        "resuming a session needs no IDENTIFY"
    );
    assert!(gateway.gaps().is_empty());
    running.end().await;
}

#[tokio::test]
async fn a_day_of_sessions_that_are_closed_at_once_costs_less_than_fifty() {
    let (api, clock) = stage().await;
    let gateway = gateway();
    api.refuse_sessions(Some(4000));
    let running = start(&api, &gateway, &clock);
    pass(&clock, clock.now().plus(DAY)).await;
    let spent = api.identified();
    assert!((10..=50).contains(&spent), "{spent}");
    assert_eq!(api.invalid_calls(), 0);
    let braked = |h: &Health| matches!(h, Health::Retrying { code: Some(code), .. } if code == "GAL-DC-IDENTIFY");
    assert!(gateway.health().iter().any(braked), "the health report says why it waits");
    running.kill().await;
}

#[tokio::test]
async fn a_day_of_crashes_costs_less_than_fifty() {
    let (api, clock) = stage().await;
    let gateway = gateway();
    // Closed without READY, so that there is never a session to resume.
    api.refuse_sessions(Some(1006));
    let end = clock.now().plus(DAY);
    let mut processes = 0;
    while clock.now() < end {
        let before = api.identified();
        let running = start(&api, &gateway, &clock);
        processes += 1;
        // A run that failed to start is started again, as a supervisor does.
        while api.identified() == before && clock.now() < end && !running.task.is_finished() {
            pass(&clock, clock.now().plus(Duration::from_millis(1))).await;
        }
        running.kill().await;
        // Real time has to pass: the server's limit of 50 calls a second counts by the machine's
        // clock, as Discord's does, and nothing shows that a second is over.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let spent = api.identified();
    assert!((20..=50).contains(&spent) && processes >= 20, "{spent} in {processes} processes");
    let noted: Vec<i64> =
        serde_json::from_value(gateway.stored_state("identify").unwrap()).unwrap();
    assert!(noted.len() >= spent, "stored before IDENTIFY is sent");
}

#[tokio::test]
async fn a_process_that_crashes_again_and_again_resumes() {
    let (api, clock) = stage().await;
    let ann = api.user("Ann", "ann_b");
    let gateway = gateway();
    for n in 0..8 {
        let running = start(&api, &gateway, &clock);
        api.wait_connected(1).await;
        ann.says(&ann.direct(), &format!("{n}")).send();
        texts(&running, n + 1).await;
        running.kill().await;
        api.wait_for("the connection to be gone", |h| (h.connected() == 0).then_some(())).await;
    }
    assert_eq!((api.identified(), api.resumed()), (1, 7), "resuming needs no IDENTIFY");
}

#[tokio::test]
async fn an_hour_in_which_every_call_is_refused_spends_less_than_a_hundredth_of_the_quota() {
    for (status, code) in [(401, 0), (403, 50013)] {
        let (api, clock) = stage().await;
        let ann = api.user("Ann", "ann_b");
        let gateway = gateway();
        let running = start(&api, &gateway, &clock);
        api.wait_connected(1).await;
        let handler = running.handler().await;
        let outgoing = Outgoing::Message { content: Content::text("x"), reply_to: None };
        let before = api.invalid_calls();
        api.fault(
            Fault::new(Effect::Refuse(status, code))
                .on("POST /channels/{}/messages")
                .times(usize::MAX),
        );
        // One send every second, without giving up.
        for _ in 0..3600 {
            let delivery =
                deliveries(&*handler, &ann.direct().id.to_string(), &outgoing).swap_remove(0);
            assert!(handler.send(&delivery).await.is_err());
            clock.advance(Duration::from_secs(1));
        }
        let spent = api.invalid_calls() - before;
        assert!((20..=100).contains(&spent), "{status}: {spent} in an hour");
        running
            .until("the rest to be shown", |g| matches!(g.health().last(), Some(Health::Degraded { reason }) if reason.contains("GAL-DC-GUARD")).then_some(()))
            .await;
        running.kill().await;
    }
}

#[tokio::test]
async fn refusals_are_counted_across_processes() {
    let (api, clock) = stage().await;
    let ann = api.user("Ann", "ann_b");
    let gateway = gateway();
    // Earlier processes have almost used up the limit.
    let refused =
        serde_json::json!({ "times": [[clock.now().0, 4_990]], "in_a_row": 0, "until": 0 });
    gateway.put_state("refused", refused);
    let outgoing = Outgoing::Message { content: Content::text("x"), reply_to: None };
    let running = start(&api, &gateway, &clock);
    api.wait_connected(1).await;
    let handler = running.handler().await;
    api.fault(
        Fault::new(Effect::Refuse(403, 50013)).on("POST /channels/{}/messages").times(usize::MAX),
    );
    let mut codes = Vec::new();
    for _ in 0..15 {
        let delivery =
            deliveries(&*handler, &ann.direct().id.to_string(), &outgoing).swap_remove(0);
        codes.push(handler.send(&delivery).await.unwrap_err().code() == Some("GAL-DC-GUARD"));
    }
    assert_eq!(
        (codes.iter().position(|held| *held), api.invalid_calls()),
        (Some(10), 10),
        "{codes:?}"
    );
    running
        .until("the last to be kept", |g| {
            g.stored_state("refused").filter(|state| kept(state) == 5_000)
        })
        .await;
    running.kill().await;
    // The next process makes no call and reports why.
    let before = api.calls().len();
    assert_eq!(start(&api, &gateway, &clock).failure().await.code(), Some("GAL-DC-GUARD"));
    assert_eq!(api.calls().len(), before);
    clock.advance(Duration::from_secs(600));
    let running = start(&api, &gateway, &clock);
    running
        .until("it to be up again", |g| {
            matches!(g.health().last(), Some(Health::Up { .. })).then_some(())
        })
        .await;
    running.kill().await;
}

fn kept(kept: &serde_json::Value) -> u64 {
    kept["times"].as_array().unwrap().iter().map(|entry| entry[1].as_u64().unwrap()).sum()
}

//! Tests of a gateway that falls silent, at every step: the connector notices, reports it and
//! recovers, and no message is lost.

use crate::support::{Running, config, start};
use galatea_core::Health;
use galatea_discord::Patience;
use galatea_testkit::discord::{DiscordApi, Handle, Options, Order, Silent, User};
use std::time::Duration;

/// Short, so that a test need not wait; long enough for a gateway that answers on a machine that stands
/// still for a moment.
fn patience() -> Patience {
    let seconds = Duration::from_secs;
    Patience { greeting: seconds(3), beginning: seconds(3), quiet: seconds(4), answer: seconds(3) }
}

fn at_work(api: &Handle) -> Running {
    let mut config = config(api);
    config.patience = patience();
    start(config)
}

async fn stage() -> (DiscordApi, User) {
    stage_with(Options::default()).await
}

async fn stage_with(options: Options) -> (DiscordApi, User) {
    // No limit on session starts, because silences cause many.
    let api = DiscordApi::with(Options { own_time: true, ..options }).await;
    let ann = api.user("Ann", "ann_b");
    api.guild("Garden", &[&ann]);
    (api, ann)
}

async fn hears(running: &Running, ann: &User, before: usize) {
    ann.says(&ann.direct(), "still there?").send();
    assert_eq!(running.heard(before + 1).await[before].content.text, "still there?");
}

fn is_up(health: &Health) -> bool {
    matches!(health, Health::Up { .. } | Health::Degraded { .. })
}

/// The reported health, as up or not up, without repetitions.
fn ups(running: &Running) -> Vec<bool> {
    let mut ups: Vec<bool> = running.gateway.health().iter().map(is_up).collect();
    ups.dedup();
    ups
}

#[tokio::test]
async fn a_gateway_that_does_not_greet_is_left_and_shown() {
    let (api, ann) = stage().await;
    api.silence(&[Silent::Hello]);
    let running = at_work(&api);
    api.wait_connected(1).await;
    hears(&running, &ann, 0).await;
    let reported = |h: &Health| matches!(h, Health::Retrying { code: Some(code), .. } if code == "GAL-DC-CONNECT");
    assert!(running.gateway.health().iter().any(reported), "{:?}", running.gateway.health());
    assert_eq!((api.identified(), api.silences_left()), (1, 0));
}

#[tokio::test]
async fn an_identify_without_ready_is_not_up_and_is_made_again() {
    let (api, ann) = stage().await;
    api.silence(&[Silent::Ready]);
    let running = at_work(&api);
    api.wait_for("the identify", |h| (h.identified() == 1).then_some(())).await;
    assert!(!running.gateway.health().iter().any(is_up), "up before READY");
    let reported = running.until("why it is not up", |g| {
        g.health().iter().find_map(|h| {
            if let Health::Retrying { reason, code } = h {
                Some((reason.clone(), code.clone()))
            } else {
                None
            }
        })
    });
    let (reason, code) = reported.await;
    assert!(reason.contains("READY") && code.as_deref() == Some("GAL-DC-CONNECT"), "{reason}");
    api.wait_connected(1).await;
    hears(&running, &ann, 0).await;
    assert_eq!((api.identified(), api.silences_left()), (2, 0));
    assert_eq!(ups(&running), [false, true]);
}

#[tokio::test]
async fn a_resume_without_resumed_is_not_up_and_a_new_session_reads_what_was_missed() {
    // Heartbeats fall within the silence.
    let heartbeat = Duration::from_secs(1);
    let (api, ann) = stage_with(Options { heartbeat, ..Options::default() }).await;
    let running = at_work(&api);
    api.wait_connected(1).await;
    hears(&running, &ann, 0).await;
    api.silence(&[Silent::Resumed]);
    api.order(Order::Reconnect);
    running
        .until("it to be shown", |g| g.health().last().is_some_and(|h| !is_up(h)).then_some(()))
        .await;
    ann.says(&ann.direct(), "in the silence").send();
    let heard = running.heard(2).await;
    assert_eq!(heard[1].content.text, "in the silence");
    hears(&running, &ann, 2).await;
    assert_eq!(
        (api.identified(), api.silences_left()),
        (2, 0),
        "a session without RESUMED is given up"
    );
    assert_eq!(ups(&running), [true, false, true]);
}

#[tokio::test]
async fn a_resumed_session_without_events_is_asked_resumed_again_and_then_given_up() {
    let (api, ann) = stage().await;
    let running = at_work(&api);
    api.wait_connected(1).await;
    hears(&running, &ann, 0).await;
    api.silence(&[Silent::Events, Silent::Events]);
    api.order(Order::Reconnect);
    api.wait_for("the first silence", |h| (h.silences_left() == 1).then_some(())).await;
    ann.says(&ann.direct(), "in the silence").send();
    assert_eq!(running.heard(2).await[1].content.text, "in the silence");
    assert_eq!(
        (api.identified(), api.silences_left()),
        (2, 0),
        "resuming is tried first, because it needs no IDENTIFY"
    );
    assert!(api.resumed() >= 2 && api.member_requests() >= 2);
    hears(&running, &ann, 2).await;
}

/// A quiet session is not a fault: the gateway answers the probe, and the session continues.
#[tokio::test]
async fn a_session_in_which_nothing_happens_is_asked_and_kept() {
    let (api, ann) = stage().await;
    let running = at_work(&api);
    api.wait_connected(1).await;
    api.wait_for("two questions", |h| (h.member_requests() >= 2).then_some(())).await;
    hears(&running, &ann, 0).await;
    assert_eq!((api.identified(), api.resumed()), (1, 0));
    assert_eq!(ups(&running), [true]);
}

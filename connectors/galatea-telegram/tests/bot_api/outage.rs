//! An hour without Telegram, and what Telegram did not keep. The bot's clock is the test's; sockets and calls are real.

use galatea_core::{Clock, SystemClock, Timestamp};
use galatea_testkit::{
    clock::ManualClock,
    telegram::{BotApi, Effect, ErrorBody, Fault},
};
use std::time::Duration;

use super::support::{config, gateway, with};

const HOUR: Duration = Duration::from_secs(3600);

/// Lets time pass from wait to wait until then.
async fn pass(clock: &ManualClock, until: Timestamp) {
    while clock.now() < until {
        if tokio::time::timeout(Duration::from_millis(500), clock.wait_for_sleepers(1)).await.is_ok() {
            clock.advance_to_next();
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn after_an_hour_of_faults_everything_is_heard_once_in_order() {
    let api = BotApi::start().await;
    let clock = ManualClock::at(SystemClock.now());
    let ann = api.user("Ann", "ann_b");
    let running = with(config(&api), gateway(), clock.shared());
    ann.says(&ann.direct(), "0").send();
    running.heard(1).await;
    api.wait_confirmed().await;
    let polls = api.calls_of("getUpdates").len();
    api.fault(Fault::new(Effect::ServerError(502, ErrorBody::Html)).on("getUpdates").times(30));
    api.fault(Fault::new(Effect::ServerError(500, ErrorBody::Json)).on("getUpdates").times(30));
    api.fault(Fault::new(Effect::Garbage).on("getUpdates").times(30));
    api.fault(Fault::new(Effect::CutAfter(20)).on("getUpdates").times(30));
    let end = clock.now().plus(HOUR);
    for n in 1..=30 {
        ann.says(&ann.direct(), &n.to_string()).send();
    }
    api.wait_for("the faults to be met", |h| (h.calls_of("getUpdates").len() > polls).then_some(())).await;
    while clock.now() < end {
        if api.calls_of("getUpdates").len() >= polls + 119 {
            api.set_reachable(false);
        }
        pass(&clock, clock.now().plus(Duration::from_secs(1))).await;
    }
    let asked = api.calls_of("getUpdates").len() - polls;
    assert!((100..1200).contains(&asked), "{asked} polls in an hour of faults");
    api.set_reachable(true);
    let back = async {
        while running.gateway.messages().len() < 31 {
            pass(&clock, clock.now().plus(Duration::from_secs(1))).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), back).await.unwrap();
    let heard: Vec<String> = running.heard(31).await.into_iter().map(|m| m.content.text).collect();
    assert_eq!(heard, (0..=30).map(|n| n.to_string()).collect::<Vec<_>>());
    assert!(running.gateway.gaps().is_empty(), "{:?}", running.gateway.gaps());
    running.kill().await;
}

#[tokio::test]
async fn updates_that_telegram_dropped_are_a_gap() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let clock = ManualClock::at(SystemClock.now());
    let running = with(config(&api), gateway(), clock.shared());
    ann.says(&ann.direct(), "one").send();
    running.heard(1).await;
    api.wait_confirmed().await;
    let gateway = running.end().await;
    for _ in 0..3 {
        ann.says(&ann.direct(), "dropped").send();
    }
    api.expire_updates();
    clock.advance(Duration::from_secs(30 * 3600));
    ann.says(&ann.direct(), "two").send();
    let running = with(config(&api), gateway, clock.shared());
    assert_eq!(running.heard(2).await[1].content.text, "two");
    let gaps = running.gateway.gaps();
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert_eq!(gaps[0].count, Some(3));
    assert!(gaps[0].from.is_some() && gaps[0].to.is_some() && gaps[0].reason.contains("24 hours"), "{gaps:?}");
    let gateway = running.end().await;
    // Another row of numbers within a day is none.
    api.jump_update_id(5);
    ann.says(&ann.direct(), "three").send();
    let running = with(config(&api), gateway, clock.shared());
    running.heard(3).await;
    assert_eq!(running.gateway.gaps().len(), 1);
    running.end().await;
}

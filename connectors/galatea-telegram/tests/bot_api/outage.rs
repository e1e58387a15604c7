//! Tests of an hour without Telegram and of updates that Telegram dropped. The clock is manual;
//! sockets and calls are real.

use galatea_core::{Clock, Health, SystemClock};
use galatea_testkit::{
    clock::ManualClock,
    connector_suite::running::patient,
    telegram::{BotApi, Effect, ErrorBody, Fault},
};
use std::time::Duration;

use super::support::{config, gateway, with};

/// Advances the clock from sleep to sleep for this long and counts the sleeps. At the end no call
/// is in flight. Works only while every call fails, because a successful call is not followed by a
/// sleep.
async fn waits_in(clock: &ManualClock, long: Duration) -> u32 {
    let (end, mut waits) = (clock.now().plus(long), 0);
    while clock.now() < end {
        clock.wait_for_sleepers(1).await;
        clock.advance_to_next();
        waits += 1;
    }
    clock.wait_for_sleepers(1).await;
    waits
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

    // This also ends the open poll, which would otherwise return the first message.
    api.set_reachable(false);
    running
        .until("it to notice", |g| {
            matches!(g.health().last(), Some(Health::Retrying { .. })).then_some(())
        })
        .await;
    for n in 1..=30 {
        ann.says(&ann.direct(), &n.to_string()).send();
    }
    const PART: Duration = Duration::from_secs(12 * 60);
    let (begun, before) = (clock.now(), api.calls_of("getUpdates").len());
    let mut tries = patient("twelve minutes without a connection", waits_in(&clock, PART)).await;
    for effect in [
        Effect::ServerError(502, ErrorBody::Html),
        Effect::ServerError(500, ErrorBody::Json),
        Effect::Garbage,
        Effect::CutAfter(20),
    ] {
        api.end_faults();
        api.fault(Fault::new(effect).on("getUpdates").times(usize::MAX));
        api.set_reachable(true);
        tries += patient("twelve minutes of faults", waits_in(&clock, PART)).await;
    }
    assert!(clock.now().since(begun) >= Duration::from_secs(3600));
    // 2 s while no server answers (two of the five parts), 15 s once a server has failed for a
    // minute; a quarter more or less.
    assert!((690..=1_200).contains(&tries), "{tries} tries in an hour");
    let asked = api.calls_of("getUpdates").len() - before;
    assert!((400..=750).contains(&asked), "{asked} calls in 48 minutes");
    assert_eq!(running.gateway.messages().len(), 1);

    api.end_faults();
    let back = async {
        loop {
            clock.wait_for_sleepers(1).await;
            clock.advance_to_next();
        }
    };
    let heard = tokio::select! {
        heard = running.heard(31) => heard,
        () = back => unreachable!("it never receives them"),
    };
    api.wait_confirmed().await;
    assert_eq!(
        heard.into_iter().map(|m| m.content.text).collect::<Vec<_>>(),
        (0..=30).map(|n| n.to_string()).collect::<Vec<_>>()
    );
    assert_eq!((running.gateway.messages().len(), running.gateway.duplicates()), (31, 0));
    assert!(running.gateway.gaps().is_empty(), "{:?}", running.gateway.gaps());
    assert!(
        matches!(running.gateway.health().last(), Some(Health::Up { .. })),
        "{:?}",
        running.gateway.health()
    );
    running.end().await;
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
    assert!(
        gaps[0].from.is_some() && gaps[0].to.is_some() && gaps[0].reason.contains("24 hours"),
        "{gaps:?}"
    );
    let gateway = running.end().await;
    // Restarted numbers within a day are not a gap.
    api.jump_update_id(5);
    ann.says(&ann.direct(), "three").send();
    let running = with(config(&api), gateway, clock.shared());
    running.heard(3).await;
    assert_eq!(running.gateway.gaps().len(), 1);
    running.end().await;
}

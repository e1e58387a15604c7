//! Tests of an hour without X and of mentions that X does not list any more. The bot's clock is
//! simulated; sockets and calls are real.

use galatea_core::{Clock, SystemClock, Timestamp};
use galatea_testkit::{
    clock::ManualClock,
    x::{Effect, ErrorBody, Fault, Options, XApi},
};
use std::time::Duration;

use super::support::{at, config, gateway};

/// Advances the clock from one sleep to the next until `until`.
async fn pass(clock: &ManualClock, until: Timestamp) {
    while clock.now() < until {
        if tokio::time::timeout(Duration::from_millis(500), clock.wait_for_sleepers(1))
            .await
            .is_ok()
        {
            clock.advance_to_next();
        }
        tokio::task::yield_now().await;
    }
}

async fn stage() -> (XApi, ManualClock) {
    let clock = ManualClock::at(SystemClock.now());
    (XApi::with(Options { clock: clock.shared(), ..Options::default() }).await, clock)
}

#[tokio::test]
async fn after_an_hour_of_503_everything_is_heard_once_in_order() {
    let (api, clock) = stage().await;
    let ann = api.user("Ann", "ann_b");
    let (folder, gateway) = (tempfile::tempdir().unwrap(), gateway());
    let mut config = config(&api);
    config.poll.slowest = Duration::from_secs(60);
    config.poll.fastest = Duration::from_secs(60);
    let running = at(config, folder.path(), &gateway, clock.shared());
    ann.posts("@galatea_test 0");
    pass_until(&clock, || gateway.messages().len() == 1).await;
    api.fault(
        Fault::new(Effect::ServerError(503, ErrorBody::Html))
            .on("GET /2/users/:id/mentions")
            .times(usize::MAX),
    );
    let (begun, before) = (clock.now(), api.calls_of("GET /2/users/:id/mentions").len());
    for n in 1..=30 {
        ann.posts(&format!("@galatea_test {n}"));
        pass(&clock, clock.now().plus(Duration::from_secs(120))).await;
    }
    assert!(clock.now().since(begun) >= Duration::from_secs(3600));
    let asked = api.calls_of("GET /2/users/:id/mentions").len() - before;
    assert!((20..=90).contains(&asked), "{asked} looks in an hour");
    api.end_faults();
    pass_until(&clock, || gateway.messages().len() == 31).await;
    let heard: Vec<String> = running.heard(31).await.into_iter().map(|m| m.content.text).collect();
    assert!(
        (0..=30)
            .zip(&heard)
            .all(|(n, text)| text.ends_with(&format!(" {n}")) || text == &n.to_string()),
        "{heard:?}"
    );
    assert!(gateway.gaps().is_empty());
    running.kill().await;
}

async fn pass_until(clock: &ManualClock, enough: impl Fn() -> bool) {
    let waiting = async {
        while !enough() {
            pass(clock, clock.now().plus(Duration::from_secs(1))).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap();
}

#[tokio::test]
async fn mentions_beyond_what_x_lists_are_a_gap() {
    let (api, clock) = stage().await;
    let ann = api.user("Ann", "ann_b");
    let (folder, gateway) = (tempfile::tempdir().unwrap(), gateway());
    let running = at(config(&api), folder.path(), &gateway, clock.shared());
    ann.posts("@galatea_test 0");
    pass_until(&clock, || gateway.messages().len() == 1).await;
    running.end().await;
    clock.advance(Duration::from_secs(3600));
    for n in 1..=820 {
        ann.posts(&format!("@galatea_test {n}"));
        clock.advance(Duration::from_millis(10));
    }
    let running = at(config(&api), folder.path(), &gateway, clock.shared());
    pass_until(&clock, || gateway.messages().len() >= 801).await;
    let gaps = gateway.gaps();
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert!(gaps[0].from < gaps[0].to && gaps[0].reason.contains("800"), "{gaps:?}");
    running.kill().await;
}

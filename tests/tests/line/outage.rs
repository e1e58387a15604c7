//! An hour without the platform, on the test's clock: the whole line between a scripted platform
//! and the store.

use galatea_core::{Clock, Timestamp, store::OutboxState};
use galatea_testkit::clock::ManualClock;
use std::{collections::HashMap, sync::Arc, time::Duration};

use crate::{
    house::{House, Plan, dm},
    models::echo,
    platform::{Doing, PATIENCE, Platform},
};

const MINUTE: Duration = Duration::from_secs(60);
const TTL: Duration = Duration::from_secs(10 * 60);
const ROOMS: [&str; 5] = ["7", "8", "9", "10", "11"];

/// Advances the clock in steps. Between two steps all work that is ready runs: then no turn is
/// under way, and each Room with something to send waits for its next attempt.
async fn pass(house: &House, clock: &ManualClock, time: Duration) {
    let end = clock.now().plus(time);
    while clock.now() < end {
        let rests = async {
            loop {
                let (turns, sends) = house.orchestrator.active_lanes();
                if turns == 0 && clock.sleepers() >= sends {
                    return sends;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let sends = tokio::time::timeout(PATIENCE, rests).await.expect("its work never rests");
        let left = end.since(clock.now());
        // Never beyond `end`, because the next messages are sent then.
        clock.advance(if sends == 0 { left } else { left.min(Duration::from_secs(1)) });
    }
}

/// Sends one message per minute in every room, for an hour of outage and some minutes after it.
/// Returns the time of each message by its answer.
async fn hour(house: &House, clock: &ManualClock, down: Vec<Doing>) -> HashMap<String, Timestamp> {
    let mut said = HashMap::new();
    house.platform.outage(down);
    for minute in 0..70 {
        if minute == 60 {
            house.platform.outage([]);
        }
        for room in ROOMS {
            let text = format!("{room}.{minute}");
            house.say(&dm(room), &text).await;
            said.insert(format!("re: {text}"), clock.now());
        }
        pass(house, clock, MINUTE).await;
    }
    pass(house, clock, TTL).await;
    house.quiet().await;
    said
}

async fn nothing_is_late_lost_or_out_of_order(down: Vec<Doing>) {
    let clock = ManualClock::new();
    let platform = Platform::new("1000");
    platform.dated(clock.shared());
    let plan = Plan::new(echo())
        .on(Arc::clone(&platform))
        .clock(clock.shared())
        .set("BUSY_POLICY", "each")
        .set("ANSWER_TTL_MINUTES", "10");
    let house = plan.build().await;
    let said = hour(&house, &clock, down.clone()).await;
    let shown = platform.shown();
    for one in &shown {
        let age = one.at.unwrap().since(said[&one.text]);
        assert!(age <= TTL, "{} was said {age:?} after the question ({down:?})", one.text);
    }
    let mut heard = 0;
    for room in ROOMS {
        let minutes: Vec<u32> = platform
            .texts(room)
            .iter()
            .map(|t| t.rsplit_once('.').unwrap().1.parse().unwrap())
            .collect();
        assert!(
            minutes.is_sorted_by(|a, b| a < b),
            "in order, and none twice, in {room}: {minutes:?} ({down:?})"
        );
        assert!(
            (60..70).all(|minute| minutes.contains(&minute)),
            "everything since the outage, in {room}: {minutes:?} ({down:?})"
        );
        assert!(
            minutes.iter().filter(|m| **m < 60).count() >= 3,
            "what was new enough when it ended, in {room}: {minutes:?} ({down:?})"
        );
        heard += minutes.len();
    }
    let line = house.store.audit().await.unwrap().remove(0);
    assert!(
        line.balances() && line.received == 350 && line.answering == 0 && line.pending == 0,
        "{line:?}"
    );
    assert_eq!(
        (line.answered, line.undelivered),
        (heard as u64, 350 - heard as u64),
        "{line:?} ({down:?})"
    );
    let parts = house.store.exceptions(400).await.unwrap().parts;
    assert_eq!(parts.len(), 350 - heard);
    for part in &parts {
        assert!(part.error.as_deref().is_some_and(|why| !why.is_empty()), "{part:?}");
        assert!(
            matches!(part.state, OutboxState::Expired | OutboxState::Dead | OutboxState::Ambiguous),
            "{part:?}"
        );
    }
    let expired = parts.iter().filter(|p| p.state == OutboxState::Expired).count();
    assert!(
        expired * 10 >= parts.len() * 9,
        "{expired} of {} ran out of time ({down:?})",
        parts.len()
    );
    // Few attempts in vain: less than one in a second and a half over the hour.
    let asked = platform.attempts() + platform.finds() - heard;
    assert!(asked < 2_400, "{asked} attempts in vain ({down:?})");
}

#[tokio::test]
async fn an_hour_without_the_platform() {
    nothing_is_late_lost_or_out_of_order(vec![Doing::Unavailable]).await;
}

#[tokio::test]
async fn an_hour_of_answers_that_never_come_and_refused_connections() {
    nothing_is_late_lost_or_out_of_order(vec![
        Doing::LostBefore,
        Doing::Unavailable,
        Doing::Unavailable,
    ])
    .await;
}

#[tokio::test]
async fn an_hour_of_floods() {
    nothing_is_late_lost_or_out_of_order(vec![
        Doing::Flood(Duration::from_secs(30)),
        Doing::Flood(Duration::from_secs(3)),
    ])
    .await;
}

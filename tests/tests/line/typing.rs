//! Typing is shown until the answer is there, and whatever becomes of it delays no answer.

use galatea_testkit::clock::ManualClock;
use std::{sync::Arc, time::Duration};

use crate::{
    house::{House, Plan, dm},
    models::{Gated, echo},
    platform::{Doing, Platform},
};

/// A house whose model is thinking, and typing was shown once.
async fn thinking(typing: Option<Doing>) -> (House, Arc<Platform>, Arc<Gated>, ManualClock) {
    let clock = ManualClock::new();
    let platform = Platform::with("1000", |able| able.typing = true);
    if let Some(typing) = typing {
        platform.typing_does(typing);
    }
    let model = Gated::new(echo(), "slowly");
    let plan = Plan::new(Arc::clone(&model) as _).clock(clock.shared());
    let house = plan.on(Arc::clone(&platform)).build().await;
    house.say(&dm("7"), "slowly").await;
    model.reached(1).await;
    clock.wait_for_sleepers(1).await;
    clock.advance(Duration::from_millis(399));
    assert_eq!(platform.typed().len(), 0, "quick answers need none");
    clock.advance(Duration::from_millis(1));
    platform.until("typing", |p| p.typed().len() == 1).await;
    (house, platform, model, clock)
}

#[tokio::test]
async fn typing_is_shown_again_until_the_answer_is_there() {
    let (house, platform, model, clock) = thinking(None).await;
    for times in 2..5 {
        clock.wait_for_sleepers(1).await;
        clock.advance(Duration::from_secs(4));
        platform.until("typing again", |p| p.typed().len() == times).await;
    }
    model.open(1);
    platform.until_shown("7", 1).await;
    house.quiet().await;
    clock.advance(Duration::from_secs(60));
    house.quiet().await;
    assert_eq!(platform.typed().len(), 4);
}

#[tokio::test]
async fn typing_that_fails_crashes_or_hangs_delays_no_answer_and_is_not_tried_again() {
    for doing in [Doing::Never, Doing::Panic, Doing::Hang] {
        let (house, platform, model, clock) = thinking(Some(doing)).await;
        clock.advance(Duration::from_secs(4));
        // Time for another call, if there were one.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        model.open(1);
        assert_eq!(platform.until_shown("7", 1).await, ["re: slowly"]);
        house.quiet().await;
        assert_eq!(platform.typed().len(), 1);
    }
}

/// A call that fails is no reason to leave out the rest; three in a row are.
#[tokio::test]
async fn one_failed_call_does_not_end_typing() {
    let (house, platform, model, clock) = thinking(Some(Doing::Unavailable)).await;
    let again = async |times: usize| {
        clock.wait_for_sleepers(1).await;
        clock.advance(Duration::from_secs(4));
        platform.until("typing again", |p| p.typed().len() == times).await;
    };
    again(2).await;
    platform.typing_works();
    again(3).await;
    platform.typing_does(Doing::Unavailable);
    for times in 4..7 {
        again(times).await;
    }
    // The third in a row was the last.
    clock.advance(Duration::from_secs(60));
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    model.open(1);
    assert_eq!(platform.until_shown("7", 1).await, ["re: slowly"]);
    house.quiet().await;
    assert_eq!(platform.typed().len(), 6);
}

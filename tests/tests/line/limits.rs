//! Rate limits of a platform, and the priority of sends while they last.

use galatea_core::{ChannelType, Clock, MemoryId, Outgoing, RemoteId, store::OutboxState};
use galatea_runtime::explain::Explanation;
use galatea_store::{Database, SqliteOptions};
use galatea_testkit::clock::ManualClock;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::runtime::Runtime;

use crate::{
    house::{House, Plan, Spot, dm},
    models::{Gated, echo},
    platform::{Doing, Platform},
};

fn reaction() -> Outgoing {
    Outgoing::React { id: RemoteId::new("1"), emoji: Some("+".into()) }
}

#[tokio::test]
async fn a_rate_limited_reaction_does_not_delay_an_answer() {
    let clock = ManualClock::new();
    let house = Plan::new(echo()).clock(clock.shared()).build().await;
    house.say(&dm("7"), "first").await;
    house.platform.until_shown("7", 1).await;
    house.quiet().await;
    house.platform.does("7", [Doing::Flood(Duration::from_secs(40))]);
    house.does(&dm("7"), reaction()).await;
    house.platform.until("the reaction's attempt", |p| p.attempts() == 2).await;
    clock.wait_for_sleepers(1).await;
    house.say(&dm("7"), "second").await;
    assert_eq!(
        house.platform.until_shown("7", 2).await,
        ["re: first", "re: second"],
        "no time has passed"
    );
    clock.wait_for_sleepers(1).await;
    clock.advance(Duration::from_secs(40));
    assert_eq!(house.platform.until_shown("7", 3).await[2], "+");
    house.quiet().await;
}

#[tokio::test]
async fn an_answer_that_waits_is_not_overtaken_and_typing_is_left_out() {
    let clock = ManualClock::new();
    let platform = Platform::with("1000", |able| able.typing = true);
    let model = Gated::new(echo(), "slowly");
    let house = Plan::new(Arc::clone(&model) as _)
        .clock(clock.shared())
        .on(Arc::clone(&platform))
        .build()
        .await;
    platform.does("7", [Doing::Flood(Duration::from_secs(40))]);
    house.say(&dm("7"), "first").await;
    platform.until("the first attempt", |p| p.attempts() == 1).await;
    house.does(&dm("7"), reaction()).await;
    for (n, person) in ["7", "8"].into_iter().enumerate() {
        house.say(&dm(person), "slowly").await;
        model.reached(n + 1).await;
    }
    // Three sleeps: the answer's rate limit, and the delay before typing is shown in two rooms.
    clock.wait_for_sleepers(3).await;
    clock.advance(Duration::from_secs(1));
    platform.until("typing elsewhere", |p| !p.typed().is_empty()).await;
    assert_eq!(platform.typed(), ["8"]);
    clock.advance(Duration::from_secs(39));
    platform.until_shown("7", 1).await;
    model.open(2);
    // Sends of lower priority start a little later, so one may have to wait again.
    while platform.texts("7").len() < 3 {
        tokio::task::yield_now().await;
        clock.advance_to_next();
    }
    assert_eq!(platform.texts("7")[0], "re: first");
    house.quiet().await;
}

/// Waits until it is stored when the answer to a message will be sent.
async fn held(house: &House, id: MemoryId) -> Explanation {
    let held = async {
        loop {
            let explained = house.explain(id).await;
            if explained.deliveries.first().is_some_and(|d| d.waits_until.is_some()) {
                return explained;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::platform::PATIENCE, held).await.unwrap()
}

/// A topic of a chat: a Room in its World.
fn topic(world: &'static str, room: &'static str) -> Spot {
    Spot { world, room, kind: ChannelType::Thread, ..dm("7") }.mentioning()
}

#[tokio::test]
async fn a_worlds_rate_limit_holds_all_of_its_rooms_and_no_other() {
    let clock = ManualClock::new();
    let house = Plan::new(echo()).clock(clock.shared()).build().await;
    let platform = &house.platform;
    let (first, second) = (topic("w", "w:1"), topic("w", "w:2"));
    platform.does("w:1", [Doing::FloodWorld(Duration::from_secs(40))]);
    for (n, spot) in [&first, &second].into_iter().enumerate() {
        let id = house.say(spot, &n.to_string()).await;
        held(&house, id).await;
    }
    assert_eq!(platform.attempts(), 1, "the platform is not asked again for the world");
    house.say(&topic("other", "other:1"), "elsewhere").await;
    platform.until_shown("other:1", 1).await;
    clock.wait_for_sleepers(2).await;
    clock.advance(Duration::from_millis(39_999));
    assert_eq!((clock.sleepers(), platform.attempts()), (2, 2), "still waiting");
    clock.advance(Duration::from_millis(1));
    assert_eq!(platform.until_shown("w:1", 1).await, ["re: 0"]);
    assert_eq!(platform.until_shown("w:2", 1).await, ["re: 1"]);
    house.quiet().await;
}

async fn house_on(file: &Path, clock: &ManualClock, platform: &Arc<Platform>) -> House {
    let store = Database::sqlite(file, SqliteOptions::default()).await.unwrap();
    Plan::new(echo()).clock(clock.shared()).store(&store).on(Arc::clone(platform)).build().await
}

#[test]
fn an_accounts_rate_limit_holds_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (file, platform, clock) =
        (folder.path().join("a.db"), Platform::new("1000"), ManualClock::new());
    let told_at = clock.now();
    platform.does("7", [Doing::FloodAll(Duration::from_secs(300))]);
    let run = Runtime::new().unwrap();
    run.block_on(async {
        let house = house_on(&file, &clock, &platform).await;
        let id = house.say(&dm("7"), "first").await;
        platform.until("the first attempt", |p| p.attempts() == 1).await;
        held(&house, id).await;
    });
    run.shutdown_background();
    platform.unplug();
    let clock = ManualClock::at(told_at.plus(Duration::from_secs(100)));
    Runtime::new().unwrap().block_on(async {
        let house = house_on(&file, &clock, &platform).await;
        // Another room, whose answer has not been sent to the platform yet.
        let id = house.say(&dm("8"), "second").await;
        let held = held(&house, id).await;
        assert_eq!(
            (held.deliveries[0].state, held.deliveries[0].waits_until),
            (OutboxState::Pending, Some(told_at.plus(Duration::from_secs(300))))
        );
        assert_eq!(platform.attempts(), 1, "the platform is not asked again");
        clock.wait_for_sleepers(2).await;
        clock.advance(Duration::from_secs(200));
        platform.until_shown("8", 1).await;
        platform.until_shown("7", 1).await;
        house.quiet().await;
    });
}

/// A flood wait of two hours: the first answer says so, the next question costs no model call, and
/// after the wait questions are answered.
#[tokio::test]
async fn a_wait_longer_than_an_answer_may_is_said_at_once() {
    for flood in [Doing::Flood, Doing::FloodWorld, Doing::FloodAll] {
        let clock = ManualClock::new();
        let model = echo();
        let house = Plan::new(Arc::clone(&model) as _)
            .set("ANSWER_TTL_MINUTES", "10")
            .clock(clock.shared())
            .build()
            .await;
        house.platform.does("7", [flood(Duration::from_secs(2 * 3600))]);
        let first = house.say(&dm("7"), "first").await;
        house.quiet().await;
        let first = house.explain(first).await;
        assert_eq!(first.deliveries[0].state, OutboxState::Expired);
        let error = first.deliveries[0].error.as_deref().unwrap();
        assert!(error.contains("120 minutes") && error.contains("ANSWER_TTL_MINUTES"), "{error}");
        let waits = house.orchestrator.long_waits();
        assert_eq!(waits.len(), 1);
        assert_eq!(waits[0].1.until, clock.now().plus(Duration::from_secs(2 * 3600)));
        let second = house.say(&dm("7"), "second").await;
        house.quiet().await;
        let second = house.explain(second).await;
        assert!(second.summary.contains("120 minutes"), "{}", second.summary);
        assert!(second.summary.contains("GAL-SEND-WAIT"), "{}", second.summary);
        assert_eq!(model.requests().len(), 1, "no model is asked");
        clock.advance(Duration::from_secs(2 * 3600 - 5 * 60));
        assert!(house.orchestrator.long_waits().is_empty(), "an answer may wait so long");
        clock.advance(Duration::from_secs(5 * 60));
        house.say(&dm("7"), "third").await;
        assert_eq!(house.platform.until_shown("7", 1).await, ["re: third"]);
        house.quiet().await;
    }
}

//! What Telegram did not keep. The bot's clock is the test's; sockets and calls are real.

use galatea_core::{Clock, SystemClock};
use galatea_testkit::{clock::ManualClock, telegram::BotApi};
use std::time::Duration;

use super::support::{config, gateway, with};

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

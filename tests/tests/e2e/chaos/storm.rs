//! Background load of the chaos test: questions in every room, and faults of the platforms.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use galatea_testkit::{
    discord::{self, ErrorBody},
    telegram,
};
use rand::{RngExt as _, rngs::StdRng};

use super::house::House;

/// Most questions that may be unanswered at a time.
const OPEN: usize = 60;
/// Mean pause between two questions and between two faults; each pause is random up to twice this.
/// About one send in six fails. With more faults, some of thousands of sends would fail so often in
/// a row that they become dead, which is correct but not the subject of this test.
const QUESTION: Duration = Duration::from_millis(40);
/// Interval between two counts of unanswered questions.
const COUNT: Duration = Duration::from_secs(1);
const FAULT: Duration = Duration::from_millis(300);

/// Asks questions until it is dropped. One answer in 20 has two parts or more.
pub(crate) async fn questions(house: Arc<House>, mut random: StdRng) {
    let (mut looked, mut room) = (Instant::now(), OPEN);
    loop {
        // Counting is expensive.
        if looked.elapsed() >= COUNT {
            (looked, room) = (Instant::now(), OPEN.saturating_sub(house.open()));
        }
        if room > 0 {
            room -= 1;
            let words = if random.random_ratio(1, 20) { 800 } else { 1 };
            house.ask(random.random_range(0..house.rooms()), words);
        }
        pause(QUESTION, &mut random).await;
    }
}

/// Most scheduled faults per platform. On a busy machine few calls are made; a backlog of faults
/// would then hit every one of the last calls, and the circuit breaker would hold them all back.
const WAITING_FAULTS: usize = 2;

/// Schedules faults until it is dropped. Late calls are applied before a read-back may look for
/// them; a later arrival could not be detected by anyone.
pub(crate) async fn faults(house: Arc<House>, mut random: StdRng) {
    loop {
        if random.random_bool(0.6) {
            on_telegram(&house, &mut random)
        } else {
            on_discord(&house, &mut random)
        }
        pause(FAULT, &mut random).await;
        house.telegram.apply_late();
        house.discord.apply_late();
    }
}

async fn pause(mean: Duration, random: &mut StdRng) {
    tokio::time::sleep(mean.mul_f64(random.random_range(0.0..2.0))).await;
}

fn on_telegram(house: &House, random: &mut StdRng) {
    use telegram::{Effect, Fault};
    let api = &house.telegram;
    if api.waiting_faults() >= WAITING_FAULTS {
        return;
    }
    let effect = match random.random_range(0..8) {
        0 => return api.redeliver(random.random_range(1..10)),
        1 => return api.duplicate_pending(),
        2 => Effect::RateLimited(1),
        3 => Effect::ServerError(502, ErrorBody::Html),
        4 => Effect::ApplyLate,
        5 => Effect::CutAfter(random.random_range(1..300)),
        _ => Effect::LoseResponse,
    };
    api.fault(Fault::new(effect).on("sendMessage"));
}

fn on_discord(house: &House, random: &mut StdRng) {
    use discord::{Effect, Fault};
    let api = &house.discord;
    if api.waiting_faults() >= WAITING_FAULTS {
        return;
    }
    let effect = match random.random_range(0..7) {
        0 => return api.redeliver(),
        1 => Effect::RateLimited(Duration::from_millis(random.random_range(200..1500))),
        2 => Effect::ServerError(502, ErrorBody::Html),
        3 => Effect::ApplyLate,
        4 => Effect::ApplyThenError(500),
        _ => Effect::LoseResponse,
    };
    api.fault(Fault::new(effect).on("POST /channels/{}/messages"));
}

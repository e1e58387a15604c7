//! What goes on all the while: questions in every room, and platforms that misbehave.

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

/// Questions that may be without an answer at a time.
const OPEN: usize = 60;
/// Between two questions, and between two faults: random up to twice this. About one send in six
/// fails: with more, one of thousands would fail as often in a row as makes it dead, which is right
/// and not what is asked here.
const QUESTION: Duration = Duration::from_millis(40);
/// Between two counts of what is open.
const COUNT: Duration = Duration::from_secs(1);
const FAULT: Duration = Duration::from_millis(300);

/// Asks until it is dropped. One answer in 20 takes two parts or more.
pub(crate) async fn questions(house: Arc<House>, mut random: StdRng) {
    let (mut looked, mut room) = (Instant::now(), OPEN);
    loop {
        // Counting takes a while.
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

/// Faults that may wait for a call at each platform. On a busy machine few calls are made; a pile
/// of faults would then meet every one of the last calls, and the breaker would hold them all back.
const WAITING_FAULTS: usize = 2;

/// Orders faults until it is dropped. What is held back is applied before anybody may look for it:
/// later, no one could know.
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

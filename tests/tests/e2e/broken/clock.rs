//! The machine's clock is set while the program runs or is stopped.

use galatea_testkit::{
    machine::Machine,
    telegram::{Effect, Fault},
};
use std::time::Duration;

use super::{sound, until_status};
use crate::{discord, places::Database, stage::Stage};

const HOUR: i64 = 3600;
const JUMPS: [i64; 6] = [HOUR, 0, -HOUR, 0, 400 * 24 * HOUR, 0];

#[tokio::test]
async fn set_forward_and_back_while_it_runs_everything_is_answered_once() {
    let stage = Stage::set().await;
    let machine = Machine::new(stage.home.path());
    let galatea = machine.runs(stage.program()).arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    let direct = stage.ann.direct();
    let mut expected = Vec::new();
    for (n, jump) in JUMPS.into_iter().enumerate() {
        machine.set_clock(jump);
        stage.ann.says(&direct, &format!("Q{n}")).send();
        expected.push(format!("A{n}"));
        assert_eq!(
            stage.wait_text(&direct, &format!("A{n}")).await,
            expected,
            "after {jump} s\n{}",
            galatea.output()
        );
    }
    galatea.wait_for_line("GAL-CLOCK").await;
    stage.telegram.wait_confirmed().await;
    until_status(&stage.program(), true, "ready").await;
    sound(&stage.program(), u64::try_from(JUMPS.len()).unwrap()).await;
}

#[tokio::test]
async fn set_back_while_a_room_waits_it_waits_no_longer() {
    let stage = Stage::set().await;
    let machine = Machine::new(stage.home.path());
    let galatea = machine.runs(stage.program()).arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    let direct = stage.ann.direct();
    stage.telegram.fault(Fault::new(Effect::RateLimited(3)).on("sendMessage"));
    stage.ann.says(&direct, "Q1").send();
    galatea.wait_for_line("GAL-TG-429").await;
    machine.set_clock(-HOUR);
    assert_eq!(stage.wait_text(&direct, "A1").await, ["A1"], "{}", galatea.output());
    stage.ann.says(&direct, "Q2").send();
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"]);
}

/// Waits until the store holds an answer that failed and waits for its next attempt.
async fn until_pending(stage: &Stage) {
    const PENDING: &str =
        "SELECT CAST(count(*) AS text) FROM outbox WHERE state = 'pending' AND error IS NOT NULL";
    let is_pending = async || {
        let rows = Database::open(stage.home.path()).await.rows(PENDING).await;
        rows[0][0] == "1"
    };
    let wait = async {
        while !is_pending().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.expect("no answer waits");
}

#[tokio::test]
async fn set_forward_while_an_answer_waits_it_is_no_older() {
    let stage = Stage::set().await;
    let machine = Machine::new(stage.home.path());
    let galatea =
        machine.runs(stage.program()).env("ANSWER_TTL_MINUTES", "10").arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    let direct = stage.ann.direct();
    let limited = Fault::new(Effect::RateLimited(3)).on("sendMessage");
    stage.telegram.fault(limited.times(usize::MAX));
    stage.ann.says(&direct, "Q1").send();
    galatea.wait_for_line("GAL-TG-429").await;
    // The answer waits from when its row says so.
    until_pending(&stage).await;
    machine.set_clock(HOUR);
    stage.telegram.end_faults();
    assert_eq!(stage.wait_text(&direct, "A1").await, ["A1"], "{}", galatea.output());
}

#[tokio::test]
async fn set_while_it_was_stopped_it_goes_on_all_the_same() {
    for jump in [-HOUR, 400 * 24 * HOUR] {
        let stage = Stage::set().await;
        let machine = Machine::new(stage.home.path());
        let start = || machine.runs(stage.program()).arg("start").spawn();
        let mut galatea = start();
        galatea.wait_for_line("ready in").await;
        let direct = stage.ann.direct();
        stage.ann.says(&direct, "Q1").send();
        stage.wait_text(&direct, "A1").await;
        galatea.kill_9().await;
        machine.set_clock(jump);
        stage.ann.says(&direct, "Q2").send();
        let galatea = start();
        assert_eq!(
            stage.wait_text(&direct, "A2").await,
            ["A1", "A2"],
            "after {jump} s\n{}",
            galatea.output()
        );
        stage.telegram.wait_confirmed().await;
        sound(&stage.program(), 2).await;
    }
}

#[tokio::test]
async fn discord_goes_on_through_jumps_without_a_new_session() {
    let stage = discord::Stage::set().await;
    let machine = Machine::new(stage.home.path());
    let galatea = machine.runs(stage.program()).arg("start").spawn();
    stage.discord.wait_connected(1).await;
    let direct = stage.ann.direct();
    let mut expected = Vec::new();
    for (n, jump) in JUMPS.into_iter().enumerate() {
        machine.set_clock(jump);
        stage.ann.says(&direct, &format!("Q{n}")).send();
        expected.push(format!("A{n}"));
        assert_eq!(
            stage.wait_text(&direct, &format!("A{n}")).await,
            expected,
            "after {jump} s\n{}",
            galatea.output()
        );
    }
    assert_eq!(stage.discord.identified(), 1);
    sound(&stage.program(), u64::try_from(JUMPS.len()).unwrap()).await;
}

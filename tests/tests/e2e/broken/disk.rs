//! The disk is full, cannot flush, or is slow.

use galatea_testkit::{
    machine::Machine,
    port::free_port,
    telegram::{Effect, Fault, Handle},
};
use std::time::Duration;

use super::{all, sound, status, until_status};
use crate::{discord, stage::Stage};

#[tokio::test]
async fn full_while_polling_the_offset_stays() {
    let stage = Stage::set().await;
    let machine = Machine::new(stage.home.path());
    let program = machine.runs(stage.program());
    let galatea = program.clone().arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "A1").await;
    stage.telegram.wait_confirmed().await;
    machine.fill_disk(true);
    stage.ann.says(&direct, "Q2").send();
    galatea.wait_for_line("GAL-DB-FULL").await;
    let polls = stage.telegram.calls_of("getUpdates").len();
    stage
        .telegram
        .wait_for("two more polls", |t| (t.calls_of("getUpdates").len() >= polls + 2).then_some(()))
        .await;
    assert_eq!(
        stage.telegram.pending_updates(),
        1,
        "an update that is not stored is not confirmed"
    );
    until_status(&stage.program(), false, "GAL-DB-FULL").await;
    machine.fill_disk(false);
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"]);
    stage.telegram.wait_confirmed().await;
    until_status(&stage.program(), true, "ready").await;
    sound(&stage.program(), 2).await;
}

#[tokio::test]
async fn full_behind_a_webhook_it_does_not_say_200() {
    let stage = Stage::set().await;
    stage.telegram.allow_violation("https");
    stage.telegram.allow_violation("port");
    let (machine, port) = (Machine::new(stage.home.path()), free_port());
    let program = machine
        .runs(stage.program())
        .env("TELEGRAM_MODE", "webhook")
        .env("TELEGRAM_WEBHOOK_URL", format!("http://127.0.0.1:{port}/hook"))
        .env("TELEGRAM_WEBHOOK_LISTEN", format!("127.0.0.1:{port}"));
    let galatea = program.clone().arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "A1").await;
    stage.telegram.wait_for("the confirmation", |t| (t.pending_updates() == 0).then_some(())).await;
    machine.fill_disk(true);
    stage.ann.says(&direct, "Q2").send();
    galatea.wait_for_line("GAL-DB-FULL").await;
    until_status(&stage.program(), false, "GAL-DB-FULL").await;
    assert_eq!(stage.telegram.pending_updates(), 1);
    machine.fill_disk(false);
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"]);
    until_status(&stage.program(), true, "ready").await;
    sound(&stage.program(), 2).await;
}

#[tokio::test]
async fn full_under_discord_the_sequence_stays() {
    let stage = discord::Stage::set().await;
    let machine = Machine::new(stage.home.path());
    let program = machine.runs(stage.program());
    let mut galatea = program.clone().arg("start").spawn();
    stage.discord.wait_connected(1).await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "A1").await;
    stage.discord.wait_acknowledged().await;
    machine.fill_disk(true);
    stage.ann.says(&direct, "Q2").send();
    galatea.wait_for_line("GAL-DB-FULL").await;
    until_status(&stage.program(), false, "GAL-DB-FULL").await;
    // After a kill, the next process must get the event from Discord again, through the resumed
    // session.
    galatea.kill_9().await;
    machine.fill_disk(false);
    let galatea = program.clone().arg("start").spawn();
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"], "{}", galatea.output());
    assert_eq!((stage.discord.identified(), stage.discord.resumed()), (1, 1));
    machine.fill_disk(true);
    stage.ann.says(&direct, "Q3").send();
    galatea.wait_for_line("GAL-DB-FULL").await;
    machine.fill_disk(false);
    assert_eq!(stage.wait_text(&direct, "A3").await, ["A1", "A2", "A3"]);
    until_status(&stage.program(), true, "ready").await;
    sound(&stage.program(), 3).await;
}

#[tokio::test]
async fn full_while_answering_nothing_is_lost_or_said_twice() {
    let stage = Stage::set().await;
    let machine = Machine::new(stage.home.path());
    let program = machine.runs(stage.program());
    let galatea = program.clone().arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    let people: Vec<_> = (0..8).map(|n| stage.telegram.user(&format!("Person {n}"), "")).collect();
    for round in 0..4 {
        for (n, person) in people.iter().enumerate() {
            person.says(&person.direct(), &format!("Q{}", round * 10 + n)).send();
        }
        // The disk fills up while answers are in flight: those of this round, and those of the last
        // round that wait for their next attempt.
        machine.fill_disk(true);
        until_status(&stage.program(), false, "GAL-DB-FULL").await;
        machine.fill_disk(false);
        until_status(&stage.program(), true, "ready").await;
    }
    for (n, person) in people.iter().enumerate() {
        let said = stage.wait_text(&person.direct(), &format!("A{}", 30 + n)).await;
        let expected: Vec<_> = (0..4).map(|round| format!("A{}", round * 10 + n)).collect();
        assert_eq!(said, expected, "{}", galatea.output());
    }
    until_status(&stage.program(), true, "ready").await;
    sound(&stage.program(), 32).await;
}

/// The answer of `/readyz`, by the address that the running process published.
async fn readyz(stage: &Stage) -> (u16, String) {
    let lock = stage.home.read(".galatea/galatea.lock").unwrap();
    let address = lock.lines().find_map(|line| line.strip_prefix("health ")).unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = client.get(format!("http://{address}/readyz")).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn a_database_file_that_was_moved_is_reported_and_taken_up_again() {
    let stage = Stage::set().await;
    let program = stage.program();
    let galatea = program.clone().arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "A1").await;
    stage.telegram.wait_confirmed().await;
    sound(&program, 1).await;
    assert_eq!(readyz(&stage).await.0, 200);
    let file = stage.home.path().join(".galatea/galatea.db");
    let aside = stage.home.path().join("galatea.db.aside");
    std::fs::rename(&file, &aside).unwrap();
    stage.ann.says(&direct, "Q2").send();
    galatea.wait_for_line("GAL-DB-GONE").await;
    until_status(&program, false, "GAL-DB-GONE").await;
    let (code, answer) = readyz(&stage).await;
    assert!(code == 503 && answer.contains("GAL-DB-GONE"), "{code} {answer}");
    assert_eq!(stage.telegram.pending_updates(), 1, "what is not stored is not confirmed");
    std::fs::rename(&aside, &file).unwrap();
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"], "{}", galatea.output());
    until_status(&program, true, "ready").await;
    assert_eq!(readyz(&stage).await.0, 200);
    sound(&program, 2).await;
}

/// Starts the program again, as a service manager does, and waits until it is ready.
async fn restarted(stage: &Stage, machine: &Machine) -> galatea_testkit::process::Running {
    let galatea = machine.runs(stage.program()).arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    galatea
}

#[tokio::test]
async fn a_failed_flush_ends_the_process_and_the_next_one_goes_on() {
    let stage = Stage::set().await;
    let machine = Machine::new(stage.home.path());
    let mut galatea = restarted(&stage, &machine).await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "A1").await;
    stage.telegram.wait_confirmed().await;
    machine.break_disk(true);
    stage.ann.says(&direct, "Q2").send();
    let ended = galatea.finish().await;
    assert_eq!(ended.code, Some(1), "systemd starts it again: {}", all(&ended));
    assert!(
        all(&ended).contains("error[GAL-DB-SYNC]") && all(&ended).contains("fix:"),
        "{}",
        all(&ended)
    );
    assert_eq!(
        stage.telegram.pending_updates(),
        1,
        "an update that may not be on the disk is not confirmed"
    );
    // The program does not start as long as flushes fail.
    let refused = machine.runs(stage.program()).arg("start").run().await;
    assert!(
        refused.code == Some(1) && all(&refused).contains("GAL-DB-SYNC"),
        "{:?} {}",
        refused.code,
        all(&refused)
    );
    assert_eq!(stage.telegram.pending_updates(), 1);
    let (ready, answer) = status(&stage.program()).await;
    assert!(!ready && answer.contains("GAL-STATUS-OFF"), "{answer}");
    machine.break_disk(false);
    let _galatea = restarted(&stage, &machine).await;
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"]);
    stage.telegram.wait_confirmed().await;
    sound(&stage.program(), 2).await;
}

#[tokio::test]
async fn flushes_that_fail_under_load_lose_nothing_and_double_nothing() {
    let stage = Stage::set().await;
    let machine = Machine::new(stage.home.path());
    let people: Vec<_> = (0..6).map(|n| stage.telegram.user(&format!("Person {n}"), "")).collect();
    let mut galatea = restarted(&stage, &machine).await;
    for round in 0..3 {
        for (n, person) in people.iter().enumerate() {
            person.says(&person.direct(), &format!("Q{}", round * 10 + n)).send();
        }
        // At least one answer of this round is being sent.
        let some =
            |t: &Handle| (t.calls_of("sendMessage").len() > round * people.len()).then_some(());
        stage.telegram.wait_for("an answer", some).await;
        machine.break_disk(true);
        stage.ann.says(&stage.ann.direct(), &format!("Q{}", 100 + round)).send();
        let ended = galatea.finish().await;
        assert!(
            ended.code == Some(1) && all(&ended).contains("GAL-DB-SYNC"),
            "{:?} {}",
            ended.code,
            all(&ended)
        );
        machine.break_disk(false);
        galatea = restarted(&stage, &machine).await;
    }
    for (n, person) in people.iter().enumerate() {
        let said = stage.wait_text(&person.direct(), &format!("A{}", 20 + n)).await;
        assert_eq!(said, (0..3).map(|round| format!("A{}", round * 10 + n)).collect::<Vec<_>>());
    }
    assert_eq!(stage.wait_text(&stage.ann.direct(), "A102").await, ["A100", "A101", "A102"]);
    stage.telegram.wait_confirmed().await;
    sound(&stage.program(), 21).await;
}

#[tokio::test]
async fn slow_the_next_run_does_not_look_before_a_late_message_can_have_arrived() {
    let stage = Stage::set().await;
    let machine = Machine::new(stage.home.path());
    let program = machine.runs(stage.program());
    let mut galatea = program.clone().arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    let direct = stage.ann.direct();
    stage.telegram.fault(Fault::new(Effect::ApplyLate).on("sendMessage"));
    // More time than a late arrival can take passes between storing the send intent and the send.
    machine.slow_disk(Duration::from_secs(3));
    stage.ann.says(&direct, "Q1").send();
    stage
        .telegram
        .wait_for("the send", |t| (!t.calls_of("sendMessage").is_empty()).then_some(()))
        .await;
    galatea.kill_9().await;
    machine.slow_disk(Duration::ZERO);
    let galatea = program.arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    // Another chat's answer shows that the next run works. It comes sooner after the send than a
    // late arrival can take.
    let bob = stage.telegram.user("Bob", "bob_b");
    bob.says(&bob.direct(), "Q3").send();
    assert_eq!(stage.wait_text(&bob.direct(), "A3").await, ["A3"], "{}", galatea.output());
    stage.telegram.apply_late();
    stage.ann.says(&direct, "Q2").send();
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"], "{}", galatea.output());
    sound(&stage.program(), 3).await;
}

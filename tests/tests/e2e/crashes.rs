//! SIGKILL at every step of a turn: after the restart every question is answered, and nothing is
//! sent twice.

use galatea_testkit::telegram::{Effect, Fault};

use crate::stage::Stage;

/// Asks another question after the restart. Rooms answer in order, so its answer proves that no
/// second A1 is in flight.
async fn once_after_restart(stage: &Stage) {
    let galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q2").send();
    let said = stage.wait_text(&direct, "A2").await;
    assert_eq!(said, ["A1", "A2"], "{}\n{}", stage.telegram.story(), galatea.output());
}

#[tokio::test]
async fn killed_while_the_model_thinks() {
    let stage = Stage::set().await;
    let mut galatea = stage.start().await;
    stage.model_hangs();
    stage.ann.says(&stage.ann.direct(), "Q1").send();
    stage.telegram.wait_confirmed().await;
    galatea.kill_9().await;
    stage.model_wakes();
    once_after_restart(&stage).await;
}

#[tokio::test]
async fn killed_before_telegram_did_the_send() {
    let stage = Stage::set().await;
    let mut galatea = stage.start().await;
    stage.telegram.fault(Fault::new(Effect::Hang).on("sendMessage"));
    stage.ann.says(&stage.ann.direct(), "Q1").send();
    stage
        .telegram
        .wait_for("the send", |t| (!t.calls_of("sendMessage").is_empty()).then_some(()))
        .await;
    galatea.kill_9().await;
    once_after_restart(&stage).await;
}

#[tokio::test]
async fn killed_the_instant_telegram_did_the_send() {
    let stage = Stage::set().await;
    let mut galatea = stage.start().await;
    stage.telegram.fault(Fault::new(Effect::ApplyAndHang).on("sendMessage"));
    stage.ann.says(&stage.ann.direct(), "Q1").send();
    stage.telegram.wait_shown(stage.ann.id, 1).await;
    galatea.kill_9().await;
    once_after_restart(&stage).await;
}

#[tokio::test]
async fn killed_after_the_answer() {
    let stage = Stage::set().await;
    let mut galatea = stage.start().await;
    stage.ann.says(&stage.ann.direct(), "Q1").send();
    stage.telegram.wait_shown(stage.ann.id, 1).await;
    galatea.kill_9().await;
    once_after_restart(&stage).await;
}

#[tokio::test]
async fn what_was_said_while_it_was_down_is_answered_when_it_is_up() {
    let stage = Stage::set().await;
    let mut galatea = stage.start().await;
    galatea.kill_9().await;
    stage.ann.says(&stage.ann.direct(), "Q1").send();
    let _galatea = stage.start().await;
    assert_eq!(stage.wait_text(&stage.ann.direct(), "A1").await, ["A1"]);
}

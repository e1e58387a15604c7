//! Failures of Telegram: nothing is lost, nothing is sent twice, and no rule is broken.

use galatea_testkit::telegram::{Effect, ErrorBody, Fault};

use crate::stage::Stage;

/// With this fault on the first send, Q1 and Q2 are each answered once and in order.
async fn survives(effect: Effect) {
    let stage = Stage::set().await;
    let _galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage.telegram.fault(Fault::new(effect).on("sendMessage"));
    stage.ann.says(&direct, "Q1").send();
    // The model answers the latest question it sees. The second question is therefore sent when the
    // first is answered but its delivery not yet confirmed.
    stage
        .telegram
        .wait_for("the first send", |t| (!t.calls_of("sendMessage").is_empty()).then_some(()))
        .await;
    stage.ann.says(&direct, "Q2").send();
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"]);
}

#[tokio::test]
async fn a_flood_wait_is_waited_for() {
    // The server records a violation if anything is sent to the chat before the deadline.
    survives(Effect::RateLimited(2)).await;
}

#[tokio::test]
async fn a_server_error_is_tried_again() {
    survives(Effect::ServerError(502, ErrorBody::Html)).await;
}

#[tokio::test]
async fn a_lost_response_is_not_said_twice() {
    survives(Effect::LoseResponse).await;
}

#[tokio::test]
async fn an_answer_cut_in_the_middle_is_not_said_twice() {
    survives(Effect::CutAfter(40)).await;
}

#[tokio::test]
async fn an_unreadable_answer_is_not_said_twice() {
    survives(Effect::Garbage).await;
}

#[tokio::test]
async fn a_group_that_becomes_a_supergroup_is_followed() {
    let stage = Stage::set().await;
    let group = stage.telegram.group("Band", &[&stage.ann]);
    let _galatea = stage.start().await;
    let mention = format!("@{}", stage.telegram.bot_username());
    stage.ann.says(&group, &format!("{mention} Q1")).send();
    stage.wait_text(&group, "A1").await;
    let new = stage.ann.migrates(&group);
    stage.ann.says(&new, &format!("{mention} Q2")).send();
    assert_eq!(stage.wait_text(&new, "A2").await, ["A2"]);
}

#[tokio::test]
async fn one_person_who_blocks_it_does_not_stop_the_others() {
    let stage = Stage::set().await;
    let _galatea = stage.start().await;
    stage.model_hangs();
    stage.ann.says(&stage.ann.direct(), "Q1").send();
    stage.telegram.wait_confirmed().await;
    stage.ann.blocks_bot();
    stage.model_wakes();
    let bob = stage.telegram.user("Bob", "");
    bob.says(&bob.direct(), "Q2").send();
    assert_eq!(stage.wait_text(&bob.direct(), "A2").await, ["A2"]);
    assert!(stage.texts(&stage.ann.direct()).is_empty());
}

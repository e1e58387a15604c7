//! Faults of Discord: every failure of the gateway; sends that are refused, limited, or applied
//! without an answer.

use std::time::Duration;

use galatea_testkit::discord::{Effect, Fault, Handle, Options, Order};

use crate::discord::Stage;

const SEND: &str = "POST /channels/{}/messages";

/// Messages before, during and after this action of the gateway are each answered once and in
/// order.
async fn recovers(options: Options, order: Order, resumes: bool) {
    let stage = Stage::with(options).await;
    let _galatea = stage.start().await;
    let (direct, general) = (stage.ann.direct(), stage.guild.general());
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "A1").await;
    stage.discord.order(order.clone());
    stage.ann.says(&direct, "Q2").send();
    stage.ann.says(&general, &format!("{} Q3", stage.discord.mention())).send();
    stage.wait_text(&direct, "A2").await;
    stage.wait_text(&general, "A3").await;
    let back = |d: &Handle| (d.resumed() + d.identified() > 1 && d.connected() == 1).then_some(());
    stage.discord.wait_for("it to be back", back).await;
    stage.ann.says(&direct, "Q4").send();
    assert_eq!(stage.wait_text(&direct, "A4").await, ["A1", "A2", "A4"], "{order:?}");
    assert_eq!(stage.texts(&general), ["A3"], "{order:?}");
    assert_eq!(
        stage.discord.identified() == 1,
        resumes,
        "{order:?}: a session that can be resumed costs no identify"
    );
    assert_eq!(stage.discord.calls_of(SEND).len(), 4, "{order:?}: sent once each");
}

#[tokio::test]
async fn it_is_asked_to_reconnect() {
    recovers(Options::default(), Order::Reconnect, true).await;
}

#[tokio::test]
async fn its_session_timed_out() {
    recovers(Options::default(), Order::Close(4009), false).await;
}

#[tokio::test]
async fn its_session_is_invalid() {
    recovers(Options::default(), Order::InvalidSession(true), true).await;
    recovers(Options::default(), Order::InvalidSession(false), false).await;
}

#[tokio::test]
async fn its_heartbeats_are_not_acknowledged() {
    recovers(
        Options { heartbeat: Duration::from_secs(1), ..Options::default() },
        Order::StopAcks,
        true,
    )
    .await;
}

#[tokio::test]
async fn its_connection_is_reset() {
    recovers(Options::default(), Order::Drop, true).await;
}

#[tokio::test]
async fn its_connection_is_cut_in_the_middle_of_an_event() {
    for bytes in [1, 40, 400] {
        recovers(Options::default(), Order::CutAfter(bytes), true).await;
    }
}

#[tokio::test]
async fn an_event_that_comes_twice_is_answered_once() {
    let stage = Stage::set().await;
    let _galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    stage.discord.redeliver();
    stage.wait_text(&direct, "A1").await;
    stage.ann.says(&direct, "Q2").send();
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"]);
}

/// With this fault on the first send and a kill during the send, Q1 is answered once.
async fn killed_in(effect: Effect) {
    let stage = Stage::set().await;
    let mut galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage.discord.fault(Fault::new(effect.clone()).on(SEND));
    stage.ann.says(&direct, "Q1").send();
    stage.discord.wait_for("the send", |d| (!d.calls_of(SEND).is_empty()).then_some(())).await;
    if effect != Effect::Hang {
        stage.discord.wait_shown(direct.id, 1).await;
    }
    galatea.kill_9().await;
    let _again = stage.start().await;
    stage.ann.says(&direct, "Q2").send();
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"], "{effect:?}");
}

#[tokio::test]
async fn killed_before_discord_did_the_send() {
    killed_in(Effect::Hang).await;
}

#[tokio::test]
async fn killed_the_instant_discord_did_the_send() {
    killed_in(Effect::ApplyAndHang).await;
}

#[tokio::test]
async fn killed_after_a_send_that_was_done_but_answered_500() {
    killed_in(Effect::ApplyThenError(500)).await;
}

#[tokio::test]
async fn a_limit_of_everything_is_waited_for_and_each_answer_comes_once() {
    let stage = Stage::set().await;
    let galatea = stage.start().await;
    let (direct, general) = (stage.ann.direct(), stage.guild.general());
    stage.discord.fault(Fault::new(Effect::GlobalLimit(Duration::from_secs(2))).on(SEND));
    stage.ann.says(&direct, "Q1").send();
    galatea.wait_for_line("GAL-DC-429").await;
    stage.ann.says(&general, &format!("{} Q2", stage.discord.mention())).send();
    // A call before the deadline would be a violation.
    stage.wait_text(&direct, "A1").await;
    stage.wait_text(&general, "A2").await;
    let limited = stage
        .discord
        .calls_of(SEND)
        .iter()
        .filter(|c| c.answer.as_ref().is_some_and(|(status, _)| *status == 429))
        .count();
    assert_eq!(
        (limited, stage.texts(&direct).len(), stage.texts(&general).len()),
        (1, 1, 1),
        "{}",
        stage.discord.story()
    );
}

/// Asks ten questions while every send is refused with this error. Returns the number of attempted
/// sends.
async fn refused(status: u16, code: u32) -> usize {
    let stage = Stage::set().await;
    let mut galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage.discord.fault(Fault::new(Effect::Refuse(status, code)).on(SEND).times(1_000));
    for n in 1..=10 {
        stage.ann.says(&direct, &format!("Q{n}")).send();
    }
    // Once a missing permission is known, no answer is requested from the model.
    let undelivered = |galatea: &galatea_testkit::process::Running| {
        let said = galatea.stderr();
        said.matches("a part ended").count() + said.matches("discord  skipped").count()
    };
    let mut pause = tokio::time::interval(Duration::from_millis(20));
    let all = async {
        while undelivered(&galatea) < 10 {
            pause.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), all)
        .await
        .unwrap_or_else(|_| panic!("{}", galatea.output()));
    galatea.terminate();
    assert_eq!(galatea.finish().await.code, Some(0));
    assert!(stage.texts(&direct).is_empty());
    stage.discord.calls_of(SEND).len()
}

#[tokio::test]
async fn a_refused_token_makes_no_storm() {
    let tried = refused(401, 0).await;
    assert!(tried <= 2, "{tried} sends");
}

#[tokio::test]
async fn a_missing_permission_makes_no_storm() {
    let tried = refused(403, 50013).await;
    assert!(tried <= 10, "{tried} sends: once per answer");
}

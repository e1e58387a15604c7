//! Signals stop the program, and a second poller makes its connector give way.

use std::time::Duration;

use crate::stage::Stage;

#[tokio::test]
async fn sigterm_ends_it_with_code_0() {
    let stage = Stage::set().await;
    let mut galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "A1").await;
    galatea.terminate();
    let finished = galatea.finish().await;
    assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
}

/// Closing the terminal stops the program like any other signal: the answer in flight is finished.
/// The model takes long enough that the signal nearly always comes before its answer.
#[tokio::test]
async fn sighup_lets_it_finish_what_is_under_way() {
    let stage = Stage::set().await;
    stage.model.think(Duration::from_secs(3));
    let mut galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    while stage.model.count() == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    galatea.hang_up();
    galatea.wait_for_line("Stopping").await;
    let finished = galatea.finish().await;
    assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    assert_eq!(stage.texts(&direct), ["A1"], "{}{}", finished.stdout, finished.stderr);
}

#[tokio::test]
async fn a_second_poller_is_reported_and_the_first_gives_way_without_ending() {
    let stage = Stage::set().await;
    let galatea = stage.start().await;
    stage
        .telegram
        .wait_for("our poll", |t| (!t.calls_of("getUpdates").is_empty()).then_some(()))
        .await;
    // Another program polls for updates, which ends our poll with 409.
    let url = format!("{}/bot{}/getUpdates", stage.telegram.url(), stage.telegram.token());
    let other = reqwest::Client::builder()
        .no_proxy()
        .build()
        .unwrap()
        .post(url)
        .json(&serde_json::json!({ "timeout": 50 }));
    let poll = tokio::spawn(other.send());
    galatea.wait_for_line("GAL-TG-409").await;
    poll.abort();
    stage.ann.says(&stage.ann.direct(), "Q1").send();
    // The connector waits half a minute, so that the operator can stop the other program.
    galatea.wait_for_line("telegram  answered").await;
    stage.wait_text(&stage.ann.direct(), "A1").await;
}

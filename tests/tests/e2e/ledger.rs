//! `audit` and `outbox`: every message is accounted for, and an undelivered one can still be sent.

use galatea_testkit::{
    process::Finished,
    telegram::{Effect, Fault},
};
use serde_json::Value;

use crate::stage::Stage;

async fn run(stage: &Stage, arguments: &[&str]) -> Finished {
    stage.program().args(arguments).run().await
}

async fn json(stage: &Stage, arguments: &[&str]) -> Value {
    let done = run(stage, arguments).await;
    assert_eq!(done.code, Some(0), "{arguments:?}: {}{}", done.stdout, done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

#[tokio::test]
async fn every_message_is_in_one_column_and_a_dead_part_is_sent_after_all() {
    let stage = Stage::set().await;
    stage.telegram.set_privacy(false);
    let group = stage.telegram.supergroup("Band", &[&stage.ann]);
    let mut running = stage.start().await;
    let ann = stage.ann.direct();
    stage.ann.says(&ann, "Q1").send();
    stage.wait_text(&ann, "A1").await;
    stage.ann.says(&group, "Q2 to everyone").send();
    stage.ann.says(&ann, "Q3").send();
    stage.wait_text(&ann, "A3").await;
    let bob = stage.telegram.user("Bob", "");
    bob.says(&bob.direct(), "Q4").send();
    stage.wait_text(&bob.direct(), "A4").await;
    // Rate limits delay the answer until Bob has blocked the bot.
    let limited = Fault::new(Effect::RateLimited(1)).on("sendMessage").at(bob.id);
    stage.telegram.fault(limited.times(usize::MAX));
    bob.says(&bob.direct(), "Q5").send();
    running.wait_for_line("GAL-TG-429").await;
    bob.blocks_bot();
    stage.telegram.end_faults();
    running.wait_for_line("a part ended").await;

    let audit = json(&stage, &["audit", "--json"]).await;
    assert_eq!(audit["sound"], true, "{audit}");
    let line =
        audit["sources"].as_array().unwrap().iter().find(|l| l["source"] == "telegram").unwrap();
    let counts = [
        "received",
        "answered",
        "answering",
        "undelivered",
        "skipped",
        "expired",
        "dead",
        "pending",
    ]
    .map(|name| line[name].as_u64().unwrap());
    assert_eq!(counts, [5, 3, 0, 1, 1, 0, 0, 0], "{audit}");
    let part = &audit["exceptions"]["parts"][0];
    assert!(
        part["state"] == "dead" && part["error"].as_str().unwrap().contains("blocked"),
        "{audit}"
    );
    let output = run(&stage, &["audit"]).await;
    assert!(
        output.stdout.contains("✓ every message received is in exactly one column")
            && output.stdout.contains("blocked"),
        "{}",
        output.stdout
    );

    // The delivery is listed and can be shown by the end of its id, without any of its text.
    let listed = run(&stage, &["outbox", "ls"]).await.stdout;
    let id = listed.split_whitespace().next().unwrap().to_owned();
    let shown = run(&stage, &["outbox", "show", &id]).await.stdout;
    assert!(
        shown.contains("dead after 1 attempt") && shown.contains("403") && !shown.contains("A5"),
        "{shown}"
    );
    let wrong = run(&stage, &["outbox", "retry", "00000000"]).await;
    assert!(
        wrong.code == Some(1) && wrong.stderr.contains("GAL-OUTBOX-UNKNOWN"),
        "{}",
        wrong.stderr
    );
    let unfit = run(&stage, &["outbox", "drop", &id]).await;
    assert!(
        unfit.code == Some(1) && unfit.stderr.contains("GAL-OUTBOX-STATE"),
        "{:?} {}",
        unfit.code,
        unfit.stderr
    );

    // The running process sends it by itself.
    bob.unblocks_bot();
    let retried = run(&stage, &["outbox", "retry", &id]).await;
    assert!(retried.stderr.contains("1 part is to be sent again"), "{}", retried.stderr);
    assert_eq!(stage.wait_text(&bob.direct(), "A5").await, ["A4", "A5"]);
    running.terminate();
    running.finish().await;
    let audit = json(&stage, &["audit", "--json"]).await;
    let line = &audit["sources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|l| l["source"] == "telegram")
        .unwrap()
        .clone();
    assert!(line["undelivered"] == 0 && line["answered"] == 4, "{audit}");
    assert_eq!(audit["exceptions"]["parts"], serde_json::json!([]));
    assert!(run(&stage, &["outbox", "ls"]).await.stderr.contains("nothing waits"));
}

#[tokio::test]
async fn before_the_first_start_there_is_nothing_to_count() {
    let stage = Stage::set().await;
    let none = run(&stage, &["audit"]).await;
    assert!(none.code == Some(1) && none.stderr.contains("GAL-DATA-NONE"), "{}", none.stderr);
}

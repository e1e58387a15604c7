//! Summaries, killed while the model writes one, before it is stored and after.

use galatea_testkit::{
    models::{Fault, Recorded, Reply},
    process::Program,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::{has_died, rows};
use crate::stage::{Stage, answer};

const HOLDS: &str =
    "SELECT content ->> '$.text' FROM memories WHERE type = 'summaries' AND valid_until IS NULL";
const STORED: &str = "SELECT content ->> '$.text', CAST((SELECT count(*) FROM memory_sources s WHERE s.memory_id = m.id) AS text) FROM memories m WHERE type = 'summaries' ORDER BY seq";
/// A message that two summaries name as a source.
const TWICE: &str = "SELECT CAST(count(*) AS text) FROM (SELECT s.source_id FROM memory_sources s JOIN memories m ON m.id = s.source_id AND m.type = 'messages' GROUP BY s.source_id HAVING count(*) > 1)";

fn is_summary(request: &Recorded) -> bool {
    request.body.to_string().contains("# Summary so far")
}

/// The numbers after `mark` in a text, in their order.
fn numbers(text: &str, mark: char) -> Vec<u32> {
    let number = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    text.split(mark).skip(1).filter_map(number).collect()
}

/// Adds every question of the messages to the summary, and so shows what is read twice. A summary that is
/// continued keeps its text, and the answer is what the messages add.
fn summarise(request: &Recorded) -> Reply {
    let asked = request.body["messages"].to_string();
    let continues = asked.contains("Write only what the messages add");
    let from = if continues { "# Messages" } else { "# Summary so far" };
    let (_, asked) = asked.split_once(from).unwrap();
    let all: Vec<String> = numbers(asked, 'Q').iter().map(|n| format!("Q{n}")).collect();
    Reply::text(format!("Ann has asked these questions: {}.", all.join(", ")))
}

fn program(stage: &Stage) -> Program {
    stage
        .program()
        .env("CONVERSATION_LENGTH", "6")
        .env("REFLECTION_INTERVAL", "0")
        .env("EVALUATION_PAUSE_SECONDS", "0")
        .arg("start")
}

/// Telegram's times are whole seconds: what is asked in the second of an answer is older than it.
async fn next_second() {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    tokio::time::sleep(Duration::from_millis(1_000 - u64::from(since.subsec_millis()))).await;
}

async fn ask(stage: &Stage, from: u32, to: u32) {
    let direct = stage.ann.direct();
    for n in from..=to {
        next_second().await;
        stage.ann.says(&direct, &format!("Q{n} please")).send();
        stage.wait_text(&direct, &format!("A{n}")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_has_every_message_once_after_four_kills() {
    let stage = Stage::set().await;
    let hangs = Arc::new(AtomicBool::new(false));
    let hanging = Arc::clone(&hangs);
    stage.model.answer_with(move |request| match is_summary(request) {
        true if hanging.load(SeqCst) => Reply::Fault(Fault::Hang),
        true => summarise(request),
        false => answer(request),
    });
    let direct = stage.ann.direct();
    let mut asked = 0;
    for point in [
        "summary.before=return",
        "summary.after=return",
        "summary.before=1*off->return",
        "summary.after=1*off->return",
    ] {
        let mut running = program(&stage).env("FAILPOINTS", point).spawn();
        running.wait_for_line("ready in").await;
        // Questions until it dies. The evaluators of a turn come after its answer, so it may die while
        // the next question is asked; the next process answers that one.
        while running.is_running() {
            asked += 1;
            next_second().await;
            stage.ann.says(&direct, &format!("Q{asked} please")).send();
            let text = format!("A{asked}");
            let answered = async {
                while running.is_running() && stage.texts(&direct).last() != Some(&text) {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            tokio::time::timeout(super::PATIENCE, answered).await.expect("an answer or a crash");
            assert!(asked < 100, "{point} was never reached:\n{}", running.output());
        }
        has_died(&mut running, point).await;
    }
    // Killed while the model writes.
    hangs.store(true, SeqCst);
    let mut running = program(&stage).spawn();
    running.wait_for_line("ready in").await;
    let writes = stage.model.requests().iter().filter(|request| is_summary(request)).count();
    ask(&stage, asked + 1, asked + 4).await;
    asked += 4;
    let begun = async {
        while stage.model.requests().iter().filter(|request| is_summary(request)).count() == writes
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(super::PATIENCE, begun).await.expect("a summary is asked for");
    running.kill_9().await;

    hangs.store(false, SeqCst);
    let mut running = program(&stage).spawn();
    running.wait_for_line("ready in").await;
    ask(&stage, asked + 1, asked + 4).await;
    asked += 4;
    // The newest summary covers all but what a prompt shows.
    let covered = async {
        loop {
            let held = rows(&stage, HOLDS).await;
            let last = held.first().and_then(|row| numbers(&row[0], 'Q').last().copied());
            if last.is_some_and(|last| last + 6 >= asked) {
                return held;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let held = tokio::time::timeout(super::PATIENCE, covered).await.expect("a whole summary");
    running.kill_9().await;
    assert_eq!(held.len(), 1, "one summary holds: {held:?}");
    let said = numbers(&held[0][0], 'Q');
    let in_order: Vec<u32> = (1..=*said.last().unwrap()).collect();
    let stored = rows(&stage, STORED).await;
    assert_eq!(said, in_order, "every question once and in order: {stored:?}");
    assert_eq!(rows(&stage, TWICE).await[0][0], "0", "no message is in two summaries: {stored:?}");
    let answers: Vec<String> = (1..=asked).map(|n| format!("A{n}")).collect();
    assert_eq!(stage.texts(&direct), answers);
}

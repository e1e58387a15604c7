//! Processes whose clocks differ by more than an answer's lifetime: no answer expires because of
//! it, and the difference is reported.

use galatea_testkit::{machine::Machine, process::Home};

use super::crowd::Crowd;

/// Longer than a question or an answer may wait, in seconds.
const AHEAD: i64 = 3 * 3600;

/// Asks a question with one process per role, one of them with a wrong clock. Checks what `cluster
/// status` notes.
async fn asked_with(role_ahead: &str, other_role: &str) {
    let mut crowd = Crowd::of(1).await;
    crowd.discord.allow_violation("no heartbeat within its interval");
    let home = Home::new();
    let machine = Machine::new(home.path());
    machine.set_clock(AHEAD);
    let program = crowd
        .program(&home)
        .env("MESSAGE_TTL_MINUTES", "30")
        .env("ANSWER_TTL_MINUTES", "30")
        .args(["start", "--role", role_ahead]);
    let ahead = machine.runs(program).spawn();
    ahead.wait_for_line("ready in").await;
    let other = crowd.node(other_role).await;
    crowd.discord.wait_connected(1).await;
    crowd.ask();
    crowd.is_all_answered().await;
    ahead.wait_for_line("GAL-CLOCK-SKEW").await;
    let status = crowd.status().await;
    let notes = status["notes"].as_array().unwrap();
    assert!(
        notes.iter().any(|note| note.as_str().unwrap().contains("s ahead of the database's")),
        "{status:#}"
    );
    crowd.is_accounted_for().await;
    drop((ahead, other));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_does_not_expire_at_the_machine_that_sends_it() {
    asked_with("ingress", "worker").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_does_not_expire_at_the_machine_that_answers_it() {
    asked_with("worker", "ingress").await;
}

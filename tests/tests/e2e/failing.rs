//! A bot whose every answer fails is reported as unhealthy, with the provider's own words, until it
//! answers again.

use galatea_core::model::Finish;
use galatea_testkit::{
    models::{Answer, Fault, Reply},
    process::Running,
};

use crate::stage::{KEY, Stage, answer};

/// Asks until so many questions got no answer. A room is told once in ten minutes, so the log
/// tells. Returns the last question, as `explain` takes it.
async fn fails(stage: &Stage, running: &Running, times: usize) -> String {
    let direct = stage.ann.direct();
    let mut last = String::new();
    for n in 0..times {
        let id = stage.ann.says(&direct, &format!("Q{n}0 please")).send();
        last = format!("{}:{id}", direct.id);
        let failed = || {
            let log = running.stderr();
            log.matches("failed to answer a message").count() > n
        };
        for _ in 0..600 {
            if failed() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        assert!(failed(), "question {n}: {}", running.stderr());
    }
    last
}

async fn is_told(stage: &Stage, question: &str, words: &str) {
    let status = stage.program().arg("status").run().await;
    assert_eq!(status.code, Some(1), "{}", status.stdout);
    assert!(status.stdout.starts_with("not ready"), "{}", status.stdout);
    let doctor = stage.program().arg("doctor").run().await;
    let explain = stage.program().args(["explain", question]).run().await;
    for (name, output) in [("status", &status), ("doctor", &doctor), ("explain", &explain)] {
        let plain = output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(plain.contains(words), "{name}: {}{}", output.stdout, output.stderr);
        assert!(!output.stdout.contains(KEY), "{name}");
    }
}

#[tokio::test]
async fn a_bot_whose_every_answer_fails_is_not_ready_until_it_answers() {
    let stage = Stage::set().await;
    let refused: &'static str = Box::leak(
        format!(
            r#"{{"error":{{"message":"The flux capacitor is not charged (key {KEY})","type":"invalid_request_error","code":"flux"}}}}"#
        )
        .into_boxed_str(),
    );
    let refusal = Fault::Status { status: 422, retry_after: None, body: refused };
    stage.model.answer_with(move |request| {
        if request.path.ends_with("/models") { Reply::Auto } else { Reply::Fault(refusal.clone()) }
    });
    let running = stage.program().args(["start", "--log-json"]).spawn();
    running.wait_for_line("polling").await;
    assert_eq!(stage.program().arg("status").run().await.code, Some(0));
    let question = fails(&stage, &running, 3).await;
    is_told(&stage, &question, "The flux capacitor is not charged").await;
    stage.model.answer_with(answer);
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q7").send();
    stage.wait_text(&direct, "A7").await;
    let status = stage.program().arg("status").run().await;
    assert_eq!(status.code, Some(0), "it recovers by itself: {}", status.stdout);
}

#[tokio::test]
async fn a_model_that_withholds_every_answer_is_not_ready() {
    let stage = Stage::set().await;
    stage.model.answer_with(|request| {
        if request.path.ends_with("/models") {
            return Reply::Auto;
        }
        Reply::Answer(Answer { finish: Finish::Filtered, ..Answer::default() })
    });
    let running = stage.program().args(["start", "--log-json"]).spawn();
    running.wait_for_line("polling").await;
    let question = fails(&stage, &running, 5).await;
    is_told(&stage, &question, "filter withheld the answer").await;
}

/// That the small model derives no facts is remembered, so `doctor` says it without a process.
#[tokio::test]
async fn doctor_says_that_a_model_learns_no_facts_while_nothing_runs() {
    let stage = Stage::set().await;
    let mut running = stage.program().arg("start").spawn();
    running.wait_for_line("ready in").await;
    running.terminate();
    running.finish().await;
    let doctor = async || stage.program().args(["doctor", "--offline"]).run().await.stdout;
    let before = doctor().await;
    assert!(!before.contains("GAL-MODEL-FACTS"), "{before}");

    let file = stage.home.path().join(".galatea/galatea.db");
    let pool = sqlx::SqlitePool::connect(&format!("sqlite://{}", file.display())).await.unwrap();
    let until = galatea_core::Clock::now(&galatea_core::SystemClock).0 + 3_600_000;
    let unable =
        serde_json::json!({ "model": "openai/tiny", "answers": 3, "until": until, "why": "" });
    let kept = "INSERT INTO cache (agent_id, key, value) SELECT id, 'plugin:bootstrap:reflection-unable', $1 FROM agents";
    let kept = sqlx::query(kept).bind(unable.to_string()).execute(&pool).await.unwrap();
    assert_eq!(kept.rows_affected(), 1);
    pool.close().await;
    let after = doctor().await;
    let plain = after.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain.contains("GAL-MODEL-FACTS"), "{after}");
    assert!(plain.contains("openai/tiny cannot derive facts from conversations"), "{after}");
}

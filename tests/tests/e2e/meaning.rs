//! Old facts come back when a conversation is about them: facts, embeddings and search, by the real
//! program on both databases.

use galatea_testkit::{
    models::{Recorded, Reply},
    postgres::Database,
    process::Program,
};
use serde_json::json;
use std::time::Duration;

use crate::stage::Stage;

/// Longer than two reflections take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Embeddings of facts. Messages have some, too.
const OF_FACTS: &str = "embeddings e JOIN memories m ON m.seq = e.seq WHERE m.type = 'facts'";

fn is_vectors(request: &Recorded) -> bool {
    request.path.ends_with("/embeddings")
}

fn is_reflection(request: &Recorded) -> bool {
    request.body.to_string().contains("You read a conversation")
}

/// A profile lists all facts, and may be asked for before or after the answer.
fn is_profile(request: &Recorded) -> bool {
    request.body.to_string().contains("You write a short profile")
}

fn is_answer(request: &Recorded) -> bool {
    !is_vectors(request) && !is_reflection(request) && !is_profile(request)
}

/// Two reflections store ten facts each. Only twelve of a person's facts are shown, so the oldest
/// one appears only when its meaning matches.
async fn the_oldest_comes_back(stage: &Stage, program: Program, count: impl AsyncFn() -> i64) {
    let mut taught = 0;
    stage.model.answer_with(move |request| {
        if is_vectors(request) {
            return Reply::Auto;
        }
        if is_profile(request) {
            // Not stored, because no fact contains the name. A stored profile would hide facts.
            return Reply::text("Ann is called Zoltan.");
        }
        if !is_reflection(request) {
            return Reply::text("I see.");
        }
        taught += 10;
        let text = request.body["messages"].to_string();
        // The newest message: `m12 Ann: …`.
        let evidence: u32 = text
            .rsplit("\\nm")
            .find_map(|rest| rest.split(' ').next()?.parse().ok())
            .expect("a numbered message");
        let fact =
            |n| if n == 1 { "Ann keeps bees.".to_owned() } else { format!("Ann owns thing {n}.") };
        let facts: Vec<_> = (taught - 9..=taught)
            .map(|n| json!({ "about": "Ann", "fact": fact(n), "evidence": evidence }))
            .collect();
        Reply::text(json!({ "facts": facts }).to_string())
    });
    let program = program
        .env("OPENAI_EMBEDDING_MODEL", "test-embedding")
        .env("REFLECTION_INTERVAL", "1")
        .env("EVALUATION_PAUSE_SECONDS", "0")
        .env("PROVIDERS_TOTAL_TIMEOUT_MS", "60000");
    let mut running = program.arg("start").spawn();
    running.wait_for_line("ready in").await;
    let direct = stage.ann.direct();
    for known in [10, 20] {
        // A fact is stored if its words stand in the message.
        let things: Vec<String> =
            (known - 9..=known).map(|n| format!("I own thing {n}.")).collect();
        stage.ann.says(&direct, &format!("I keep bees. {}", things.join(" "))).send();
        let learnt = async {
            while count().await < known {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, learnt)
            .await
            .unwrap_or_else(|_| panic!("not {known} facts:\n{}", running.output()));
    }
    let before = stage.model.count();
    stage.ann.says(&direct, "Ann keeps bees.").send();
    let shown = loop {
        let asked = stage.model.requests().into_iter().skip(before).find(is_answer);
        match asked {
            Some(asked) => break asked.body["messages"].to_string(),
            None => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    for fact in ["“Ann keeps bees.”", "“Ann owns thing 20.”"] {
        assert!(shown.contains(fact), "{fact} is missing in {shown}");
    }
    assert_eq!(shown.matches("“Ann owns thing ").count(), 11);
    // Messages are embedded in the background meanwhile.
    let embedded = stage.model.requests().into_iter().skip(before).filter(is_vectors);
    let inputs: Vec<_> = embedded.map(|request| request.body["input"].clone()).collect();
    assert!(
        inputs.contains(&json!(["keeps bees."])),
        "only what is being said, without the speaker's name: {inputs:?}"
    );
    running.kill_9().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_sqlite() {
    let stage = Stage::set().await;
    let file = stage.home.path().join(".galatea/galatea.db");
    let count = async || {
        let pool = sqlx::SqlitePool::connect(&format!("sqlite://{}?mode=ro", file.display()))
            .await
            .unwrap();
        // The index of words follows what is stored.
        let indexed = "m.seq <= (SELECT seq FROM terms_progress)";
        let count = format!("SELECT count(*) FROM {OF_FACTS} AND {indexed}");
        let count = sqlx::query_scalar(sqlx::AssertSqlSafe(count)).fetch_one(&pool).await.unwrap();
        pool.close().await;
        count
    };
    the_oldest_comes_back(&stage, stage.program(), count).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_postgresql() {
    let (stage, database) = (Stage::set().await, Database::fresh().await);
    let of_facts = OF_FACTS
        .replace("embeddings", "galatea.embeddings")
        .replace("memories", "galatea.memories");
    let count = async || database.count(&of_facts).await;
    the_oldest_comes_back(&stage, stage.program().env("DATABASE_URL", database.url()), count).await;
}

//! Memory does not delay answers: a small model that never answers keeps no answer back, memory costs
//! an answer few statements, and the wait for an embedding is noted.

use async_trait::async_trait;
use galatea_core::{EmbeddingModel, ModelInfo, Result, TextModel, Timestamp};
use galatea_store::Database;
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
use std::{sync::Arc, time::Duration};

use super::stage::CLUB;
use crate::{
    house::{House, Plan, group},
    models::Gated,
};

const MESSAGES: usize = 240;
const PARTS: [&str; 4] = ["FACTS", "MEMORIES", "SUMMARIZED_CONTEXT", "RELATIONSHIPS"];
/// Most statements of these providers for one answer: what is known of the speakers, the summary,
/// a search in the Room, and the four with which a database in memory indexes before it searches.
const STATEMENTS: f64 = 13.0;

fn plan(clock: &ManualClock, standard: galatea_core::Plugin) -> Plan {
    let reader = ScriptedModel::saying("I see.").with_info(ModelInfo {
        provider: "scripted".into(),
        model: "reader".into(),
        ..ModelInfo::default()
    });
    Plan::new(Arc::new(reader) as _)
        .plugin(standard)
        .set("LIMITS", "off")
        .set("EVALUATION_PAUSE_SECONDS", "0")
        .clock(clock.shared())
}

async fn ask(house: &House, clock: &ManualClock, n: usize) -> galatea_core::MemoryId {
    clock.advance(Duration::from_secs(40));
    let at = group(CLUB, "5001").mentioning();
    let text = format!("remark {n} about topic {}, what was said of it?", n % 17);
    let id = house.say(&at, &text).await;
    house.platform.until_shown(CLUB, n + 1).await;
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_model_that_never_answers_delays_no_answer() {
    let clock = ManualClock::at(Timestamp(1_777_888_800_000));
    // An empty word is in every question: this model never answers.
    let stuck = Gated::new(Arc::new(ScriptedModel::saying("late")), "");
    let mut plan = plan(&clock, galatea_bootstrap::plugin());
    plan.models.small = Arc::clone(&stuck) as Arc<dyn TextModel>;
    let house = plan.build().await;
    for n in 0..MESSAGES {
        ask(&house, &clock, n).await;
    }
    assert_eq!(house.platform.texts(CLUB).len(), MESSAGES, "each is answered");
    stuck.reached(1).await;
}

/// Statements of an answer once messages have left the prompt. Evaluators run behind answers, so they
/// are left out.
#[allow(clippy::cast_precision_loss, reason = "some hundred statements")]
async fn statements(memory: bool) -> f64 {
    let clock = ManualClock::at(Timestamp(1_777_888_800_000));
    let mut standard = galatea_bootstrap::plugin();
    standard.providers.retain(|provider| memory || !PARTS.contains(&provider.name()));
    standard.evaluators.clear();
    let store = Database::in_memory().await.unwrap();
    let house = plan(&clock, standard).store(&store).build().await;
    let mut before = 0;
    for n in 0..MESSAGES {
        if n == MESSAGES / 2 {
            house.quiet().await;
            before = store.statements();
        }
        ask(&house, &clock, n).await;
    }
    (store.statements() - before) as f64 / (MESSAGES / 2) as f64
}

/// Statements are counted in place of time, which depends on what else the machine does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_costs_an_answer_few_statements() {
    let (with, without) = (statements(true).await, statements(false).await);
    println!("{with:.2} statements an answer with memory, {without:.2} without");
    assert!(with > without, "memory reads something: {with} {without}");
    assert!(with - without <= STATEMENTS, "{with} {without}");
}

/// An embedding model that takes a quarter of a second of the test's clock.
struct Slow {
    info: ModelInfo,
    clock: ManualClock,
}

#[async_trait]
impl EmbeddingModel for Slow {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        self.clock.advance(Duration::from_millis(250));
        Ok(vec![vec![1.0, 0.5, 0.25]; texts.len()])
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_verdict_notes_how_long_the_embedding_model_was_waited_for() {
    let clock = ManualClock::at(Timestamp(1_777_888_800_000));
    let mut standard = galatea_bootstrap::plugin();
    // The service that embeds what is stored would advance the clock as well.
    standard.evaluators.clear();
    standard.services.clear();
    let mut plan = plan(&clock, standard).set("CONVERSATION_LENGTH", "4");
    plan.models.embedding =
        Some(Arc::new(Slow { info: ModelInfo::default(), clock: clock.clone() }));
    let house = plan.build().await;
    let mut last = ask(&house, &clock, 0).await;
    for n in 1..8 {
        last = ask(&house, &clock, n).await;
    }
    house.quiet().await;
    let steps = house.explain(last).await.steps;
    let noted = steps.iter().any(|step| {
        step.rule == "provider"
            && step.reason == "MEMORIES: the embedding model was waited for: 250 ms"
    });
    assert!(noted, "{steps:?}");
}

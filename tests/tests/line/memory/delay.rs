//! Memory does not delay answers: a small model that never answers keeps no answer back.

use galatea_core::{ModelInfo, TextModel, Timestamp};
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::stage::CLUB;
use crate::{
    house::{House, Plan, group},
    models::Gated,
};

const MESSAGES: usize = 240;
const PARTS: [&str; 4] = ["FACTS", "MEMORIES", "SUMMARIZED_CONTEXT", "RELATIONSHIPS"];

/// Answers many questions, and returns the median time of an answer once messages have left the
/// prompt.
async fn median(memory: bool) -> (House, Arc<Gated>, Duration) {
    let clock = ManualClock::at(Timestamp(1_777_888_800_000));
    let reader = ScriptedModel::saying("I see.").with_info(ModelInfo {
        provider: "scripted".into(),
        model: "reader".into(),
        ..ModelInfo::default()
    });
    // An empty word is in every question: this model never answers.
    let stuck = Gated::new(Arc::new(ScriptedModel::saying("late")), "");
    let mut standard = galatea_bootstrap::plugin();
    standard.providers.retain(|provider| memory || !PARTS.contains(&provider.name()));
    let mut plan = Plan::new(Arc::new(reader) as _)
        .plugin(standard)
        .set("LIMITS", "off")
        .set("EVALUATION_PAUSE_SECONDS", "0")
        .clock(clock.shared());
    plan.models.small = Arc::clone(&stuck) as Arc<dyn TextModel>;
    let house = plan.build().await;
    let at = group(CLUB, "5001").mentioning();
    let mut times = Vec::new();
    for n in 0..MESSAGES {
        clock.advance(Duration::from_secs(40));
        let begun = Instant::now();
        house.say(&at, &format!("remark {n} about topic {}, what was said of it?", n % 17)).await;
        house.quiet().await;
        if n >= MESSAGES / 2 {
            times.push(begun.elapsed());
        }
    }
    times.sort();
    let median = times[times.len() / 2];
    (house, stuck, median)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_model_that_never_answers_delays_no_answer() {
    let (with, stuck, slow) = median(true).await;
    let (without, _, fast) = median(false).await;
    println!(
        "median answer: {:.2} ms with memory, {:.2} ms without ({} build)",
        slow.as_secs_f64() * 1_000.0,
        fast.as_secs_f64() * 1_000.0,
        if cfg!(debug_assertions) { "debug" } else { "release" }
    );
    for house in [&with, &without] {
        assert_eq!(house.platform.texts(CLUB).len(), MESSAGES, "each is answered");
    }
    stuck.reached(1).await;
}

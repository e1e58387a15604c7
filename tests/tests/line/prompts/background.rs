//! What learning costs in a slow talk: a room that is quiet between any two answers, with a small model
//! that learns facts and summarises.
#![allow(clippy::print_stdout, reason = "figures for people")]

use galatea_core::{
    MemoryKind, Timestamp, character, model::TextRequest, store::MemoryQuery, tokens::Family,
};
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
use std::{sync::Arc, time::Duration};

use super::HELPER;
use crate::{
    house::{Plan, group},
    memory::learner,
    models,
};

/// Questions, each of which is answered.
const QUESTIONS: usize = 60;
const PEOPLE: [&str; 4] = ["1", "2", "3", "4"];
/// Between two questions: longer than the pause after which a room is quiet.
const PACE: Duration = Duration::from_secs(300);
/// Share of all tokens that background calls may take.
const MOST: f64 = 0.20;

fn tokens(requests: &[TextRequest]) -> u64 {
    requests.iter().map(|request| Family::Other.text(&models::prompt(request))).sum()
}

/// The talk: every sixth message states something that is remembered or decided.
fn said(n: usize) -> String {
    let town = ["Ghent", "Turku", "Porto", "Bergen", "Lyon"][n / 6 % 5];
    match n % 12 {
        0 => format!("I live in {town}"),
        6 => format!("Decided: we meet in {town} for visit {n}"),
        _ => format!(
            "question {n}: how do I get machine {} to do what the wiki says, if the light on the left stays red and the door does not close?",
            n % 7
        ),
    }
}

#[allow(clippy::cast_precision_loss, reason = "thousands of tokens")]
#[tokio::test]
async fn in_a_slow_talk_background_calls_take_at_most_a_fifth_of_all_tokens() {
    let clock = ManualClock::at(Timestamp(1_777_888_800_000));
    let large = Arc::new(ScriptedModel::answering(|request| {
        let nth = request.messages.len();
        Ok(ScriptedModel::text(format!(
            "On the wiki page *Machines*, section {nth}: pick a slot and write your name. \
             If that does not work, post the exact text that it shows."
        )))
    }));
    let small = learner::model();
    let mut plan = Plan::new(Arc::clone(&large) as _)
        .plugin(galatea_bootstrap::plugin())
        .set("LIMITS", "off")
        .set("EVALUATION_PAUSE_SECONDS", "0")
        .clock(clock.shared());
    plan.models.small = Arc::clone(&small) as _;
    plan.character = character::load("helper.json", HELPER).unwrap().character;
    let house = plan.build().await;
    for n in 0..QUESTIONS {
        let at = group("50", PEOPLE[n % PEOPLE.len()]).mentioning();
        house.say(&at, &said(n)).await;
        house.quiet().await;
        clock.advance(PACE);
        // Evaluators begin in the background; a call that comes later is counted all the same.
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    let (answers, background) = (large.requests(), small.requests());
    assert_eq!(answers.len(), QUESTIONS);
    let (of_answers, of_background) = (tokens(&answers), tokens(&background));
    let share = of_background as f64 / (of_answers + of_background) as f64;
    println!(
        "{QUESTIONS} answers, {of_answers} tokens; {} background calls, {of_background} tokens: {:.1} %",
        background.len(),
        share * 100.0
    );
    let count = |part: &str| {
        background.iter().filter(|request| models::prompt(request).contains(part)).count()
    };
    let (reflections, summaries) = (count("# Conversation, until"), count("# Summary so far"));
    println!("{reflections} reflections, {summaries} summaries");
    assert!(reflections >= 3 && summaries >= 1, "{reflections} {summaries}");
    let query = MemoryQuery::new(house.agent, 100).kind(MemoryKind::Facts);
    assert!(!house.store.memories(&query).await.unwrap().is_empty(), "it learns");
    assert!(share <= MOST, "{share}");
}

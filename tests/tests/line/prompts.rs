//! What prompts cost: how many tokens they take, and how many of these the provider of the model
//! has just read as the beginning of the prompt before.

use galatea_core::{Timestamp, character, model::TextRequest, tokens::Family};
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
use std::{sync::Arc, time::Duration};

use crate::{
    house::{House, Plan, Spot, group},
    models,
};

const HELPER: &str = include_str!("../../../characters/helper.json");
const PEOPLE: [&str; 10] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
/// Questions of the talk. Each is answered, so the talk has twice as many messages.
const QUESTIONS: usize = 100;
/// Between two questions. Providers keep what they have read for five minutes.
const PACE: Duration = Duration::from_secs(40);
/// Prices of a token that the provider has cached and of one that it caches, as parts of the price
/// of a token (Anthropic, "Prompt caching").
const CACHED: f64 = 0.1;
const WRITTEN: f64 = 1.25;

/// A model that answers in two sentences, and remembers what it was asked.
fn model() -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::answering(|request| {
        let nth = request.messages.len();
        Ok(ScriptedModel::text(format!(
            "On the wiki page *Machines*, section {nth}: pick a slot and write your name. \
             If that does not work, post the exact text that it shows."
        )))
    }))
}

/// Ten people ask the helper in turn.
async fn talk(house: &House, clock: &ManualClock) {
    for n in 0..QUESTIONS {
        let at: Spot = group("50", PEOPLE[n % PEOPLE.len()]).mentioning();
        let about = ["the laser cutter", "the loom", "server 3", "my patch"][n % 4];
        let words = format!("question {n}: how do I get {about} to do what the wiki says it does?");
        house.say(&at, &words).await;
        house.quiet().await;
        clock.advance(PACE);
    }
}

/// A request as providers read it: tools, instructions, messages.
fn parts(request: &TextRequest) -> Vec<String> {
    let tools = request
        .tools
        .iter()
        .map(|tool| format!("{}\n{}\n{}", tool.name, tool.description, tool.parameters));
    let messages = request.messages.iter().map(|message| message.text());
    tools.chain(request.system.clone()).chain(messages).collect()
}

fn tokens(parts: &[String]) -> u64 {
    parts.iter().map(|part| Family::Other.text(part)).sum()
}

/// Tokens of the parts that both prompts begin with.
fn shared(before: &[String], now: &[String]) -> u64 {
    let same = before.iter().zip(now).take_while(|(before, now)| before == now).count();
    tokens(&now[..same])
}

#[allow(clippy::cast_precision_loss, reason = "thousands of tokens")]
#[tokio::test]
async fn consecutive_prompts_of_a_room_begin_with_the_same_text() {
    let clock = ManualClock::at(Timestamp(1_777_888_800_000));
    let large = model();
    let mut plan = Plan::new(Arc::clone(&large) as _)
        .plugin(galatea_bootstrap::plugin())
        .clock(clock.shared());
    plan.models.small = Arc::new(ScriptedModel::saying("{}"));
    plan.character = character::load("helper.json", HELPER).unwrap().character;
    let house = plan.build().await;
    talk(&house, &clock).await;

    let prompts: Vec<Vec<String>> = large.requests().iter().map(parts).collect();
    assert_eq!(prompts.len(), QUESTIONS);
    let all: u64 = prompts.iter().map(|prompt| tokens(prompt)).sum();
    let read_before: u64 = prompts.windows(2).map(|two| shared(&two[0], &two[1])).sum();
    let marked: u64 = large
        .requests()
        .iter()
        .zip(&prompts)
        .filter(|(request, _)| request.stable > 0)
        .map(|(request, prompt)| {
            let behind = request.messages.len() - request.stable;
            tokens(&prompt[..prompt.len() - behind])
        })
        .sum();
    let share = read_before as f64 / all as f64;
    let written = marked.saturating_sub(read_before) as f64;
    let cost = (read_before as f64 * CACHED + written * WRITTEN + (all - read_before) as f64
        - written)
        / all as f64;
    let most = prompts.iter().map(|prompt| tokens(prompt)).max().unwrap();
    println!(
        "{QUESTIONS} prompts: {} tokens each, {most} at most; {:.1} % read before; \
         {:.1} % of the price without a cache",
        all / QUESTIONS as u64,
        share * 100.0,
        cost * 100.0
    );
    if std::env::var_os("SHOW_PROMPT").is_some() {
        let last = &large.requests()[QUESTIONS - 1];
        println!("{}", models::prompt(last));
        for part in &prompts[QUESTIONS - 1] {
            println!(
                "{} {}",
                tokens(std::slice::from_ref(part)),
                &part[..part.len().min(60)].replace('\n', " ")
            );
        }
    }
    assert!(all / QUESTIONS as u64 <= 1_500, "{}", all / QUESTIONS as u64);
    assert!(share >= 0.85, "{share}");
    assert!(cost <= 0.35, "{cost}");
}

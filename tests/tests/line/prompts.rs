//! What prompts cost: how many tokens they take, and how many of these the provider of the model
//! has just read as the beginning of the prompt before.

mod background;
mod evidence;
mod measure;
mod talk;

use galatea_core::{
    Timestamp, character,
    model::{CacheFor, TextRequest},
    tokens::Family,
};
use galatea_testkit::{
    clock::ManualClock,
    models::ScriptedModel,
    prompt_cost::{BEFORE, Cache, Price, Prompt as Charge},
};
use serde_json::Value;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use self::measure::Prompt;
use crate::{
    house::{House, Plan, Spot, group},
    models,
};

const HELPER: &str = include_str!("../../../characters/helper.json");
const MODELS: &str = include_str!("../../../crates/galatea-models/data/models.toml");
const PEOPLE: [&str; 10] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
/// Questions of the talk. Each is answered, so the talk has twice as many messages.
const QUESTIONS: usize = 100;
/// How long tools and instructions are kept where a question came not longer ago.
const HOUR: Duration = Duration::from_secs(3_600);
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

    let prompts: Vec<Prompt> = large.requests().iter().map(Prompt::of).collect();
    assert_eq!(prompts.len(), QUESTIONS);
    let count = Family::Other;
    let all: u64 = prompts.iter().map(|prompt| prompt.tokens(count)).sum();
    let read_before: u64 = prompts.windows(2).map(|two| two[1].shared(&two[0], count)).sum();
    let marked: u64 = prompts.iter().map(|prompt| prompt.marked(count)).sum();
    let share = read_before as f64 / all as f64;
    let written = marked.saturating_sub(read_before) as f64;
    let cost = (read_before as f64 * CACHED + written * WRITTEN + (all - read_before) as f64
        - written)
        / all as f64;
    let most = prompts.iter().map(|prompt| prompt.tokens(count)).max().unwrap();
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
        prompts[QUESTIONS - 1].show();
    }
    assert!(all / QUESTIONS as u64 <= 1_500, "{}", all / QUESTIONS as u64);
    assert!(share >= 0.85, "{share}");
    assert!(cost <= 0.35, "{cost}");
}

/// Figures of the recorded talk are written to the file that this variable names
/// (`cargo xtask bench --prompts`).
const FIGURES: &str = "GALATEA_PROMPT_FIGURES";

/// The published prices of a family of models, in dollars for a million tokens.
fn price(family: &str) -> Price {
    let name = format!("\nname = \"{family}\"\n");
    let (_, about) = MODELS.split_once(&name).expect("the table of models has the family");
    let about = about.split("\n[[").next().unwrap();
    let price = about.lines().find(|line| line.starts_with("price = ")).expect("it has a price");
    let dollars = |kind: &str| -> f64 {
        let (_, rest) = price.split_once(&format!("{kind} = \"")).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    };
    Price { input: dollars("input"), cached: dollars("cached"), output: dollars("output") }
}

/// What the prompts of the recorded talk cost, in parts of those of the version before.
#[allow(clippy::cast_precision_loss, reason = "thousands of tokens")]
#[allow(clippy::print_stdout, reason = "figures for people")]
fn check_cost(figures: &Value) {
    for (family, of, cache, before) in [
        // Anthropic's models count a fifth more tokens.
        ("claude-sonnet-{version}", "anthropic", Cache::Anthropic, BEFORE * 6 / 5),
        ("gpt-{version}-terra", "openai", Cache::OpenAi, BEFORE),
    ] {
        let prompts: Vec<Charge> = serde_json::from_value(figures[of].clone()).unwrap();
        let price = price(family);
        let part = price.of_talk(cache, &prompts) / (before as f64 * price.input);
        println!("{family}: {:.1} % of the cost before", part * 100.0);
        assert!(part <= 0.35, "{family}: {part}");
    }
}

#[allow(clippy::cast_precision_loss, reason = "thousands of tokens")]
#[tokio::test]
async fn prompts_of_a_recorded_talk_begin_with_the_same_text() {
    let talk = talk::recorded();
    let answers: Vec<String> =
        talk.iter().filter(|said| said.is_answer()).map(|said| said.text.clone()).collect();
    let clock = ManualClock::at(Timestamp(1_777_888_800_000));
    let asked: Arc<Mutex<Vec<(Timestamp, TextRequest)>>> = Arc::default();
    let large = {
        let (asked, now, answers) = (Arc::clone(&asked), clock.shared(), answers.clone());
        ScriptedModel::answering(move |request| {
            let mut asked = asked.lock().unwrap();
            asked.push((now.now(), request.clone()));
            Ok(ScriptedModel::text(answers[asked.len() - 1].clone()))
        })
    };
    let mut plan =
        Plan::new(Arc::new(large) as _).plugin(galatea_bootstrap::plugin()).clock(clock.shared());
    plan.models.small = Arc::new(ScriptedModel::saying("{}"));
    plan.character = character::load("helper.json", HELPER).unwrap().character;
    let house = plan.build().await;
    for said in &talk {
        clock.advance(said.after);
        if !said.is_answer() {
            let at = group("50", said.by).named(said.by);
            house.say(&if said.asks { at.mentioning() } else { at }, &said.text).await;
            house.quiet().await;
        }
    }

    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), answers.len(), "each question is answered once");
    let figures = measure::figures(&asked, &answers);
    if let Some(path) = std::env::var_os(FIGURES) {
        std::fs::write(path, figures.to_string()).unwrap();
    }
    check_cost(&figures);
    assert_ne!(asked[0].1.cache_instructions, CacheFor::Hour);
    // Where the messages shown hold no own answer, it is not known that one was given.
    let soon: Vec<_> = asked.windows(2).filter(|two| two[1].0.since(two[0].0) <= HOUR).collect();
    let hour = soon.iter().filter(|two| two[1].1.cache_instructions == CacheFor::Hour).count();
    assert!(hour * 4 >= soon.len() * 3, "{hour} of {}", soon.len());
    let prompts: Vec<Prompt> = asked.iter().map(|(_, request)| Prompt::of(request)).collect();
    if std::env::var_os("SHOW_PROMPT").is_some() {
        println!("{}", models::prompt(&asked[asked.len() - 1].1));
        prompts[prompts.len() - 1].show();
    }
    let count = Family::Other;
    let all: u64 = prompts[1..].iter().map(|prompt| prompt.tokens(count)).sum();
    let shared: u64 = prompts.windows(2).map(|two| two[1].shared(&two[0], count)).sum();
    let (mean, share) = (all / (prompts.len() as u64 - 1), shared as f64 / all as f64);
    println!("{} prompts: {mean} tokens each; {:.1} % shared", prompts.len(), share * 100.0);
    assert!(mean <= 1_500, "{mean}");
    assert!(share >= 0.85, "{share}");
}

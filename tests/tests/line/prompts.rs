//! The cost of prompts: how many tokens they take, and how many of these the provider of the model
//! has just read as the beginning of the prompt before.

#![allow(clippy::print_stdout, reason = "the figures are read by people")]

mod background;
mod evidence;
mod measure;
mod talk;
mod whole;

use galatea_core::{
    Timestamp, character,
    model::{CacheFor, TextAnswer, TextRequest},
    tokens::Family,
};
use galatea_testkit::{
    clock::ManualClock,
    models::ScriptedModel,
    prompt_cost::{Cache, Price, Prompt as Charge},
};
use serde_json::Value;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use self::{measure::Prompt, talk::Said};
use crate::{
    house::{House, Plan, Spot, dm, group},
    memory::learner,
    models,
};

const HELPER: &str = include_str!("../../../characters/helper.json");
const MODELS: &str = include_str!("../../../crates/galatea-models/data/models.toml");
const PEOPLE: [&str; 10] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
/// Questions of the talk. Each is answered, so the talk has twice as many messages.
const QUESTIONS: usize = 100;
/// Time that tools and instructions are kept where a question came not longer ago.
const HOUR: Duration = Duration::from_secs(3_600);
/// Between two questions. Providers keep what they have read for five minutes.
const PACE: Duration = Duration::from_secs(40);
/// Prices of a token that the provider has cached and of one that it caches, as parts of the price
/// of a token (Anthropic, "Prompt caching").
const CACHED: f64 = 0.1;
const WRITTEN: f64 = 1.25;

/// An answer in two sentences.
fn answer(request: &TextRequest) -> TextAnswer {
    let nth = request.messages.len();
    ScriptedModel::text(format!(
        "On the wiki page *Machines*, section {nth}: pick a slot and write your name. \
         If that does not work, post the exact text that it shows."
    ))
}

/// Ten people ask the helper in turn, and tell of themselves and of what was decided.
async fn talk(house: &House, clock: &ManualClock) {
    for n in 0..QUESTIONS {
        let at: Spot = group("50", PEOPLE[n % PEOPLE.len()]).mentioning();
        let about = ["the laser cutter", "the loom", "server 3", "my patch"][n % 4];
        let words = format!("question {n}: how do I get {about} to do what the wiki says it does?");
        let aside = match n % 5 {
            _ if n < PEOPLE.len() => Some(format!("My bench number is {n}")),
            3 => Some(format!("Decided: {about} is cleaned on day {n}.")),
            _ => None,
        };
        if let Some(aside) = aside {
            house.say(&group("50", PEOPLE[n % PEOPLE.len()]), &aside).await;
        }
        house.say(&at, &words).await;
        house.quiet().await;
        clock.advance(PACE);
    }
}

/// The standard plugin, which offers tools or none.
fn standard(tools: bool) -> galatea_core::Plugin {
    let mut standard = galatea_bootstrap::plugin();
    if !tools {
        standard.actions.clear();
    }
    standard
}

/// A plan whose memory works: a small model learns facts and summarises.
fn plan(large: ScriptedModel, clock: &ManualClock, tools: bool) -> Plan {
    let mut plan = Plan::new(Arc::new(large) as _)
        .plugin(standard(tools))
        .set("REFLECTION_INTERVAL", "1")
        .set("EVALUATION_PAUSE_SECONDS", "0")
        .clock(clock.shared());
    plan.models.small = learner::model() as _;
    plan.character = character::load("helper.json", HELPER).unwrap().character;
    plan
}

/// Parts of the talk's prompts that the prompt before began with, and their price in parts of that
/// without a cache.
#[allow(clippy::cast_precision_loss, reason = "thousands of tokens")]
async fn shared_and_cost(tools: bool) -> (f64, f64) {
    let clock = ManualClock::at(Timestamp(1_777_888_800_000));
    let asked: Arc<Mutex<Vec<TextRequest>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let large = ScriptedModel::answering(move |request| {
        noted.lock().unwrap().push(request.clone());
        Ok(answer(request))
    });
    let house = plan(large, &clock, tools).build().await;
    talk(&house, &clock).await;

    let asked = asked.lock().unwrap();
    let prompts: Vec<Prompt> = asked.iter().map(Prompt::of).collect();
    assert_eq!(prompts.len(), QUESTIONS);
    let facts = asked.iter().filter(|request| models::prompt(request).contains("it is known:"));
    assert!(facts.count() > QUESTIONS / 2, "the memory works");
    let summed =
        asked.iter().filter(|request| models::prompt(request).contains("as it was summed"));
    assert!(summed.count() > QUESTIONS / 3, "summaries are made");
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
        "{QUESTIONS} prompts, tools {tools}: {} tokens each, {most} at most; {:.1} % read before; \
         {:.1} % of the price without a cache",
        all / QUESTIONS as u64,
        share * 100.0,
        cost * 100.0
    );
    if std::env::var_os("SHOW_PROMPT").is_some() {
        println!("{}", models::prompt(&asked[QUESTIONS - 1]));
        prompts[QUESTIONS - 1].show();
    }
    (share, cost)
}

/// On a machine of one's own each thousand tokens may take many seconds.
#[tokio::test]
async fn the_second_prompt_of_a_private_talk_repeats_two_thirds_of_the_first() {
    for tools in [true, false] {
        let clock = ManualClock::at(Timestamp(1_777_888_800_000));
        let asked: Arc<Mutex<Vec<TextRequest>>> = Arc::default();
        let noted = Arc::clone(&asked);
        let large = ScriptedModel::answering(move |request| {
            noted.lock().unwrap().push(request.clone());
            Ok(answer(request))
        });
        let house = plan(large, &clock, tools).build().await;
        for words in ["Hello, who are you?", "I live in Ghent", "Where do I live?"] {
            house.say(&dm("1"), words).await;
            house.quiet().await;
            clock.advance(PACE);
        }
        let prompts: Vec<Prompt> = asked.lock().unwrap().iter().map(Prompt::of).collect();
        for two in prompts.windows(2) {
            let (all, shared) =
                (two[1].tokens(Family::Other), two[1].shared(&two[0], Family::Other));
            assert!(shared * 3 >= all * 2, "tools {tools}: {shared} of {all}");
        }
    }
}

#[tokio::test]
async fn consecutive_prompts_of_a_room_begin_with_the_same_text() {
    for (tools, least) in [(true, 0.85), (false, 0.80)] {
        let (share, cost) = shared_and_cost(tools).await;
        assert!(share >= least, "tools {tools}: {share}");
        assert!(cost <= 0.35, "tools {tools}: {cost}");
    }
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

/// Messages of a plain prompt.
const PLAIN: usize = 32;

/// Mean tokens of plain prompts of the same talk: the same persona and the last messages, each with
/// its author.
#[allow(clippy::cast_precision_loss, reason = "thousands of tokens")]
fn plain(talk: &[Said], asked: &[(Timestamp, TextRequest)], family: Family) -> f64 {
    let lines: Vec<u64> =
        talk.iter().map(|said| family.text(&format!("{}: {}", said.by, said.text))).collect();
    let questions = talk.iter().enumerate().filter(|(_, said)| said.asks).map(|(at, _)| at);
    let tokens: u64 = questions
        .zip(asked)
        .map(|(at, (_, request))| {
            let persona = family.text(request.system.as_deref().unwrap_or_default());
            let from = at.saturating_sub(PLAIN);
            persona + lines[from..=at].iter().sum::<u64>()
        })
        .sum();
    tokens as f64 / asked.len() as f64
}

/// The cost of the prompts of the recorded talk, in parts of plain ones without a cache.
#[allow(clippy::print_stdout, reason = "figures for people")]
fn check_cost(figures: &Value, talk: &[Said], asked: &[(Timestamp, TextRequest)]) {
    for (family, of, cache, count) in [
        ("claude-sonnet-{version}", "anthropic", Cache::Anthropic, Family::Claude),
        ("gpt-{version}-terra", "openai", Cache::OpenAi, Family::Other),
    ] {
        let prompts: Vec<Charge> = serde_json::from_value(figures[of].clone()).unwrap();
        let price = price(family);
        let part = price.of_talk(cache, &prompts) / (plain(talk, asked, count) * price.input);
        println!("{family}: {:.1} % of the cost of plain prompts", part * 100.0);
        assert!(part <= 1.0, "{family}: {part}");
    }
}

/// Replays the recorded talk.
#[allow(clippy::cast_precision_loss, reason = "thousands of tokens")]
async fn replayed(tools: bool) -> f64 {
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
    let house = plan(large, &clock, tools).build().await;
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
    if tools && let Some(path) = std::env::var_os(FIGURES) {
        std::fs::write(path, figures.to_string()).unwrap();
    }
    check_cost(&figures, &talk, &asked);
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
    println!(
        "{} prompts, tools {tools}: {mean} tokens each; {:.1} % shared",
        prompts.len(),
        share * 100.0
    );
    share
}

#[tokio::test]
async fn prompts_of_a_recorded_talk_begin_with_the_same_text() {
    for (tools, least) in [(true, 0.85), (false, 0.80)] {
        let share = replayed(tools).await;
        assert!(share >= least, "tools {tools}: {share}");
    }
}

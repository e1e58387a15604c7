//! A small model by rules. It learns from sentences of a few forms, and summarises decisions and
//! open questions. What a real model understands is not measured here, but what the program makes of
//! its answers.

use galatea_core::model::{TextAnswer, TextRequest};
use galatea_testkit::models::ScriptedModel;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::models::prompt;

/// The model.
pub(crate) fn model() -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::answering(|request| Ok(answer(request))))
}

fn answer(request: &TextRequest) -> TextAnswer {
    let asked = prompt(request);
    let text = if asked.contains("# Summary so far") {
        summary(&asked)
    } else if asked.contains("# What is known of the person") {
        profile(&asked)
    } else if asked.contains("# Conversation, until") {
        lesson(&asked).to_string()
    } else {
        "nothing".to_owned()
    };
    ScriptedModel::text(text)
}

/// All facts in one sentence.
fn profile(asked: &str) -> String {
    let facts = asked.lines().filter_map(|line| line.strip_prefix("- "));
    let texts: Vec<&str> = facts.filter_map(|fact| fact.split(" (").next()).collect();
    format!("Known in short: {}.", texts.join("; "))
}

/// Sentences with a decision or an open question, in the order in which they were said.
fn summary(asked: &str) -> String {
    let (_, rest) = asked.split_once("# Summary so far\n").unwrap_or_default();
    let (old, lines) = rest.split_once("\n\n# Messages\n").unwrap_or((rest, ""));
    let mut kept: Vec<String> = if old == "(none)" {
        Vec::new()
    } else {
        old.split_inclusive(". ").map(|sentence| sentence.trim().to_owned()).collect()
    };
    for line in lines.lines() {
        let Some((name, said)) = line.split_once(": ") else { continue };
        if said.starts_with("Decided:") || said.starts_with("Still open:") {
            kept.push(format!("{name} said {}.", said.trim_end_matches('.')));
        }
    }
    kept.join(" ")
}

/// Facts of three forms: "I live in X", "My THING is X", and "WHO told me: NAME does X".
fn lesson(asked: &str) -> Value {
    let known: Vec<(&str, &str)> = asked
        .lines()
        .filter(|line| line.starts_with('k'))
        .filter_map(|line| line.split_once(' '))
        .collect();
    let mut facts = Vec::new();
    for line in asked.lines().filter(|line| line.starts_with('m')) {
        let Some((number, rest)) = line.split_once(' ') else { continue };
        let Some((name, said)) = rest.split_once(": ") else { continue };
        let evidence = json!([number]);
        let about = |topic: &str| {
            let same = |(_, fact): &&(&str, &str)| {
                fact.starts_with(&format!("{name}:")) && fact.contains(topic)
            };
            known.iter().find(same).map(|(k, _)| Value::from(*k))
        };
        if let Some(city) = said.strip_prefix("I live in ") {
            let fact = format!("lives in {city}");
            facts
                .push(json!({ "fact": fact, "evidence": evidence, "replaces": about("lives in") }));
        } else if let Some((thing, value)) =
            said.strip_prefix("My ").and_then(|rest| rest.split_once(" is "))
        {
            let fact = format!("the {thing} is {value}");
            let replaces = about(&format!("the {thing} is"));
            facts.push(json!({ "fact": fact, "evidence": evidence, "replaces": replaces }));
        } else if let Some(heard) = said.strip_prefix("I heard that ") {
            let who = heard.split(' ').next().unwrap_or_default();
            facts.push(json!({ "about": who, "fact": heard, "evidence": evidence }));
        }
    }
    json!({ "facts": facts })
}

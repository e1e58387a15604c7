//! True and invented facts of `tests/facts`, written for this check, and what a small model made of
//! whole talks.

use galatea_core::EntityId;
use serde::Deserialize;
use std::collections::BTreeMap;

use super::*;
use crate::fold::fold;

const GOOD: &str = include_str!("../../../../../tests/facts/good.jsonl");
const BAD: &str = include_str!("../../../../../tests/facts/bad.jsonl");
/// People of all talks.
const PEOPLE: [&str; 12] =
    ["Alice", "Bob", "Carl", "Ann", "Zoe", "Max", "Kim", "Dev", "Maria", "Tom", "Eva", "Sam"];

#[derive(Debug, Deserialize)]
struct Line {
    by: String,
    said: String,
}

#[derive(Debug, Deserialize)]
struct Case {
    by: String,
    said: String,
    about: String,
    fact: String,
    before: Option<Line>,
}

fn check(case: &Case) -> Result<(), Ungrounded> {
    let mut ids: BTreeMap<&str, EntityId> = BTreeMap::new();
    let before = case.before.as_ref().map(|line| line.by.as_str());
    for name in PEOPLE.into_iter().chain([case.by.as_str(), &case.about]).chain(before) {
        ids.entry(name).or_insert_with(EntityId::fresh);
    }
    let names: Vec<(String, EntityId)> = ids.iter().map(|(name, id)| (fold(name), *id)).collect();
    let claim = Statement {
        text: &case.fact,
        subject: ids[case.about.as_str()],
        name: &case.about,
        names: &names,
    };
    let before = case.before.as_ref().map(|line| (ids[line.by.as_str()], line.said.as_str()));
    grounded(&claim, &[EvidenceMessage { author: ids[case.by.as_str()], text: &case.said, before }])
}

fn cases(text: &str) -> Vec<Case> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn true_facts_stay() {
    let cases = cases(GOOD);
    assert!(cases.len() >= 60);
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| Some(format!("{} / {}: {:?}", case.said, case.fact, check(case).err()?)))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn invented_facts_are_dropped() {
    let cases = cases(BAD);
    assert!(cases.len() >= 60);
    let wrong: Vec<String> = cases
        .iter()
        .filter(|case| check(case).is_ok())
        .map(|case| format!("{} / {}", case.said, case.fact))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

//! The last step of reading an answer: what is said here is freed of the prompt's own form, of calls
//! written as text, of others' lines and of repetitions. Where nothing remains, the answer counts as
//! unusable and the model is asked again.

use galatea_core::action::ActionDocs;
use serde_json::Value;
use std::sync::Arc;

use super::{
    call_body::Call,
    echo, form, inner, loose,
    names::{self, Names},
    own_name, repeat,
    talk::Talk,
    types::{CALL_AS_TEXT, MAX_ACTIONS, Parsed, PlannedAction, Repairs},
    voices,
};

/// Says something in another place; in this one, its words are the answer.
const SEND: &str = "SEND_MESSAGE";
const TARGET: [&str; 4] = ["target", "recipient", "to", "room"];
/// Rounds: what a call carries may have the form of the prompt again.
const ROUNDS: usize = 3;

/// Frees what is said of all that is not words, in the light of the talk that it belongs to.
pub(crate) fn tidy(parsed: &mut Parsed, talk: &Talk, known_actions: &[Arc<ActionDocs>]) {
    let names = Names::new(known_actions);
    let mut repairs = Repairs(std::mem::take(&mut parsed.repairs));
    let before = parsed.plan.text.clone();
    say_here(parsed, talk, &mut repairs);
    let mut text = std::mem::take(&mut parsed.plan.text);
    for _ in 0..ROUNDS {
        text = form::clean(&text, talk, &mut repairs);
        let Some(found) = loose::take_out(&text, &names, talk, &mut repairs) else { break };
        text = found.rest;
        for call in found.calls {
            add(parsed, call, &names, talk, &mut text);
        }
    }
    if loose::is_broken_call(&text, talk) {
        repairs.note(CALL_AS_TEXT);
        text.clear();
    }
    text = inner::cut(&text, talk, &names, &mut repairs);
    text = voices::cut(&text, talk, &mut repairs);
    // A line of the asker calls the agent, and it stands behind the name that was taken off.
    if let Some(rest) = own_name::without_name(&text, talk.own.iter().map(String::as_str)) {
        repairs.note("the agent's name in front taken off");
        text = rest.to_owned();
    }
    text = echo::cut(&text, talk, &mut repairs).to_owned();
    if !talk.wants_repeats() {
        text = repeat::cut(&text, &mut repairs);
    }
    text.truncate(text.trim_end().len());
    if text != before {
        replace(parsed, &before, &text);
    }
    parsed.plan.text = text;
    parsed.usable = parsed.plan.does_something() || !parsed.plan.providers.is_empty();
    parsed.repairs = repairs.0;
}

/// Takes a message to this place or to the person who is answered as the answer itself.
fn say_here(parsed: &mut Parsed, talk: &Talk, repairs: &mut Repairs) {
    let mut said = Vec::new();
    let as_text = repairs.0.contains(&CALL_AS_TEXT);
    parsed.plan.actions.retain(|action| {
        let words =
            (action.name == SEND).then(|| words_for_here(&action.params, talk, as_text)).flatten();
        let stays = words.is_none();
        said.extend(words);
        stays
    });
    if said.is_empty() {
        return;
    }
    repairs.note("message to this place said as the answer");
    for words in said {
        join(&mut parsed.plan.text, &words);
    }
    if !parsed.plan.actions.iter().any(|action| action.name == names::REPLY) {
        parsed.plan.actions.insert(0, reply());
    }
}

fn words_for_here(params: &Value, talk: &Talk, as_text: bool) -> Option<String> {
    let get = |key: &str| params.get(key).and_then(Value::as_str);
    let target = TARGET.iter().find_map(|key| get(key)).unwrap_or_default();
    let words = ["text", "message", "content"].iter().find_map(|key| get(key))?.trim();
    (talk.is_here(target, as_text) && !words.is_empty()).then(|| words.to_owned())
}

/// Adds a call that stood among the words: its words are said, or it is done.
fn add(parsed: &mut Parsed, call: Call, names: &Names<'_>, talk: &Talk, text: &mut String) {
    let (name, params) = call;
    match names.resolve(&name) {
        Some(names::REPLY) => {
            if let Some(words) = loose::spoken(names::REPLY, &params) {
                join(text, &words);
            }
        }
        Some(names::IGNORE | names::NONE) => {}
        Some(known) => {
            if let Some(words) =
                (known == SEND).then(|| words_for_here(&params, talk, true)).flatten()
            {
                join(text, &words);
                return;
            }
            let is_there = |action: &PlannedAction| action.name == known;
            if parsed.plan.actions.len() < MAX_ACTIONS && !parsed.plan.actions.iter().any(is_there)
            {
                let params = if params.is_object() { params } else { serde_json::json!({}) };
                parsed.plan.actions.push(PlannedAction { name: known.to_owned(), params });
            }
        }
        None => match loose::spoken(&name, &params) {
            Some(words) => join(text, &words),
            None if names::same(&name, SEND) => {
                if let Some(words) = words_for_here(&params, talk, true) {
                    join(text, &words);
                } else {
                    parsed.unknown.push(name);
                }
            }
            None => parsed.unknown.push(name),
        },
    }
}

fn join(text: &mut String, words: &str) {
    if text.contains(words) {
        return;
    }
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(words);
}

/// The words stand in the arguments of `REPLY`, too; without words, it has nothing to say.
fn replace(parsed: &mut Parsed, before: &str, text: &str) {
    let actions = &mut parsed.plan.actions;
    if text.is_empty() {
        actions.retain(|action| action.name != names::REPLY);
        return;
    }
    for action in actions.iter_mut().filter(|action| action.name == names::REPLY) {
        let said = action.params.get("text").and_then(Value::as_str);
        if said.is_none_or(|said| said == before)
            && let Value::Object(map) = &mut action.params
        {
            map.insert("text".to_owned(), text.into());
        }
    }
    if actions.is_empty() {
        actions.push(PlannedAction { params: serde_json::json!({ "text": text }), ..reply() });
    }
}

fn reply() -> PlannedAction {
    PlannedAction { name: names::REPLY.to_owned(), params: serde_json::json!({}) }
}

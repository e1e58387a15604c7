//! Which JSON is a plan or a call of a tool, where the prompt asks for words.

use serde_json::{Map, Value};

use super::{
    envelope::{self, Draft},
    json,
    names::Names,
    types::{AnswerForm, MAX_ACTIONS},
};

const THOUGHT: [&str; 4] = ["thought", "thoughts", "thinking", "reasoning"];
const DOES: [&str; 3] = ["actions", "action", "providers"];
/// What else a plan may have.
const BESIDE: [&str; 4] = ["text", "params", "parameters", "simple"];
/// What models write for `text`.
const SAYS: [&str; 4] = ["text", "reply", "message", "response"];
const NAME: [&str; 3] = ["name", "tool", "function"];
const ARGUMENTS: [&str; 5] = ["arguments", "params", "parameters", "args", "input"];

/// Reads a value as a plan; none if it is words. `is_torn` says that its end is missing.
pub(super) fn read(
    value: &Value,
    form: AnswerForm,
    names: &Names<'_>,
    is_torn: bool,
) -> Option<Draft> {
    let mut draft = match value {
        Value::Object(map) if is_call(map, names) || is_plan(map, form, is_torn) => {
            envelope::from_object(map, names)
        }
        Value::Object(map) if form != AnswerForm::Words => acting(map, names)?,
        Value::Array(list) => calls(list, names).or_else(|| plans(list, form, names, is_torn))?,
        _ => return None,
    };
    draft.torn = is_torn && !envelope::ends_in_words(value);
    Some(draft)
}

/// Whether an object is a plan by its keys. Where no JSON was asked for, it has no other key, and
/// words alone make none.
fn is_plan(map: &Map<String, Value>, form: AnswerForm, is_torn: bool) -> bool {
    let only = |keys: &[&str]| map.len() == 1 && map.keys().all(|key| is_one(key, keys));
    if only(&["response", "plan"])
        && let Some(inner) = map.values().next().and_then(Value::as_object)
    {
        return is_plan(inner, form, is_torn);
    }
    if form != AnswerForm::Words && is_thinking(map, is_torn) {
        return true;
    }
    let known = |key: &String| [&THOUGHT[..], &DOES, &BESIDE].iter().any(|keys| is_one(key, keys));
    // With a thought beside it, it is a plan whose words cannot be read: the model is asked again.
    let is_text = has(map, &THOUGHT)
        || map
            .iter()
            .filter(|(key, _)| is_one(key, &["text"]))
            .all(|(_, value)| value.is_string() || value.is_null() || value.is_array());
    let says = match form {
        AnswerForm::Words => has(map, &DOES) || has(map, &THOUGHT) && has(map, &["text"]),
        AnswerForm::JsonOrWords | AnswerForm::Envelope => {
            has(map, &DOES) || has(map, &THOUGHT) || has(map, &["text"]) || is_torn
        }
    };
    map.keys().all(known) && is_text && says
}

/// Whether an object has a thought and what the prompt asks for beside it, whatever else it has.
pub(super) fn is_thinking(map: &Map<String, Value>, is_torn: bool) -> bool {
    // People ask for a `reasoning` with an `answer`, but not for the prompt's own `thought`.
    let own = has(map, &["thought", "thoughts"]) && has(map, &["answer", "content"]);
    own || has(map, &THOUGHT) && (has(map, &DOES) || has(map, &SAYS) || is_torn)
}

/// A plan with keys that the prompt does not ask for: it says something, and names an action of ours.
fn acting(map: &Map<String, Value>, names: &Names<'_>) -> Option<Draft> {
    let draft = envelope::from_object(map, names);
    let acts = draft.actions.iter().any(|(name, _)| names.has(name));
    (has(map, &["actions"]) && has(map, &["text"]) && acts).then_some(draft)
}

/// A list of calls, of which one at least is of a tool that exists.
fn calls(list: &[Value], names: &Names<'_>) -> Option<Draft> {
    let calls: Option<Vec<_>> = list
        .iter()
        .map(|item| item.as_object().and_then(|map| Some((map, called(map)?))))
        .collect();
    let calls = calls.filter(|calls| calls.iter().any(|(_, name)| names.has(name)))?;
    let mut draft = Draft::default();
    for (map, name) in calls.into_iter().take(MAX_ACTIONS) {
        match names.resolve(name) {
            Some(_) => draft.merge(envelope::from_object(map, names)),
            None => draft.unknown.push(name.to_owned()),
        }
    }
    Some(draft)
}

/// A list of plans, each with a thought.
fn plans(list: &[Value], form: AnswerForm, names: &Names<'_>, is_torn: bool) -> Option<Draft> {
    let is_plan = |item: &Value| item.as_object().is_some_and(|map| is_thinking(map, is_torn));
    if form == AnswerForm::Words || list.is_empty() || !list.iter().all(is_plan) {
        return None;
    }
    let mut draft = Draft::default();
    for map in list.iter().filter_map(Value::as_object) {
        draft.add_plan(envelope::from_object(map, names));
    }
    Some(draft)
}

/// Whether an object is the call of a tool that exists, by its own name.
fn is_call(map: &Map<String, Value>, names: &Names<'_>) -> bool {
    called(map).is_some_and(|name| names.has(name))
}

/// The tool that an object calls; none if it is not the call of one.
fn called(map: &Map<String, Value>) -> Option<&str> {
    let get = |keys: &[&str]| map.iter().find(|(key, _)| is_one(key, keys)).map(|(_, value)| value);
    let known = |key: &String| {
        is_one(key, &NAME) || is_one(key, &ARGUMENTS) || is_one(key, &["type", "id"])
    };
    if !map.keys().all(known) {
        return None;
    }
    match get(&["function"]).or_else(|| get(&NAME))? {
        Value::Object(inner) => called(inner),
        Value::String(name) => {
            let arguments = match get(&ARGUMENTS)? {
                Value::Object(_) => true,
                Value::String(text) => json::whole(text).is_some_and(|v| v.is_object()),
                _ => false,
            };
            arguments.then_some(name)
        }
        _ => None,
    }
}

fn has(map: &Map<String, Value>, keys: &[&str]) -> bool {
    map.keys().any(|key| is_one(key, keys))
}

fn is_one(key: &str, of: &[&str]) -> bool {
    of.iter().any(|known| key.eq_ignore_ascii_case(known))
}

//! An answer whose prompt asks for words. It is a plan only if the whole of it has the shape of one,
//! and words as written otherwise: people ask for JSON and talk about XML, too.

use serde_json::{Map, Value};

use super::{
    envelope::{self, Draft},
    json::{self, TORN, value_at},
    names::{self, Names},
    tag::{WRAPPER, tag_at},
    types::{AnswerForm, PlanFormat, Repairs},
    xml,
};

const THOUGHT: [&str; 4] = ["thought", "thoughts", "thinking", "reasoning"];
const DOES: [&str; 3] = ["actions", "action", "providers"];
/// What else a plan may have.
const BESIDE: [&str; 4] = ["text", "params", "parameters", "simple"];
const NAME: [&str; 3] = ["name", "tool", "function"];
const ARGUMENTS: [&str; 5] = ["arguments", "params", "parameters", "args", "input"];
/// Elements that an envelope begins with.
const FIRST: [&str; 5] = ["thought", "text", "actions", "action", "providers"];

/// Reads the answer, without its reasoning, as a plan; none if it is words.
pub(super) fn read(
    body: &str,
    form: AnswerForm,
    names: &Names<'_>,
    repairs: &mut Repairs,
) -> Option<(PlanFormat, Draft)> {
    let inner = without_fence(body.trim());
    let mut notes = Repairs::default();
    let found = match inner.as_bytes().first()? {
        b'<' => xml_plan(inner, &mut notes).map(|draft| (PlanFormat::Xml, draft)),
        b'{' | b'[' => {
            json_plan(inner, form, names, &mut notes).map(|draft| (PlanFormat::Json, draft))
        }
        _ => None,
    };
    if found.is_some() {
        notes.0.into_iter().for_each(|note| repairs.note(note));
    }
    found
}

/// What is inside of one code block around everything. An answer that was cut off may lack its end.
fn without_fence(body: &str) -> &str {
    let Some(rest) = body.strip_prefix("```") else { return body };
    let label = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let inner = rest[label..].trim();
    let inner = inner.strip_suffix("```").map_or(inner, str::trim_end);
    if inner.contains("```") { body } else { inner }
}

/// `<response>` with elements of ours, from the first character to the last.
fn xml_plan(inner: &str, notes: &mut Repairs) -> Option<Draft> {
    let tag = tag_at(inner).filter(|tag| tag.is(WRAPPER) && !tag.closing)?;
    let end = inner.rfind("</").filter(|at| *at >= tag.len)?;
    let closes = tag_at(&inner[end..]).is_some_and(|t| t.is(WRAPPER) && end + t.len == inner.len());
    let content = inner[tag.len..end].trim();
    let begins =
        tag_at(content).is_some_and(|tag| !tag.closing && FIRST.iter().any(|name| tag.is(name)));
    if !closes || !(content.is_empty() || begins) {
        return None;
    }
    let found = xml::find(inner).filter(|found| found.at == 0)?;
    Some(xml::read(inner, &found, notes))
}

fn json_plan(
    inner: &str,
    form: AnswerForm,
    names: &Names<'_>,
    notes: &mut Repairs,
) -> Option<Draft> {
    let (value, end) = value_at(inner, notes);
    if end < inner.len() {
        return None;
    }
    let is_torn = notes.0.contains(&TORN);
    let mut draft = Draft::default();
    match &value {
        Value::Object(map) if is_plan(map, form, is_torn) || is_call(map, names) => {
            draft.merge(envelope::from_object(map, names));
        }
        Value::Array(list) if !list.is_empty() => {
            for item in list {
                let map = item.as_object().filter(|map| is_call(map, names))?;
                draft.merge(envelope::from_object(map, names));
            }
        }
        _ => return None,
    }
    draft.torn = is_torn && !envelope::ends_in_words(&value);
    Some(draft)
}

/// Whether an object has the keys of a plan and no other. Where no JSON was asked for, words alone
/// make none.
fn is_plan(map: &Map<String, Value>, form: AnswerForm, is_torn: bool) -> bool {
    let only = |keys: &[&str]| map.len() == 1 && map.keys().all(|key| is_one(key, keys));
    if only(&["response", "plan"])
        && let Some(inner) = map.values().next().and_then(Value::as_object)
    {
        return is_plan(inner, form, is_torn);
    }
    let has = |keys: &[&str]| map.keys().any(|key| is_one(key, keys));
    let known = |key: &String| [&THOUGHT[..], &DOES, &BESIDE].iter().any(|keys| is_one(key, keys));
    let is_text = map
        .iter()
        .filter(|(key, _)| is_one(key, &["text"]) || is_one(key, &THOUGHT))
        .all(|(_, value)| value.is_string() || value.is_null() || value.is_array());
    let says = match form {
        AnswerForm::Words => has(&DOES) || has(&THOUGHT) && has(&["text"]),
        AnswerForm::JsonOrWords | AnswerForm::Envelope => {
            has(&DOES) || has(&THOUGHT) || has(&["text"]) || is_torn
        }
    };
    map.keys().all(known) && is_text && says
}

/// Whether an object is the call of a tool that exists, by its own name.
fn is_call(map: &Map<String, Value>, names: &Names<'_>) -> bool {
    let get = |keys: &[&str]| map.iter().find(|(key, _)| is_one(key, keys)).map(|(_, value)| value);
    let known = |key: &String| {
        is_one(key, &NAME) || is_one(key, &ARGUMENTS) || is_one(key, &["type", "id"])
    };
    if !map.keys().all(known) {
        return false;
    }
    match get(&["function"]).or_else(|| get(&NAME)) {
        Some(Value::Object(inner)) => is_call(inner, names),
        Some(Value::String(name)) => {
            let arguments = match get(&ARGUMENTS) {
                Some(Value::Object(_)) => true,
                Some(Value::String(text)) => json::whole(text).is_some_and(|v| v.is_object()),
                _ => false,
            };
            arguments && names.resolve(name).is_some_and(|known| names::same(known, name))
        }
        _ => false,
    }
}

fn is_one(key: &str, of: &[&str]) -> bool {
    of.iter().any(|known| key.eq_ignore_ascii_case(known))
}

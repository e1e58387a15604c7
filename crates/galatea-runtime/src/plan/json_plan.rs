//! A plan, or a call of a tool, as JSON: the whole answer, or among words where the prompt asked
//! for a plan.

use serde_json::{Map, Value};

use super::{
    call_body,
    envelope::{self, Draft},
    json::{LONGEST_KEY, TORN, value_at},
    names::Names,
    types::{AnswerForm, Repairs, WORDS_AROUND},
    xml,
};

/// Values that are read before the answer counts as words.
const MAX_TRIED: usize = 8;
const THOUGHT: [&str; 4] = ["thought", "thoughts", "thinking", "reasoning"];
const DOES: [&str; 3] = ["actions", "action", "providers"];
/// Further keys of a plan.
const BESIDE: [&str; 4] = ["text", "params", "parameters", "simple"];
/// Keys that models write for `text`.
const SAYS: [&str; 4] = ["text", "reply", "message", "response"];

/// A value in an answer.
struct Found {
    value: Value,
    start: usize,
    end: usize,
    /// Only space and the first line of a code block stand in front of it.
    begins: bool,
    begins_line: bool,
    torn: bool,
    notes: Repairs,
}

/// The place where an envelope may begin.
pub(super) fn find(body: &str) -> Option<usize> {
    values(body, AnswerForm::Envelope).next().map(|found| found.start)
}

/// Reads the first envelope. In the middle of prose it has two of the plan's keys: people talk about
/// JSON, too.
pub(super) fn envelope(body: &str, names: &Names<'_>, repairs: &mut Repairs) -> Option<Draft> {
    values(body, AnswerForm::Envelope).find_map(|found| {
        let mut draft = Draft::default();
        let mut keys = 0;
        for map in objects(&found.value) {
            keys = keys.max(envelope::plan_keys(map));
            draft.merge(envelope::from_object(map, names));
        }
        draft.torn = found.torn && !envelope::ends_in_words(&found.value);
        let is_plan = draft.is_plan(names);
        let is_cut = found.begins && found.end >= body.len() && (keys > 0 || found.torn);
        if !(is_plan && (found.begins || keys >= 2) || !is_plan && is_cut) {
            return None;
        }
        repairs.extend(found.notes);
        let behind = body[found.end..].trim().trim_matches('`').trim();
        if !found.begins || !behind.is_empty() {
            repairs.note(WORDS_AROUND);
        }
        Some(draft)
    })
}

/// Reads the plans of an answer that is none as a whole; none if it is words. Each has a thought,
/// and begins a line or ends the answer.
pub(super) fn among_words(body: &str, names: &Names<'_>, repairs: &mut Repairs) -> Option<Draft> {
    let mut plans: Option<Draft> = None;
    let mut passed = 0;
    for found in values(body, AnswerForm::JsonOrWords) {
        let stands_apart = found.begins_line || body[found.end..].trim().is_empty();
        let thinks = found.value.as_object().is_some_and(|map| is_thinking(map, found.torn));
        if found.start < passed || !thinks || !stands_apart {
            continue;
        }
        let Some(draft) = plan_of(&found.value, AnswerForm::JsonOrWords, names, found.torn) else {
            continue;
        };
        plans.get_or_insert_default().add_plan(draft);
        repairs.note(WORDS_AROUND);
        repairs.extend(found.notes);
        passed = found.end;
    }
    plans
}

/// Reads the whole text as a plan; none if it is words.
pub(super) fn whole(
    text: &str,
    form: AnswerForm,
    names: &Names<'_>,
    notes: &mut Repairs,
) -> Option<Draft> {
    let (value, end) = value_at(text, notes);
    if end < text.len() {
        return None;
    }
    plan_of(&value, form, names, notes.0.contains(&TORN))
}

/// Objects and lists that may be plans. Sound JSON of another kind is passed over with all that it
/// contains.
fn values(body: &str, form: AnswerForm) -> impl Iterator<Item = Found> + '_ {
    let lead = xml::lead_in(body);
    let (mut at, mut tried) = (0, 0);
    std::iter::from_fn(move || {
        while tried < MAX_TRIED {
            let start = at + body[at..].find(['{', '['])?;
            at = start + 1;
            let before = body[..start].trim_end_matches([' ', '\t']);
            let begins = start == lead;
            let begins_line = before.is_empty() || before.ends_with('\n');
            let key = first_key(&body[at..]);
            let may_be = match body.as_bytes()[start] {
                b'{' => {
                    key == FirstKey::Ours
                        || begins && key == FirstKey::Torn
                        || begins_line && form != AnswerForm::Envelope
                }
                _ if form == AnswerForm::Envelope => {
                    begins
                        && list_at(body, lead)
                            .is_some_and(|at| first_key(&body[at + 1..]) != FirstKey::Other)
                }
                _ => begins_line && body[at..].trim_start().starts_with('{'),
            };
            if !may_be {
                continue;
            }
            tried += 1;
            let mut notes = Repairs::default();
            let (value, length) = value_at(&body[start..], &mut notes);
            let end = start + length;
            if notes.0.is_empty() {
                at = end;
            }
            let torn = notes.0.contains(&TORN);
            return Some(Found { value, start, end, begins, begins_line, torn, notes });
        }
        None
    })
}

/// The first object of a list that the answer begins with.
fn list_at(body: &str, lead: usize) -> Option<usize> {
    let rest = body[lead..].strip_prefix('[')?.trim_start();
    rest.starts_with('{').then(|| body.len() - rest.len())
}

fn objects(value: &Value) -> impl Iterator<Item = &Map<String, Value>> {
    let list = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
    list.iter().filter_map(Value::as_object)
}

/// Reads a value as a plan; none if it is words. `is_torn` says that its end is missing.
fn plan_of(value: &Value, form: AnswerForm, names: &Names<'_>, is_torn: bool) -> Option<Draft> {
    let mut draft = match value {
        Value::Object(map) if is_plan(map, form, is_torn) => envelope::from_object(map, names),
        _ => calls(value, names).or_else(|| match value {
            _ if form == AnswerForm::Words => None,
            Value::Object(map) => acting(map, names),
            Value::Array(list) => plans(list, names, is_torn),
            _ => None,
        })?,
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

/// Whether an object has a thought and, beside it, what the prompt asks for, whatever else it has.
fn is_thinking(map: &Map<String, Value>, is_torn: bool) -> bool {
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

/// Calls of tools, at least one of which exists.
fn calls(value: &Value, names: &Names<'_>) -> Option<Draft> {
    let calls = Some(call_body::of_value(value)).filter(|_| call_body::is_only_calls(value))?;
    if !calls.iter().any(|(name, _)| names.has(name)) {
        return None;
    }
    let mut draft = Draft::default();
    for (name, arguments) in calls {
        match names.resolve(&name) {
            Some(_) => draft.actions.push((name, arguments)),
            None => draft.unknown.push(name),
        }
    }
    Some(draft)
}

/// A list of plans, each with a thought.
fn plans(list: &[Value], names: &Names<'_>, is_torn: bool) -> Option<Draft> {
    let is_plan = |item: &Value| item.as_object().is_some_and(|map| is_thinking(map, is_torn));
    if list.is_empty() || !list.iter().all(is_plan) {
        return None;
    }
    let mut draft = Draft::default();
    for map in list.iter().filter_map(Value::as_object) {
        draft.add_plan(envelope::from_object(map, names));
    }
    Some(draft)
}

fn has(map: &Map<String, Value>, keys: &[&str]) -> bool {
    map.keys().any(|key| is_one(key, keys))
}

fn is_one(key: &str, of: &[&str]) -> bool {
    of.iter().any(|known| key.eq_ignore_ascii_case(known))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstKey {
    Ours,
    Torn,
    Other,
}

/// Looks at the first key only, so that an object costs nothing unless it may be a plan.
fn first_key(rest: &str) -> FirstKey {
    let key = rest.trim_start().trim_start_matches(['"', '\'', '“', '`']);
    let len = key
        .bytes()
        .take(LONGEST_KEY)
        .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_')
        .count();
    let (word, after) = key.split_at(len);
    let begins =
        |known: &str| known.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    if after.is_empty() && (word.is_empty() || envelope::keys().any(begins)) {
        FirstKey::Torn
    } else if !after.is_empty() && envelope::keys().any(|known| known.eq_ignore_ascii_case(word)) {
        FirstKey::Ours
    } else {
        FirstKey::Other
    }
}

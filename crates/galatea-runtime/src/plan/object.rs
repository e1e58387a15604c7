//! A plan as a JSON object, by itself or among words.

use serde_json::Value;

use super::{
    envelope::{self, Draft},
    json::{LONGEST_KEY, TORN, value_at},
    names::Names,
    types::Repairs,
    xml,
};

/// Objects that are tried before the text counts as words.
const MAX_CANDIDATES: usize = 8;

/// Where an envelope may begin.
pub(super) fn find(body: &str) -> Option<usize> {
    candidates(body).next().map(|c| c.at)
}

/// Reads the first object that is an envelope. In the middle of prose it takes more than one of our
/// keys: people talk about JSON too.
pub(super) fn read(body: &str, names: &Names<'_>, repairs: &mut Repairs) -> Option<Draft> {
    for candidate in candidates(body).take(MAX_CANDIDATES) {
        let mut notes = Repairs::default();
        let (value, end) = value_at(&body[candidate.at..], &mut notes);
        let mut draft = Draft::default();
        let mut keys = 0;
        let objects = match &value {
            Value::Array(list) => list.iter().collect(),
            other => vec![other],
        };
        for map in objects.into_iter().filter_map(Value::as_object) {
            keys = keys.max(envelope::plan_keys(map));
            draft.merge(envelope::from_object(map, names));
        }
        draft.torn = notes.0.contains(&TORN) && !envelope::ends_in_words(&value);
        let torn = candidate.at_start
            && end >= body.len() - candidate.at
            && !draft.is_plan(names)
            && (keys > 0 || candidate.torn || notes.0.contains(&TORN));
        if (draft.is_plan(names) && (candidate.at_start || keys >= 2)) || torn {
            notes.0.into_iter().for_each(|n| repairs.note(n));
            let around = body[candidate.at..][end..].trim().trim_matches('`').trim();
            if !candidate.at_start || !around.is_empty() {
                repairs.note("words around the JSON left out");
            }
            return Some(draft);
        }
    }
    None
}

struct Candidate {
    at: usize,
    at_start: bool,
    /// Cut off before its first key was complete.
    torn: bool,
}

fn candidates(body: &str) -> impl Iterator<Item = Candidate> + '_ {
    let start = xml::lead_in(body);
    let list = body[start..]
        .starts_with('[')
        .then(|| body[start + 1..].trim_start())
        .filter(|rest| rest.starts_with('{'))
        .map(|rest| body.len() - rest.len());
    body.match_indices('{').filter_map(move |(at, _)| {
        let at_start = at == start || list == Some(at);
        let torn = match first_key(&body[at + 1..]) {
            FirstKey::Ours => false,
            FirstKey::Torn if at_start => true,
            _ => return None,
        };
        let at = if list == Some(at) { start } else { at };
        Some(Candidate { at, at_start, torn })
    })
}

/// Whether what follows a bracket begins with a key of a plan.
pub(super) fn begins_like_plan(rest: &str) -> bool {
    matches!(first_key(rest), FirstKey::Ours)
}

enum FirstKey {
    Ours,
    Torn,
    Other,
}

/// Looks at the first key only, so that an object costs nothing unless it may be a plan.
fn first_key(rest: &str) -> FirstKey {
    let rest = rest.trim_start();
    let key = rest.trim_start_matches(['"', '\'', '“', '`']);
    let len = key
        .bytes()
        .take(LONGEST_KEY)
        .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_')
        .count();
    let (word, after) = key.split_at(len);
    if after.is_empty() {
        let torn = word.is_empty()
            || envelope::KEYS
                .iter()
                .any(|k| k.len() >= word.len() && k[..word.len()].eq_ignore_ascii_case(word));
        return if torn { FirstKey::Torn } else { FirstKey::Other };
    }
    if envelope::KEYS.iter().any(|k| k.eq_ignore_ascii_case(word)) {
        FirstKey::Ours
    } else {
        FirstKey::Other
    }
}

//! Calls of tools that stand in an answer without any mark: `SEND_MESSAGE(target="Ada")`, a line
//! `Action: …`, a JSON object that names a tool.

use serde_json::Value;

use super::{
    call_body::{self, Call, function_at, is_constant, of_value, value_at},
    names::Names,
    quoted::is_in_code,
    tag::tag_at,
    talk::Talk,
    tree,
    types::{CALL_AS_TEXT, Repairs},
};

/// Places that are looked at.
const MAX_TRIED: usize = 16;
/// Keys under which an object carries the words of an answer.
const WORDS: [&str; 12] = [
    "text",
    "message",
    "content",
    "answer",
    "response",
    "reply",
    "output",
    "body",
    "msg",
    "final_answer",
    "result",
    "say",
];
/// Parts of the names of tools that models make up to answer with.
const SPEAKING: [&str; 12] = [
    "reply", "respond", "response", "answer", "say", "speak", "chat", "message", "final", "tell",
    "talk", "greet",
];

/// An answer without its calls.
pub(super) struct Loose {
    /// The words around the calls.
    pub(super) rest: String,
    pub(super) calls: Vec<Call>,
}

/// Takes calls out of words; none if there are none. Where code was asked for, only the whole answer
/// is looked at, and only for a tool that exists.
pub(super) fn take_out(
    text: &str,
    names: &Names<'_>,
    talk: &Talk,
    repairs: &mut Repairs,
) -> Option<Loose> {
    let found = if talk.wants_code() {
        None
    } else {
        reasoning_and_acting(text).or_else(|| lines(text, names)).or_else(|| keys(text))
    }?;
    repairs.note(CALL_AS_TEXT);
    Some(found)
}

/// The words of a call of a tool that exists only to answer; none if it does something else.
pub(super) fn spoken(name: &str, arguments: &Value) -> Option<String> {
    let name = name.to_lowercase();
    let speaks = SPEAKING.iter().any(|part| name.contains(part));
    let map = arguments.as_object()?;
    let words = WORDS.iter().find_map(|key| {
        map.iter().find(|(k, _)| k.eq_ignore_ascii_case(key)).and_then(|(_, v)| v.as_str())
    });
    let only = (map.len() == 1).then(|| map.values().next().and_then(Value::as_str)).flatten();
    let words = words.or(only).map(str::trim).filter(|words| !words.is_empty())?;
    speaks.then(|| words.to_owned())
}

/// `Thought: … Action: NAME Action Input: {…}`, or `Thought: … Final Answer: …`.
fn reasoning_and_acting(text: &str) -> Option<Loose> {
    let line_with = |label: &str| {
        text.split('\n')
            .scan(0, |at, line| {
                let start = *at;
                *at += line.len() + 1;
                Some((start, line))
            })
            .filter_map(|(start, line)| {
                let bare = line.trim_start().trim_start_matches('*');
                let head = bare.get(..label.len())?;
                let from = start + line.len() - bare.len() + label.len();
                head.eq_ignore_ascii_case(label).then_some((start, from))
            })
            .last()
    };
    let thought = line_with("thought:");
    if let Some((_, from)) = line_with("final answer:")
        && (thought.is_some()
            || line_with("action:").is_some()
            || line_with("observation:").is_some())
    {
        let rest = text[from..].trim_start_matches(['*', ' ']).trim().to_owned();
        return Some(Loose { rest, calls: Vec::new() });
    }
    let (start, from) = line_with("action:")?;
    let (_, input) = line_with("action input:").filter(|(at, _)| *at > start)?;
    let name = text[from..].lines().next()?.trim_matches(['*', '`', ' ', '"', '[', ']']);
    let inner = text[input..].trim_start_matches(['*', ' ', '\n']);
    let arguments = if inner.starts_with('{') {
        value_at(inner).0
    } else {
        let line = inner.lines().next().unwrap_or_default().trim().trim_matches('"');
        serde_json::json!({ "text": line })
    };
    let before = &text[..thought.map_or(start, |(at, _)| at.min(start))];
    Some(Loose { rest: before.trim().to_owned(), calls: vec![(name.to_owned(), arguments)] })
}

/// Calls that begin a line or a code block.
fn lines(text: &str, names: &Names<'_>) -> Option<Loose> {
    let (mut rest, mut calls, mut from, mut tried) = (String::new(), Vec::new(), 0, 0);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at + line.len() - line.trim_start().len();
        at += line.len();
        if start < from || line.trim().is_empty() {
            continue;
        }
        tried += 1;
        if tried > MAX_TRIED {
            break;
        }
        let (begin, inner) = fenced(text, start);
        let Some((found, length)) = call_at(&text[inner..], names) else { continue };
        let mut end = inner + length;
        let whole = text[..begin].trim().is_empty()
            && text[end..].trim().trim_matches('`').trim().is_empty();
        let ours = found.iter().any(|(name, _)| names.has(name) || is_simile(names, name));
        let made_up = found.iter().all(|(name, arguments)| {
            is_constant(name) || whole || spoken(name, arguments).is_some()
        });
        let in_code = inner == start && is_in_code(&text[..start]);
        if in_code || !(ours || made_up) || found.is_empty() {
            continue;
        }
        if inner > begin {
            let behind = &text[end..];
            let fence = behind.trim_start();
            if fence.starts_with("```") {
                end = text.len() - fence.len() + 3;
            }
        }
        rest.push_str(&text[from..begin]);
        from = end;
        calls.extend(found);
    }
    if calls.is_empty() {
        return None;
    }
    rest.push_str(&text[from..]);
    Some(Loose { rest: rest.trim().to_owned(), calls })
}

fn is_simile(names: &Names<'_>, name: &str) -> bool {
    is_constant(name) && names.resolve(name).is_some()
}

/// The place of a call, and where it stands in a code block, that of its first character.
fn fenced(text: &str, start: usize) -> (usize, usize) {
    let Some(rest) = text[start..].strip_prefix("```") else { return (start, start) };
    let label = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let inner = rest[label..].trim_start();
    (start, text.len() - inner.len())
}

/// The calls that a text begins with, and their length.
fn call_at(text: &str, names: &Names<'_>) -> Option<(Vec<Call>, usize)> {
    if text.starts_with("{") || text.starts_with("[{") {
        let (value, length) = value_at(text);
        let calls = of_value(&value);
        return (!calls.is_empty()).then_some((calls, length));
    }
    let bare = text.trim_start_matches(['[', '*', '`', '<', '(']);
    let skipped = text.len() - bare.len();
    let length =
        bare.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"_.-".contains(b)).count();
    let (name, behind) = bare.split_at(length);
    if length == 0 {
        return None;
    }
    let closing = |end: usize| {
        let rest = &text[end..];
        end + rest.len() - rest.trim_start_matches([']', '*', '`', ')', '>', ';']).len()
    };
    if bare.starts_with("print(") || behind.starts_with('(') {
        let ((name, arguments), length) = function_at(bare)?;
        let is_name =
            names.has(&name) || name.contains('_') || bare.starts_with("print(default_api");
        if !is_name {
            return None;
        }
        return Some((vec![(name, arguments)], closing(skipped + length)));
    }
    if !is_constant(name) {
        return None;
    }
    // `<SEND_MESSAGE><target>…`
    if text.starts_with('<')
        && let Some(tag) = tag_at(text).filter(|tag| !tag.closing)
    {
        if tag.empty || !tag.attributes.is_empty() {
            return Some((vec![(name.to_owned(), attributes(tag.attributes))], tag.len));
        }
        let close = format!("</{}>", tag.name);
        let end = text.find(&close).unwrap_or(text.len());
        let inner = tree::parse(&text[tag.len..end]);
        return Some((vec![(name.to_owned(), inner)], (end + close.len()).min(text.len())));
    }
    let after = behind.trim_start_matches(['*', '`', ':', ' ', '\n', '-', '>', '=']);
    if after.starts_with('{') {
        let (value, length) = value_at(after);
        let from = text.len() - after.len();
        return Some((vec![(name.to_owned(), value)], closing(from + length)));
    }
    // `[SEND_MESSAGE target="Ada" text="Hi"]`
    let line = behind.lines().next().unwrap_or_default();
    let arguments = attributes(line);
    let given = arguments.as_object().is_some_and(|map| !map.is_empty());
    given.then(|| (vec![(name.to_owned(), arguments)], skipped + length + line.len()))
}

/// `key="value"` pairs.
fn attributes(text: &str) -> Value {
    let mut map = serde_json::Map::new();
    let mut rest = text;
    while let Some((key, behind)) = rest.split_once('=') {
        let key =
            key.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
        let Some(quote) = behind.chars().next().filter(|c| matches!(c, '"' | '\'')) else { break };
        let Some((value, next)) = behind[1..].split_once(quote) else { break };
        if !key.is_empty() {
            map.insert(key.to_owned(), Value::String(value.to_owned()));
        }
        rest = next;
    }
    Value::Object(map)
}

/// An object that carries nothing but the words, or lines `thought: …` and `text: …`.
fn keys(text: &str) -> Option<Loose> {
    let said = |rest: String| Some(Loose { rest, calls: Vec::new() });
    let (_, inner) = fenced(text, 0);
    if text[inner..].starts_with('{') {
        let (value, length) = value_at(&text[inner..]);
        let rest = text[inner + length..].trim().trim_matches('`').trim();
        let map = value.as_object().filter(|_| rest.is_empty())?;
        let words = map.iter().find(|(key, value)| {
            value.is_string() && WORDS.iter().any(|word| key.eq_ignore_ascii_case(word))
        });
        let beside =
            ["thought", "target", "recipient", "to", "source", "actions", "action", "simple"];
        let known = |key: &String| {
            let mut all = WORDS.iter().chain(&beside);
            all.any(|word| key.eq_ignore_ascii_case(word))
        };
        let (_, words) = words.filter(|_| map.len() <= 4 && map.keys().all(known))?;
        return said(words.as_str()?.trim().to_owned());
    }
    let first = text.lines().next()?.trim().to_lowercase();
    if !first.starts_with("thought:") {
        return None;
    }
    let labels = ["text:", "message:", "reply:", "response:", "answer:"];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let lower = line.trim_start().to_lowercase();
        if let Some(label) = labels.iter().find(|label| lower.starts_with(**label)) {
            let from = at + line.len() - line.trim_start().len() + label.len();
            return said(text[from..].trim().trim_matches('"').to_owned());
        }
        at += line.len();
    }
    None
}

/// True if an answer is nothing but a call that could not be read.
pub(super) fn is_broken_call(text: &str, talk: &Talk) -> bool {
    let bare = text.trim().trim_start_matches('`').trim_start_matches("json").trim_start();
    let opens = bare.starts_with('{') || bare.starts_with("[{") || bare.starts_with("{{");
    let names =
        ["\"name\"", "\"function\"", "\"tool\"", "\"arguments\"", "\"parameters\"", "'name'"];
    opens
        && !talk.wants_code()
        && names.iter().filter(|name| bare.contains(**name)).count() >= 2
        && call_body::extract(bare).is_empty()
}

//! Reads from a refusal which field or role of a request was refused. Pure.

use serde_json::Value;
use std::collections::BTreeSet;

use super::{changes, is_system, list_name};
use crate::choices::adjustment::Adjustment;

/// A refusal of a part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RefusedField {
    /// The request may pass with these changes, each of which changes it.
    Adjust(Vec<Adjustment>),
    /// The model takes no tools.
    Tools,
}

/// Words of a refusal of a field; without one, the text is about something else.
const REFUSES: &[&str] = &[
    "unsupported",
    "not support",
    "n't support",
    "unknown",
    "unrecognized",
    "unrecognised",
    "unexpected",
    "extra_forbidden",
    "extra inputs",
    "extra field",
    "extraneous",
    "not permitted",
    "not allowed",
    "not accept",
    "n't accept",
    "not available",
    "additional propert",
    "additionalpropert",
    "invalid param",
    "invalid_param",
    "invalid argument",
    "no such",
    "cannot find field",
    "deprecated",
    "not enabled",
    "cannot both",
    "cannot be used",
    "can't be used",
    "not be used",
    "forbidden",
    "not implemented",
    "not valid",
    "not a valid",
    "undefined field",
    "superfluous",
    "only the default",
    "supports at most",
    "no endpoints found that support",
    "is not one of",
    "must be one of",
    "invalid role",
];

/// Words for messages of one side in a row, or a wrong side at the beginning. From the chat
/// templates of Llama, Gemma and Mistral, and from Perplexity, Google, Anthropic and DeepSeek.
const TURNS: &[&str] = &[
    "must alternate",
    "should alternate",
    "be alternating",
    "alternate between",
    "alternating",
    "successive user",
    "successive assistant",
    "consecutive user",
    "consecutive assistant",
    "consecutive messages",
    "same role",
    "multiturn requests",
    "multi-turn requests",
    "start with a user",
    "starts with a user",
    "begin with a user",
    "begins with a user",
    "first message must use the \"user\"",
    "first message must be",
    "first message should be",
    "first message in the conversation must be",
    "after user role",
    "after role 'user'",
    "after role user",
];

/// Words for a place of the instructions that a template does not take.
const LATE: &[&str] = &[
    "after role",
    "at the beginning",
    "at the start",
    "must be the first",
    "must be first",
    "should be the first",
    "only one system",
    "multiple system",
    "more than one system",
    "initial system",
    "first message",
    "optional system message",
];

/// Words of a server that could not write the conversation in its model's form.
const TEMPLATE: &[&str] = &["jinja", "chat template", "chat_template", "prompt template"];

/// Fields that a request cannot do without, or that mean something else in each place.
const NEEDED: &[&str] = &[
    "model",
    "messages",
    "contents",
    "input",
    "role",
    "content",
    "parts",
    "text",
    "type",
    "function",
    "functiondeclarations",
    "parameters",
    "inputschema",
    "description",
    "source",
    "data",
    "mediatype",
    "mimetype",
    "imageurl",
    "url",
    "inlinedata",
    "tools",
    "toolchoice",
    "system",
    "systeminstruction",
    "instructions",
    "files",
    "prompt",
    "voice",
];

/// The names of the limit of an answer's length in Chat Completions.
const LIMITS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// Reads a refusal of a request, `sent` as it is here. `None` if the refusal is about something
/// else, or nothing is left to change.
pub(crate) fn recognise(
    status: u16,
    refusal: &[u8],
    sent: &Value,
    provider: &str,
) -> Option<RefusedField> {
    // A server whose template fails answers with a fault (llama.cpp's, 500).
    if !matches!(status, 400 | 404 | 405 | 415 | 422 | 500 | 501) {
        return None;
    }
    let value: Value = serde_json::from_slice(refusal).unwrap_or_default();
    let text = match &value {
        Value::Null => String::from_utf8_lossy(refusal).into_owned(),
        value => words(value),
    };
    let lower = text.to_lowercase();
    let of_roles = of_roles(&lower, sent);
    if !of_roles.is_empty() {
        return Some(RefusedField::Adjust(of_roles));
    }
    if !REFUSES.iter().any(|phrase| lower.contains(phrase)) {
        return None;
    }
    let named = named(&value, without_advice(&text));
    let fields = fields(sent, provider);
    for names in named {
        if names.iter().any(|path| is_tools(path)) && sent["tools"].is_array() {
            return Some(RefusedField::Tools);
        }
        let found: BTreeSet<Adjustment> = names
            .iter()
            .flat_map(|path| of_field(path, &fields, sent))
            .filter(|adjustment| changes(sent, adjustment))
            .collect();
        if !found.is_empty() {
            return Some(RefusedField::Adjust(innermost(found)));
        }
    }
    None
}

/// A text up to what it recommends instead, whose names are not refused.
fn without_advice(text: &str) -> &str {
    let lower = text.to_ascii_lowercase();
    let end =
        ["did you mean", "expected one of", ", expected `", "supported values are", "valid fields"]
            .iter()
            .filter_map(|words| lower.find(words))
            .min();
    &text[..end.unwrap_or(text.len())]
}

/// A place such as `generation_config` is named beside the field in it, which alone is refused.
fn innermost(found: BTreeSet<Adjustment>) -> Vec<Adjustment> {
    let holds = |outer: &Adjustment, inner: &Adjustment| match (outer, inner) {
        (Adjustment::Without(outer), Adjustment::Without(inner)) => {
            inner.strip_prefix(outer.as_str()).is_some_and(|rest| rest.starts_with('.'))
        }
        _ => false,
    };
    let all = found.clone();
    found.into_iter().filter(|one| !all.iter().any(|other| holds(one, other))).collect()
}

/// Adjustment that a refusal of a role, of an order of messages, or of pictures demands.
fn of_roles(text: &str, sent: &Value) -> Vec<Adjustment> {
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    let works = |adjustment: &Adjustment| changes(sent, adjustment);
    let template = has(TEMPLATE);
    let about_system = ["system", "developer"].iter().any(|role| text.contains(role));
    let refuses = has(REFUSES);
    let late = Some(Adjustment::LateSystem).filter(works);
    let late = late.filter(|_| about_system && (has(LATE) || (refuses && is_about_role(text))));
    if has(TURNS) {
        // Instructions between two messages break their order as well.
        let mut turns = vec![Adjustment::LateSystem];
        turns.retain(works);
        let mut adjusted = sent.clone();
        super::adjust(&mut adjusted, &turns);
        turns.extend(Some(Adjustment::Turns).filter(|one| changes(&adjusted, one)));
        if !turns.is_empty() {
            return turns;
        }
    }
    let system = Some(Adjustment::SystemInFront)
        .filter(|_| about_system && refuses && is_about_role(text))
        .filter(works);
    let pictures = Some(Adjustment::NoPictures)
        .filter(|_| refuses || text.contains("only supported") || text.contains("mmproj"))
        .filter(|_| ["image", "vision", "multimodal", "mmproj"].iter().any(|w| text.contains(w)))
        .filter(works);
    // A template's own words may say nothing: each change that may help is tried in turn.
    let any = || {
        [Adjustment::LateSystem, Adjustment::Turns, Adjustment::SystemInFront]
            .into_iter()
            .find(|adjustment| template && works(adjustment))
    };
    late.or(system).or(pictures).or_else(any).into_iter().collect()
}

/// True if a text that names the system speaks of its messages, not of a "system" in general.
fn is_about_role(text: &str) -> bool {
    [
        "system role",
        "system message",
        "system prompt",
        "system instruction",
        "developer instruction",
        "developer role",
        "developer message",
        "role: system",
        "role system",
        "'system'",
        "\"system\"",
        "`system`",
        "'developer'",
        "\"developer\"",
        "`developer`",
        "systeminstruction",
        "system_instruction",
    ]
    .iter()
    .any(|phrase| text.contains(phrase))
}

/// Every text of an error body, without what was sent: pydantic repeats it as `input`.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(words).collect::<Vec<_>>().join(" "),
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| !["input", "ctx", "value", "loc"].contains(&key.as_str()))
            .map(|(_, value)| words(value))
            .collect::<Vec<_>>()
            .join(" "),
        _ => String::new(),
    }
}

/// The names of fields in a refusal, the most certain kind of place first: a field of its own,
/// pydantic's `loc`, quoted, and bare.
fn named(value: &Value, text: &str) -> Vec<Vec<Vec<String>>> {
    let mut own = Vec::new();
    let mut loc = Vec::new();
    places(value, &mut own, &mut loc);
    // vLLM prints the list of errors in Python's form.
    let mut rest = text;
    while let Some(at) = rest.find("'loc': (") {
        rest = &rest[at + 8..];
        let end = rest.find(')').unwrap_or(rest.len());
        loc.push(segments(&rest[..end].replace(['\'', ' '], "").replace(',', ".")));
    }
    let quoted = quoted(text);
    let bare = bare(text);
    vec![own, loc, quoted, bare]
}

fn places(value: &Value, own: &mut Vec<Vec<String>>, loc: &mut Vec<Vec<String>>) {
    match value {
        Value::Array(list) => list.iter().for_each(|item| places(item, own, loc)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("param" | "parameter" | "field", Value::String(name)) => {
                        own.push(segments(name));
                    }
                    ("loc", Value::Array(path)) => {
                        loc.push(path.iter().filter_map(Value::as_str).flat_map(segments).collect())
                    }
                    ("input" | "ctx", _) => {}
                    (_, value) => places(value, own, loc),
                }
            }
        }
        _ => {}
    }
}

/// The names of a path, such as `messages[1].name` or `messages.1.name`, without its numbers.
fn segments(path: &str) -> Vec<String> {
    path.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
        .filter(|part| !part.is_empty() && !part.bytes().all(|b| b.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

/// Names between quotation marks or brackets.
fn quoted(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (open, close) in
        [('\'', '\''), ('"', '"'), ('`', '`'), ('[', ']'), ('‘', '’'), ('“', '”'), ('(', ')')]
    {
        for (at, _) in text.match_indices(open) {
            let inside = &text[at + open.len_utf8()..];
            let Some(end) = inside.find(close) else { continue };
            let inside = &inside[..end];
            let is_path = inside.len() <= 64
                && inside.chars().all(|c| c.is_ascii_alphanumeric() || "_.-[]$".contains(c));
            if is_path && !inside.is_empty() {
                found.push(segments(inside));
            }
        }
    }
    found
}

/// Words of a text that stand where a field's name stands.
fn bare(text: &str) -> Vec<Vec<String>> {
    const BEFORE: &[&str] = &[
        "parameter",
        "parameters",
        "param",
        "params",
        "field",
        "fields",
        "argument",
        "arguments",
        "property",
        "properties",
        "key",
        "keys",
        "support",
        "supports",
        "supplied",
        "unsupported",
        "unknown",
        "unrecognized",
        "unexpected",
        "option",
        "options",
        "accept",
        "accepts",
        "allow",
        "model",
    ];
    const AFTER: &[&str] =
        &["parameter", "field", "argument", "property", "option", "is", "are", "isn't", "extra"];
    let plain = |word: &str| {
        word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ']').to_owned()
    };
    let words: Vec<String> = text.split_whitespace().map(plain).collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let around = |near: Option<&String>, list: &[&str]| {
            near.is_some_and(|near| list.contains(&near.to_lowercase().as_str()))
        };
        let special =
            word.contains(['_', '.', '[']) || word.chars().skip(1).any(|c| c.is_ascii_uppercase());
        let stands = around(at.checked_sub(1).and_then(|at| words.get(at)), BEFORE)
            || around(words.get(at + 1), AFTER);
        // `temperature: Extra inputs are not permitted` begins with the field.
        if special || stands || (at == 0 && text.contains(&format!("{word}:"))) {
            found.push(segments(word));
        }
    }
    found
}

/// A name without the differences of ways to write it: `presencePenalty`, `presence_penalty`.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
}

fn is_tools(path: &[String]) -> bool {
    path.last().is_some_and(|last| {
        ["tools", "toolchoice", "functions", "functioncall", "paralleltoolcalls"]
            .contains(&plain(last).as_str())
    })
}

/// The optional fields of a request, as paths.
fn fields(sent: &Value, provider: &str) -> Vec<Vec<String>> {
    fn collect(value: &Value, path: &[String], found: &mut BTreeSet<Vec<String>>) {
        match value {
            Value::Array(list) => list.iter().for_each(|item| collect(item, path, found)),
            Value::Object(fields) if path.len() < 4 => {
                for (key, value) in fields {
                    let mut path = path.to_vec();
                    path.push(key.clone());
                    // The schema of a tool is no part of the format.
                    if !matches!(plain(key).as_str(), "parameters" | "inputschema") {
                        collect(value, &path, found);
                    }
                    found.insert(path);
                }
            }
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    collect(sent, &[], &mut found);
    found
        .into_iter()
        .filter(|path| {
            let last = path.last().map(|last| plain(last)).unwrap_or_default();
            let needed = NEEDED.contains(&last.as_str())
                || (last == "name" && path.first().is_some_and(|first| first == "tools"))
                // Anthropic demands the limit.
                || (provider == "anthropic" && last == "maxtokens");
            !needed
        })
        .collect()
}

/// Adjustment that a refusal of a named field demands.
fn of_field(path: &[String], fields: &[Vec<String>], sent: &Value) -> Vec<Adjustment> {
    let Some(last) = path.last().map(|last| plain(last)) else { return Vec::new() };
    if matches!(last.as_str(), "system" | "systeminstruction" | "instructions" | "developer") {
        return vec![Adjustment::SystemInFront];
    }
    if last == "role" && has_system(sent) {
        return vec![Adjustment::LateSystem, Adjustment::SystemInFront]
            .into_iter()
            .filter(|adjustment| changes(sent, adjustment))
            .take(1)
            .collect();
    }
    // The last name of a path that is a field: pydantic puts the kind of a message behind its place.
    let hit = |name: &str| {
        let of = |path: &&Vec<String>| path.last().is_some_and(|last| plain(last) == name);
        fields.iter().filter(of).collect::<Vec<_>>()
    };
    let mut hits = hit(&last);
    if hits.is_empty()
        && let Some(name) = path.iter().rev().map(|name| plain(name)).find(|n| !hit(n).is_empty())
        && !NEEDED.contains(&last.as_str())
    {
        hits = hit(&name);
    }
    // A path that names the list means the fields in it.
    let list = list_name(sent).unwrap_or_default();
    if path.len() > 1 && path.iter().any(|name| name == list) {
        hits.retain(|path| path.first().is_some_and(|first| first == list));
    }
    hits.into_iter().map(|path| of_limit(path, sent)).collect()
}

/// A field is left out, or gets its other name.
fn of_limit(path: &[String], sent: &Value) -> Adjustment {
    let [from, to] = LIMITS;
    match path {
        [name] if name == from && sent["messages"].is_array() => {
            Adjustment::Renamed(from.to_owned(), to.to_owned())
        }
        [name] if name == to => Adjustment::Renamed(to.to_owned(), from.to_owned()),
        path => Adjustment::Without(path.join(".")),
    }
}

fn has_system(sent: &Value) -> bool {
    list_name(sent)
        .and_then(|list| sent[list].as_array())
        .is_some_and(|messages| messages.iter().any(is_system))
}

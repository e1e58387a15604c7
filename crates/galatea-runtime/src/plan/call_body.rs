//! Calls of tools that a model wrote as text: JSON, elements, or the call of a function.

use serde_json::{Map, Value};

use super::{
    json,
    tag::{element_text, tag_at},
    tree::attribute,
    types::{MAX_ACTIONS, Repairs},
};

/// A tool's name and its arguments.
pub(super) type Call = (String, Value);

const NAMES: [&str; 9] = [
    "name",
    "tool",
    "tool_name",
    "toolname",
    "function",
    "function_name",
    "recipient_name",
    "action",
    "api",
];
const ARGUMENTS: [&str; 9] = [
    "arguments",
    "parameters",
    "params",
    "args",
    "input",
    "tool_input",
    "action_input",
    "kwargs",
    "argument",
];
/// Keys around calls.
const AROUND: [&str; 7] = [
    "tool_calls",
    "tool_call",
    "tool_uses",
    "function_call",
    "function_calls",
    "calls",
    "function",
];
/// Objects and lists within each other.
const MAX_DEPTH: usize = 4;

/// All calls in a text that a mark says to hold some.
pub(super) fn extract(content: &str) -> Vec<Call> {
    let content = content.trim();
    let mut calls = elements(content);
    if calls.is_empty() {
        calls = pairs(content).into_iter().collect();
    }
    if calls.is_empty() {
        calls = named_objects(content);
    }
    if calls.is_empty() {
        calls = objects(content);
    }
    if calls.is_empty() {
        calls = functions(content);
    }
    calls.truncate(MAX_ACTIONS);
    calls
}

/// Calls that a JSON value holds; none if it is none.
pub(super) fn of_value(value: &Value) -> Vec<Call> {
    at_depth(value, 0)
}

/// True if objects have no other keys than calls have.
pub(super) fn is_only_calls(value: &Value) -> bool {
    let is_key = |key: &String| {
        let mut all = NAMES.iter().chain(&ARGUMENTS).chain(&AROUND).chain(&["type", "id"]);
        all.any(|known| key.eq_ignore_ascii_case(known))
    };
    match value {
        Value::Array(list) => list.iter().all(is_only_calls),
        Value::Object(map) => map.keys().all(is_key),
        _ => false,
    }
}

fn at_depth(value: &Value, depth: usize) -> Vec<Call> {
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    let map = match value {
        Value::Array(list) => {
            let calls: Vec<Vec<Call>> =
                list.iter().take(MAX_ACTIONS).map(|item| at_depth(item, depth + 1)).collect();
            let all = !calls.is_empty() && calls.iter().all(|found| !found.is_empty());
            return if all { calls.concat() } else { Vec::new() };
        }
        Value::Object(map) => map,
        _ => return Vec::new(),
    };
    let get = |keys: &[&str]| {
        map.iter().find(|(key, _)| keys.iter().any(|k| key.eq_ignore_ascii_case(k)))
    };
    if let Some((_, inner @ (Value::Array(_) | Value::Object(_)))) = get(&AROUND) {
        return at_depth(inner, depth + 1);
    }
    let named = map.iter().find(|(key, value)| {
        value.is_string() && NAMES.iter().any(|name| key.eq_ignore_ascii_case(name))
    });
    let Some((key, Value::String(name))) = named else { return by_key(map) };
    let Some(name) = identifier(name) else { return Vec::new() };
    let arguments = match get(&ARGUMENTS) {
        Some((_, Value::Object(arguments))) => Value::Object(arguments.clone()),
        Some((_, Value::String(text))) => json::whole(text).unwrap_or_else(|| said(text)),
        Some(_) => Value::Null,
        None => {
            let rest = map.iter().filter(|(other, _)| *other != key && *other != "type");
            let rest: Map<String, Value> = rest.map(|(k, v)| (k.clone(), v.clone())).collect();
            // A record that has a name among its keys is no call.
            if rest.is_empty() && is_constant(&name) { Value::Null } else { return Vec::new() }
        }
    };
    vec![(name, arguments)]
}

/// `{"SEND_MESSAGE": {"target": "Ada"}}`.
fn by_key(map: &Map<String, Value>) -> Vec<Call> {
    match map.iter().next() {
        Some((key, inner @ Value::Object(_))) if map.len() == 1 && is_constant(key) => {
            vec![(key.clone(), inner.clone())]
        }
        _ => Vec::new(),
    }
}

/// A name of capitals and underscores, as actions have.
pub(super) fn is_constant(name: &str) -> bool {
    name.contains('_')
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// The tool's own name of `functions.NAME:0`; none if it is no name.
fn identifier(name: &str) -> Option<String> {
    let name = name.trim().trim_matches(['"', '\'', '`', '*']);
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    let name = name.rsplit_once('.').map_or(name, |(_, name)| name);
    let good = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    (!name.is_empty() && name.len() <= 64 && name.chars().all(good)).then(|| name.to_owned())
}

fn said(text: &str) -> Value {
    Value::Object(Map::from_iter([("text".to_owned(), Value::String(text.to_owned()))]))
}

/// `<invoke name="X"><parameter name="k">v</parameter></invoke>`, `<function=X><parameter=k>v…`.
fn elements(content: &str) -> Vec<Call> {
    let mut calls: Vec<(String, Map<String, Value>)> = Vec::new();
    let mut open: Option<(String, usize)> = None;
    for (at, _) in content.match_indices('<') {
        let rest = &content[at..];
        if let Some((tool, length)) = opening(rest, &["invoke", "function"]) {
            let Some(tool) = identifier(&tool) else { continue };
            let inner = content[at + length..].trim_start();
            let map = if inner.starts_with('{') {
                match json::value_at(inner, &mut Repairs::default()).0 {
                    Value::Object(map) => map,
                    _ => Map::new(),
                }
            } else {
                Map::new()
            };
            calls.push((tool, map));
        } else if let Some((key, length)) = opening(rest, &["parameter", "param", "arg"]) {
            open = Some((key, at + length));
        } else if rest.starts_with("</param")
            || rest.starts_with("</arg")
            || rest.starts_with("</invoke")
            || rest.starts_with("</function")
        {
            close(&mut calls, open.take(), content, at);
        }
        if calls.len() > MAX_ACTIONS {
            break;
        }
    }
    close(&mut calls, open.take(), content, content.len());
    calls.into_iter().map(|(name, map)| (name, Value::Object(map))).collect()
}

fn close(
    calls: &mut [(String, Map<String, Value>)],
    open: Option<(String, usize)>,
    content: &str,
    end: usize,
) {
    if let (Some((key, from)), Some((_, map))) = (open, calls.last_mut()) {
        let text = element_text(&content[from..end], false);
        map.insert(key, json::whole(&text).unwrap_or(Value::String(text)));
    }
}

/// An element's own name behind `=` or in its attribute `name`, and the tag's length.
fn opening(text: &str, tags: &[&str]) -> Option<(String, usize)> {
    tags.iter().find_map(|tag| {
        let behind = text.strip_prefix('<')?.strip_prefix(tag)?;
        if let Some(name) = behind.strip_prefix('=') {
            let end = name.find('>')?;
            return Some((name[..end].trim_matches(['"', '\'']).to_owned(), tag.len() + 3 + end));
        }
        let found = tag_at(text)?;
        let name = attribute(found.attributes, "name")?;
        (!found.closing).then(|| (name.to_owned(), found.len))
    })
}

/// `NAME<arg_key>k</arg_key><arg_value>v</arg_value>…`
fn pairs(content: &str) -> Option<Call> {
    let (name, mut rest) = content.split_once("<arg_key>")?;
    let name = identifier(name.trim().lines().next_back()?)?;
    let mut map = Map::new();
    while let Some((key, behind)) = rest.split_once("</arg_key>") {
        let value = behind.split_once("<arg_value>").map_or("", |(_, value)| value);
        let (value, next) = value.split_once("</arg_value>").unwrap_or((value, ""));
        let value = value.trim();
        let read = json::whole(value).unwrap_or_else(|| Value::String(value.to_owned()));
        map.insert(key.trim().to_owned(), read);
        rest = next.split_once("<arg_key>").map_or("", |(_, next)| next);
        if map.len() > MAX_ACTIONS {
            break;
        }
    }
    Some((name, Value::Object(map)))
}

/// A name in front of each object: `NAME{…}`, `functions.NAME:0<…>{…}`, "NAME\n```json\n{…}".
fn named_objects(content: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut at = 0;
    while calls.len() < MAX_ACTIONS
        && let Some(offset) = content[at..].find('{')
    {
        let start = at + offset;
        let Some(name) = name_before(&content[at..start]) else { return Vec::new() };
        let (value, length) = value_at(&content[start..]);
        if !of_value(&value).is_empty() {
            return Vec::new();
        }
        calls.push((name, value));
        at = start + length.max(1);
    }
    calls
}

/// The last name in what stands in front of arguments, without marks and labels between.
fn name_before(before: &str) -> Option<String> {
    let mut plain = String::new();
    let mut depth = 0_usize;
    for c in before.chars() {
        match c {
            '<' | '[' => depth += 1,
            '>' | ']' => {
                depth = depth.saturating_sub(1);
                plain.push(' ');
            }
            _ if depth > 0 => {}
            '`' | ',' | ';' => plain.push(' '),
            c => plain.push(c),
        }
    }
    let labels = ["json", "args", "arguments", "parameters", "input", "function", "✿args✿", "call"];
    let mut words = plain.split_whitespace().rev().map(|word| word.trim_end_matches(':'));
    let word = words.find(|word| {
        !word.is_empty() && !labels.iter().any(|label| word.eq_ignore_ascii_case(label))
    })?;
    identifier(word)
}

/// Calls in all JSON values of a text.
fn objects(content: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut at = 0;
    for _ in 0..MAX_ACTIONS {
        let Some(offset) = content[at..].find(['{', '[']) else { break };
        let (value, length) = value_at(&content[at + offset..]);
        calls.extend(of_value(&value));
        at += offset + length.max(1);
    }
    calls
}

/// A JSON value and its length; doubled braces, which models learn from templates, count as one.
pub(super) fn value_at(text: &str) -> (Value, usize) {
    if !text.starts_with("{{") {
        return json::value_at(text, &mut Repairs::default());
    }
    let (value, length) = json::value_at(&text[1..], &mut Repairs::default());
    let end = 1 + length;
    if !of_value(&value).is_empty() {
        let rest = &text[end..];
        return (value, end + rest.len() - rest.trim_start().trim_start_matches('}').len());
    }
    let single = text.replace("{{", "{").replace("}}", "}");
    (json::value_at(&single, &mut Repairs::default()).0, text.len())
}

/// `NAME(key="value", n=1)`, also in `print(…)`, in brackets or behind `default_api.`.
pub(super) fn functions(content: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut rest = content.trim().trim_start_matches('[').trim();
    while calls.len() < MAX_ACTIONS
        && let Some((call, length)) = function_at(rest)
    {
        calls.push(call);
        rest = rest[length..].trim_start_matches([',', ';', ')', ']', ' ', '\n', '\r']);
    }
    calls
}

/// The function call that a text begins with, and its length.
pub(super) fn function_at(text: &str) -> Option<(Call, usize)> {
    let start = text.strip_prefix("print(").unwrap_or(text);
    let open = start.find('(')?;
    let raw = &start[..open];
    let plain = raw.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'));
    let name = identifier(raw).filter(|_| plain)?;
    let (arguments, length) = arguments_at(&start[open + 1..]);
    let mut end = open + 1 + length;
    if start.len() < text.len() {
        end += "print(".len() + usize::from(start[end..].starts_with(')'));
    }
    Some(((name, arguments), end.min(text.len())))
}

/// The arguments up to the bracket that closes them, and the length of both.
fn arguments_at(text: &str) -> (Value, usize) {
    let (mut quote, mut escaped, mut depth) = (None, false, 0_usize);
    let (mut parts, mut from, mut end) = (Vec::new(), 0, text.len());
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')') if depth == 0 => {
                end = at;
                break;
            }
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            (None, _) => {}
        }
    }
    parts.push(&text[from.min(end)..end]);
    let length = if end < text.len() { end + 1 } else { end };
    let mut map = Map::new();
    for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
        match part.split_once(['=', ':']) {
            Some((key, value)) if identifier(key).is_some_and(|name| name == key.trim()) => {
                map.insert(key.trim().to_owned(), literal(value));
            }
            _ => match json::whole(part) {
                Some(Value::Object(inner)) => map.extend(inner),
                _ => {
                    map.entry("text").or_insert_with(|| literal(part));
                }
            },
        }
    }
    (Value::Object(map), length)
}

fn literal(text: &str) -> Value {
    let text = text.trim();
    let inner = ['"', '\''].iter().find_map(|q| text.strip_prefix(*q)?.strip_suffix(*q));
    match inner {
        Some(inner) => {
            let plain = inner.replace("\\n", "\n").replace("\\\"", "\"").replace("\\'", "'");
            Value::String(plain)
        }
        None => serde_json::from_str(text)
            .unwrap_or_else(|_| Value::String(text.trim_matches(['"', '\'']).to_owned())),
    }
}

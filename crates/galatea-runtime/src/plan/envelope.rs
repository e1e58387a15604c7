//! Parts that JSON and XML have in common: thought, text, actions, providers and arguments, under the
//! names models use for them.

use serde_json::{Map, Value};

use super::{
    json,
    names::{self, Names},
    types::{MAX_ACTIONS, MAX_PROVIDERS, PlannedAction},
};

const THOUGHT: [&str; 4] = ["thought", "thoughts", "thinking", "reasoning"];
const TEXT: [&str; 6] = ["text", "message", "response", "reply", "answer", "content"];
const PARAMS: [&str; 5] = ["params", "parameters", "arguments", "args", "input"];
const NAME: [&str; 5] = ["name", "action", "tool", "function", "type"];
const WRAPPER: [&str; 6] = ["response", "plan", "answer", "output", "result", "function"];
const BESIDE: &str = "actions action providers params parameters name tool function simple plan";
/// Objects around the plan that are opened.
const MAX_WRAPPERS: usize = 4;

/// A plan before its names are resolved.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) thought: Option<String>,
    pub(super) text: Option<String>,
    pub(super) actions: Vec<(String, Value)>,
    pub(super) providers: Vec<String>,
    /// Names of called tools that do not exist.
    pub(super) unknown: Vec<String>,
    /// Arguments that stand beside the actions.
    pub(super) params: Value,
    /// It ends, without an end, in its last action.
    pub(super) torn: bool,
}

impl Draft {
    /// True if anything in it decides or says something.
    pub(super) fn is_plan(&self, names: &Names<'_>) -> bool {
        self.text.is_some()
            || self.thought.is_some()
            || !self.providers.is_empty()
            || self.actions.iter().any(|(n, _)| names.resolve(n).is_some())
    }

    /// Words found beside it may be what it wants to say.
    pub(super) fn may_speak(&self) -> bool {
        self.actions.is_empty() || self.actions.iter().any(|(n, _)| names::same(n, names::REPLY))
    }

    pub(super) fn append_thought(&mut self, more: String) {
        if !more.is_empty() {
            self.thought =
                Some(self.thought.take().map_or(more.clone(), |t| format!("{t}\n\n{more}")));
        }
    }

    pub(super) fn prepend_thought(&mut self, earlier: Option<String>) {
        if let Some(earlier) = earlier {
            let later = self.thought.take();
            self.thought = Some(later.map_or(earlier.clone(), |t| format!("{earlier}\n\n{t}")));
        }
    }

    /// Adds another plan of the same answer: what both say is said, once if it is the same.
    pub(super) fn add_plan(&mut self, mut other: Self) {
        let text = match (self.text.take(), other.text.take()) {
            (Some(first), Some(next)) if first.trim() != next.trim() => {
                Some(format!("{first}\n\n{next}"))
            }
            (first, next) => first.or(next),
        };
        self.merge(other);
        self.text = text;
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.append_thought(other.thought.unwrap_or_default());
        self.text = self.text.take().or(other.text);
        self.actions.extend(other.actions);
        self.actions.truncate(MAX_ACTIONS);
        self.providers.extend(other.providers);
        self.unknown.extend(other.unknown);
        if self.params.is_null() {
            self.params = other.params;
        }
        self.torn |= other.torn;
    }
}

/// The keys of a plan.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    THOUGHT.into_iter().chain(TEXT).chain(BESIDE.split(' '))
}

/// Number of a plan's keys that an object has.
pub(super) fn plan_keys(map: &Map<String, Value>) -> usize {
    map.keys().filter(|key| keys().any(|known| key.eq_ignore_ascii_case(known))).count()
}

/// True if an object is a plan rather than arguments of something.
pub(super) fn looks_like_plan(map: &Map<String, Value>) -> bool {
    get(map, &["text"]).is_some_and(Value::is_string)
        || get(map, &["actions", "providers"]).is_some()
}

/// True if what comes last says something or names providers, so that the actions before it are
/// whole.
pub(super) fn ends_in_words(value: &Value) -> bool {
    let is = |key: &str, among: &[&str]| among.iter().any(|k| key.eq_ignore_ascii_case(k));
    match value.as_object().and_then(|map| map.iter().next_back()) {
        Some((key, inner @ Value::Object(_))) => is(key, &WRAPPER) && ends_in_words(inner),
        Some((key, _)) => is(key, &THOUGHT) || is(key, &TEXT) || is(key, &["providers"]),
        None => false,
    }
}

fn get<'a>(map: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| {
        map.get(*key)
            .or_else(|| map.iter().find(|(k, _)| k.eq_ignore_ascii_case(key)).map(|(_, v)| v))
    })
}

/// Reads a JSON object as a plan.
pub(super) fn from_object(map: &Map<String, Value>, names: &Names<'_>) -> Draft {
    let mut map = map;
    for _ in 0..MAX_WRAPPERS {
        let wrapped = WRAPPER.iter().find_map(|key| get(map, &[key]).and_then(Value::as_object));
        match wrapped {
            Some(inner)
                if !looks_like_plan(map)
                    && get(inner, &THOUGHT)
                        .or_else(|| get(inner, &TEXT))
                        .or_else(|| get(inner, &NAME))
                        .is_some() =>
            {
                map = inner
            }
            _ => break,
        }
    }
    let mut draft = Draft {
        thought: get(map, &THOUGHT).and_then(text_of).filter(|t| !t.trim().is_empty()),
        text: words_of(map).filter(|t| !t.trim().is_empty()),
        params: get(map, &PARAMS).cloned().map_or(Value::Null, parsed_if_json),
        ..Draft::default()
    };
    if let Some(actions) = get(map, &["actions", "action"]) {
        match actions {
            Value::Array(list) => {
                list.iter().take(MAX_ACTIONS).for_each(|item| add_action(&mut draft, item))
            }
            Value::Object(by_name) if get(by_name, &NAME).is_none() => {
                draft.actions.extend(
                    by_name
                        .iter()
                        .take(MAX_ACTIONS)
                        .map(|(name, params)| (name.clone(), params.clone())),
                );
            }
            other => add_action(&mut draft, other),
        }
    } else if let Some(name) = get(map, &["name", "tool", "function"]).and_then(Value::as_str)
        && names.resolve(name).is_some()
    {
        draft.actions.push((name.to_owned(), draft.params.take()));
    }
    if let Some(providers) = get(map, &["providers"]) {
        add_providers(&mut draft, providers);
    }
    draft
}

fn words_of(map: &Map<String, Value>) -> Option<String> {
    let said =
        |map: &Map<String, Value>| TEXT.iter().find_map(|key| get(map, &[key]).and_then(text_of));
    // `"text": {"content": "hello"}`
    said(map).or_else(|| get(map, &["text"]).and_then(Value::as_object).and_then(said))
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Array(list) if !list.is_empty() && list.iter().all(Value::is_string) => {
            Some(list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}

/// Adds one action: a name, a list of names in one text, or an object with a name.
pub(super) fn add_action(draft: &mut Draft, item: &Value) {
    match item {
        Value::String(text) => add_listed(draft, text),
        Value::Object(map) => {
            let Some(name) = get(map, &NAME) else { return };
            if let Some(inner) = name.as_object() {
                return add_action(draft, &Value::Object(inner.clone()));
            }
            let Some(name) = name.as_str().filter(|n| !n.trim().is_empty()) else { return };
            let params = get(map, &PARAMS).cloned().map_or_else(|| rest_of(map), parsed_if_json);
            if draft.actions.len() < MAX_ACTIONS {
                draft.actions.push((name.trim().to_owned(), params));
            }
        }
        _ => {}
    }
}

/// An action object without a place for arguments holds them beside its name.
fn rest_of(map: &Map<String, Value>) -> Value {
    let rest: Map<String, Value> = map
        .iter()
        .filter(|(key, _)| !NAME.iter().any(|n| key.eq_ignore_ascii_case(n)))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    if rest.is_empty() { Value::Null } else { Value::Object(rest) }
}

/// Adds names separated by commas, semicolons or lines; brackets and quotes are taken off.
pub(super) fn add_listed(draft: &mut Draft, text: &str) {
    let room = MAX_ACTIONS.saturating_sub(draft.actions.len());
    draft.actions.extend(listed(text).take(room).map(|name| (name.to_owned(), Value::Null)));
}

fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ';', '\n'])
        .map(|item| item.trim().trim_matches(['[', ']', '"', '\'', '`', '*', '-', ' ']))
        .filter(|item| !item.is_empty())
}

/// Adds the actions of an XML element: a list in words, `<action>` elements, or elements named like
/// actions.
pub(super) fn add_actions(draft: &mut Draft, content: Value) {
    let children = match content {
        Value::Object(children) => children,
        Value::String(text) => match json::whole(&text) {
            Some(Value::Array(list)) => {
                return list.iter().take(MAX_ACTIONS).for_each(|item| add_action(draft, item));
            }
            Some(value @ Value::Object(_)) => return add_action(draft, &value),
            _ => return add_listed(draft, &text),
        },
        _ => return,
    };
    for (name, child) in children {
        let is = |keys: &[&str]| keys.iter().any(|key| name.eq_ignore_ascii_case(key));
        let values = if let Value::Array(list) = child { list } else { vec![child] };
        for value in values {
            if is(&NAME) || is(&["item"]) {
                add_action(draft, &parsed_if_json(value));
            } else if is(&PARAMS) {
                // `<action><name>X</name><params>…</params></action>` whose outer element is the
                // list itself.
                if let Some((_, params)) = draft.actions.iter_mut().find(|(_, p)| p.is_null()) {
                    *params = parsed_if_json(value);
                }
            } else if draft.actions.len() < MAX_ACTIONS {
                let params = if value.is_object() { value } else { Value::Null };
                draft.actions.push((name.clone(), params));
            }
        }
    }
}

/// Adds providers: names in words, a list, or elements.
pub(super) fn add_providers(draft: &mut Draft, value: &Value) {
    let mut add = |name: &str| {
        let known = draft.providers.iter().any(|p| names::same(p, name));
        if !known && !names::same(name, names::NONE) && draft.providers.len() < MAX_PROVIDERS {
            draft.providers.push(name.to_owned());
        }
    };
    match value {
        Value::String(text) => listed(text).for_each(&mut add),
        Value::Array(list) => list.iter().filter_map(Value::as_str).flat_map(listed).for_each(add),
        Value::Object(map) => {
            for (key, inner) in map {
                match inner {
                    Value::String(text) if !text.is_empty() => listed(text).for_each(&mut add),
                    Value::Array(list) => {
                        list.iter().filter_map(Value::as_str).flat_map(listed).for_each(&mut add)
                    }
                    _ => add(key),
                }
            }
        }
        _ => {}
    }
}

/// Arguments that were written as JSON inside a string.
pub(super) fn parsed_if_json(value: Value) -> Value {
    match value {
        Value::String(text) => json::whole(&text).unwrap_or(Value::String(text)),
        other => other,
    }
}

/// Gives arguments that stand beside the actions to the actions they belong to: by name, by place,
/// or to the only one that can take some.
pub(super) fn spread_params(params: Value, planned: &mut [PlannedAction]) {
    match params {
        Value::Object(map) => {
            let mut named = false;
            for (key, value) in &map {
                let value = parsed_if_json(value.clone());
                if let Some(action) = planned.iter_mut().find(|a| names::same(&a.name, key))
                    && (value.is_object() || value == "")
                {
                    named = true;
                    if !holds_arguments(&action.params) && value.is_object() {
                        action.params = value;
                    }
                }
            }
            if named {
                return;
            }
            let takes = |action: &&mut PlannedAction| {
                ![names::REPLY, names::IGNORE, names::NONE].contains(&action.name.as_str())
                    && !holds_arguments(&action.params)
            };
            let mut others = planned.iter_mut().filter(takes);
            let target = match (others.next(), others.next()) {
                (Some(only), None) => Some(only),
                (None, _) => planned
                    .first_mut()
                    .filter(|a| a.name == names::REPLY && !holds_arguments(&a.params)),
                _ => None,
            };
            if let Some(action) = target {
                action.params = Value::Object(map);
            }
        }
        Value::Array(list) => {
            for (action, value) in planned.iter_mut().zip(list) {
                if !holds_arguments(&action.params) {
                    action.params = parsed_if_json(value);
                }
            }
        }
        _ => {}
    }
}

fn holds_arguments(params: &Value) -> bool {
    params.as_object().is_some_and(|map| !map.is_empty())
}

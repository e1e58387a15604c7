//! Brings arguments to the types an action's JSON Schema asks for: XML knows only words, and models
//! quote numbers.

use serde_json::{Map, Value};

use super::json;

/// Deeper arguments are left as they are.
const MAX_DEPTH: usize = 8;

/// Arguments as an object; anything else becomes an empty one.
pub(super) fn object(params: Value, schema: &Value) -> Value {
    match fit(params, schema, schema, 0) {
        map @ Value::Object(_) => map,
        _ => Value::Object(Map::new()),
    }
}

fn fit(value: Value, schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return value;
    }
    let schema = resolved(schema, root);
    let wants = |name: &str| wants(schema, name);
    match value {
        Value::Object(map) if wants("array") && !wants("object") && map.len() == 1 => {
            let items = match map.into_iter().next() {
                Some((_, Value::Array(list))) => list,
                Some((_, one)) => vec![one],
                None => Vec::new(),
            };
            fit(Value::Array(items), schema, root, depth + 1)
        }
        Value::Object(map) => {
            let properties = schema.get("properties");
            let fitted = map.into_iter().map(|(key, inner)| {
                let (name, schema) = property(properties, &key);
                (name.unwrap_or(key), fit(inner, schema, root, depth + 1))
            });
            Value::Object(fitted.collect())
        }
        Value::Array(list) if wants("array") || !known_type(schema) => {
            let items = schema.get("items").unwrap_or(&Value::Null);
            Value::Array(list.into_iter().map(|item| fit(item, items, root, depth + 1)).collect())
        }
        Value::Array(mut list) if list.len() == 1 && !wants("string") => {
            fit(list.remove(0), schema, root, depth + 1)
        }
        Value::String(text) if !wants("string") && known_type(schema) => {
            from_text(text, schema, root, depth)
        }
        Value::String(text) => Value::String(one_of(schema, &text).unwrap_or(text)),
        other @ (Value::Number(_) | Value::Bool(_))
            if wants("string") && !wants("number") && !wants("integer") && !wants("boolean") =>
        {
            Value::String(other.to_string())
        }
        other => other,
    }
}

fn from_text(text: String, schema: &Value, root: &Value, depth: usize) -> Value {
    let trimmed = text.trim();
    let wants = |name: &str| wants(schema, name);
    if wants("null") && (trimmed.is_empty() || trimmed.eq_ignore_ascii_case("null")) {
        return Value::Null;
    }
    if (wants("integer") || wants("number"))
        && let Ok(number) = trimmed.parse::<serde_json::Number>()
    {
        return Value::Number(number);
    }
    if wants("boolean") {
        if ["true", "yes", "1", "on"].iter().any(|w| trimmed.eq_ignore_ascii_case(w)) {
            return Value::Bool(true);
        }
        if ["false", "no", "0", "off"].iter().any(|w| trimmed.eq_ignore_ascii_case(w)) {
            return Value::Bool(false);
        }
    }
    if (wants("array") || wants("object"))
        && let Some(parsed) = json::whole(trimmed)
    {
        return fit(parsed, schema, root, depth + 1);
    }
    if wants("array") {
        let items = trimmed
            .split([',', '\n'])
            .map(str::trim)
            .filter(|i| !i.is_empty())
            .map(|i| Value::String(i.to_owned()));
        return fit(Value::Array(items.collect()), schema, root, depth + 1);
    }
    if wants("object") && trimmed.is_empty() {
        return Value::Object(Map::new());
    }
    Value::String(text)
}

/// The property's own spelling and schema; models write `room_id` for `roomId`.
fn property<'a>(properties: Option<&'a Value>, key: &str) -> (Option<String>, &'a Value) {
    let Some(map) = properties.and_then(Value::as_object) else { return (None, &Value::Null) };
    if let Some(schema) = map.get(key) {
        return (None, schema);
    }
    map.iter()
        .find(|(name, _)| super::names::same(name, key))
        .map_or((None, &Value::Null), |(name, schema)| (Some(name.clone()), schema))
}

/// Follows `$ref` into `$defs`, and the one branch of `anyOf` that is not null.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..4 {
        if let Some(target) =
            schema.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix("#"))
        {
            schema = root.pointer(target).unwrap_or(&Value::Null);
        } else if let Some(branches) =
            schema.get("anyOf").or_else(|| schema.get("allOf")).and_then(Value::as_array)
        {
            let Some(branch) = branches.iter().find(|b| b.get("type").is_none_or(|t| t != "null"))
            else {
                break;
            };
            schema = branch;
        } else {
            break;
        }
    }
    schema
}

/// The schema's own spelling of one of its fixed values: models write `admin` for `ADMIN`.
fn one_of(schema: &Value, text: &str) -> Option<String> {
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    let consts = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let consts = consts.flat_map(|branch| {
        branch
            .get("const")
            .into_iter()
            .chain(branch.get("enum").and_then(Value::as_array).into_iter().flatten())
    });
    listed
        .chain(consts)
        .filter_map(Value::as_str)
        .find(|known| super::names::same(known, text))
        .map(str::to_owned)
}

fn known_type(schema: &Value) -> bool {
    schema.get("type").is_some()
}

fn wants(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(several)) => several.iter().any(|t| t == name),
        _ => false,
    }
}

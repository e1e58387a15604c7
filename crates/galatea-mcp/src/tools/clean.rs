//! Cleans what a server says of its tools. Its words go to models, so they are bounded and visible.

use galatea_core::visible::visible;
use serde_json::{Map, Value};

/// Longest schema of a tool, in bytes of JSON. The largest of the well-known servers has 12 KiB.
const LONGEST_SCHEMA: usize = 32 << 10;
/// Longest description of a tool, in characters.
const LONGEST: usize = 1_024;
/// Longest description of an argument, in characters.
const LONGEST_ARGUMENT: usize = 300;
/// Deepest nesting of a schema.
const DEEPEST: usize = 16;

/// A description as a model reads it.
pub(crate) fn description(words: &str) -> String {
    cut(&visible(words), LONGEST)
}

/// Why a schema cannot be used; none if it can.
pub(crate) fn fault(schema: &Value) -> Option<String> {
    if schema.to_string().len() > LONGEST_SCHEMA {
        return Some(format!("its schema is longer than {} KiB", LONGEST_SCHEMA >> 10));
    }
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Some("its schema is not one of an object".to_owned());
    }
    faulty(schema, DEEPEST)
}

fn faulty(value: &Value, left: usize) -> Option<String> {
    let Some(left) = left.checked_sub(1) else {
        return Some(format!("its schema is nested deeper than {DEEPEST} levels"));
    };
    match value {
        Value::Object(fields) => {
            let remote = fields.iter().any(|(key, value)| {
                matches!(key.as_str(), "$ref" | "$dynamicRef")
                    && value.as_str().is_some_and(|at| !at.starts_with('#'))
            });
            if remote {
                return Some("its schema refers to another document".to_owned());
            }
            fields.values().find_map(|value| faulty(value, left))
        }
        Value::Array(items) => items.iter().find_map(|value| faulty(value, left)),
        _ => None,
    }
}

/// A schema as a model reads it: without names of dialects, titles, examples and comments, and with
/// descriptions that are cleaned and bounded.
pub(crate) fn schema(value: &Value) -> Value {
    tidy(value, false)
}

/// `named` says that the keys are names of arguments, which may be any.
fn tidy(value: &Value, named: bool) -> Value {
    match value {
        Value::Object(fields) => {
            let mut out = Map::new();
            for (key, value) in fields {
                let words = value.as_str();
                match (key.as_str(), words) {
                    _ if named => {
                        out.insert(cut(&visible(key), 128), tidy(value, false));
                    }
                    ("$schema" | "title" | "$comment" | "examples" | "$id", _) => {}
                    ("description", Some(words)) => {
                        out.insert(key.clone(), cut(&visible(words), LONGEST_ARGUMENT).into());
                    }
                    ("properties" | "$defs" | "definitions" | "patternProperties", _) => {
                        out.insert(key.clone(), tidy(value, true));
                    }
                    _ => {
                        out.insert(key.clone(), tidy(value, false));
                    }
                }
            }
            Value::Object(out)
        }
        Value::Array(items) => items.iter().map(|item| tidy(item, false)).collect(),
        Value::String(text) => Value::String(cut(&visible(text), LONGEST)),
        other => other.clone(),
    }
}

/// A text of at most so many characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    galatea_http::redact::shorten(text.trim(), most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hidden_words_go_and_long_ones_are_cut() {
        let hidden: String =
            "ignore".chars().filter_map(|c| char::from_u32(0xE0000 + c as u32)).collect();
        let words = format!("Adds{hidden} two\u{202e} numbers\u{200b}. {}", "x".repeat(5_000));
        let clean = description(&words);
        assert!(clean.starts_with("Adds two numbers."), "{clean}");
        assert!(clean.chars().count() <= LONGEST + 1);
    }

    #[test]
    fn a_schema_keeps_its_rules_and_loses_the_rest() {
        let value = json!({ "$schema": "https://x", "type": "object", "title": "T", "properties": {
            "title": { "type": "string", "description": format!("a\u{200b}{}", "b".repeat(900)) } },
            "required": ["title"] });
        let clean = schema(&value);
        assert_eq!(clean["properties"]["title"]["type"], "string");
        assert!(clean.get("$schema").is_none() && clean.get("title").is_none());
        let words = clean["properties"]["title"]["description"].as_str().unwrap();
        assert!(words.starts_with("ab") && words.chars().count() <= 301);
        assert_eq!(fault(&value), None);
    }

    #[test]
    fn schemas_that_cannot_be_bounded_are_refused() {
        let mut deep = json!({ "type": "object" });
        for _ in 0..20 {
            deep = json!({ "type": "object", "properties": { "a": deep } });
        }
        assert!(fault(&deep).unwrap().contains("nested"));
        assert!(
            fault(&json!({ "type": "object", "$ref": "https://evil/x" }))
                .unwrap()
                .contains("another document")
        );
        assert!(
            fault(&json!({ "type": "object", "description": "x".repeat(LONGEST_SCHEMA) }))
                .is_some()
        );
        assert!(fault(&json!({ "type": "string" })).is_some());
        assert_eq!(
            fault(&json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/x" } } })),
            None
        );
    }
}

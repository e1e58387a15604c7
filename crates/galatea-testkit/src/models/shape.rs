//! Strict checks of JSON values against an API document.

use serde_json::{Map, Value};
use std::fmt::Display;

/// Collects violations, each with its place in the JSON.
pub(super) struct Shape<'a> {
    pub(super) violations: &'a mut Vec<String>,
}

impl Shape<'_> {
    pub(super) fn fail(&mut self, what: impl Into<String>) {
        self.violations.push(what.into());
    }

    pub(super) fn require(&mut self, holds: bool, what: impl Display) {
        if !holds {
            self.fail(what.to_string());
        }
    }

    /// Requires an object that has only these fields, and all of `required`.
    pub(super) fn object<'v>(
        &mut self,
        at: impl Display,
        value: &'v Value,
        required: &[&str],
        optional: &[&str],
    ) -> Option<&'v Map<String, Value>> {
        let Some(object) = value.as_object() else {
            self.fail(format!("{at}: not an object"));
            return None;
        };
        for name in required {
            if !object.contains_key(*name) {
                self.fail(format!("{at}.{name}: missing"));
            }
        }
        for (name, value) in object {
            if !required.contains(&name.as_str()) && !optional.contains(&name.as_str()) {
                self.fail(format!("{at}.{name}: unknown field"));
            }
            if value.is_null() {
                self.fail(format!("{at}.{name}: null"));
            }
        }
        Some(object)
    }

    /// Requires a number within bounds, if present.
    pub(super) fn number(&mut self, at: impl Display, value: Option<&Value>, low: f64, high: f64) {
        if let Some(value) = value {
            let good = value.as_f64().is_some_and(|n| (low..=high).contains(&n));
            self.require(good, format_args!("{at}: not a number from {low} to {high}"));
        }
    }

    /// Requires an integer of at least `low`, if present.
    pub(super) fn integer(&mut self, at: impl Display, value: Option<&Value>, low: i64) {
        if let Some(value) = value {
            let good = value.as_i64().is_some_and(|n| n >= low);
            self.require(good, format_args!("{at}: not an integer of at least {low}"));
        }
    }

    /// Requires a non-empty string.
    pub(super) fn text(&mut self, at: impl Display, value: Option<&Value>) {
        let good = value.is_some_and(|v| v.as_str().is_some_and(|s| !s.is_empty()));
        self.require(good, format_args!("{at}: not a non-empty string"));
    }

    /// Requires a boolean, if present.
    pub(super) fn flag(&mut self, at: impl Display, value: Option<&Value>) {
        self.require(value.is_none_or(Value::is_boolean), format_args!("{at}: not a boolean"));
    }

    /// Requires a list of at most `most` non-empty strings, if present.
    pub(super) fn texts(&mut self, at: impl Display, value: Option<&Value>, most: usize) {
        if let Some(value) = value {
            let good = value.as_array().is_some_and(|list| {
                (1..=most).contains(&list.len())
                    && list.iter().all(|item| item.as_str().is_some_and(|s| !s.is_empty()))
            });
            self.require(good, format_args!("{at}: not a list of 1 to {most} non-empty strings"));
        }
    }

    /// Requires a non-empty list.
    pub(super) fn list<'v>(&mut self, at: impl Display, value: Option<&'v Value>) -> &'v [Value] {
        match value.and_then(Value::as_array) {
            Some(list) if !list.is_empty() => list,
            _ => {
                self.fail(format!("{at}: not a non-empty list"));
                &[]
            }
        }
    }

    /// Requires a tool's name: at most 64 letters, digits, `_` or `-`.
    pub(super) fn tool_name(&mut self, at: impl Display, value: Option<&Value>) {
        let good = value.and_then(Value::as_str).is_some_and(|name| {
            (1..=64).contains(&name.len())
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        });
        self.require(good, format_args!("{at}: not a tool name"));
    }

    /// Requires a JSON Schema of an object.
    pub(super) fn schema(&mut self, at: impl Display, value: Option<&Value>) {
        let good = value.is_some_and(|v| v.get("type").and_then(Value::as_str) == Some("object"));
        self.require(good, format_args!("{at}: not a JSON Schema with type object"));
    }

    /// Requires base64 in the standard alphabet.
    pub(super) fn base64(&mut self, at: impl Display, value: Option<&Value>) {
        let good = value.and_then(Value::as_str).is_some_and(|text| {
            !text.is_empty()
                && text.len() % 4 == 0
                && text
                    .trim_end_matches('=')
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
        });
        self.require(good, format_args!("{at}: not base64"));
    }
}

/// Splits a text into pieces of `size` characters.
pub(super) fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size.max(1)).map(|chunk| chunk.iter().collect()).collect()
}

/// A vector that depends only on the text.
pub(super) fn vector(text: &str, width: usize) -> Vec<f64> {
    let mut hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, b| {
        (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    (0..width)
        .map(|_| {
            hash = hash
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            f64::from(u16::try_from(hash >> 48).unwrap_or_default()) / 65_536.0
        })
        .collect()
}

//! JSON in answers of models, with what was mended noted.

use galatea_core::mended_json::{self, Mended};
use serde_json::Value;

use super::types::Repairs;

pub(super) use mended_json::LONGEST_KEY;

pub(super) const TORN: &str = "JSON cut off in the middle completed";

/// A tool call's arguments: JSON, mended if need be; an object or null.
pub(super) fn arguments(text: &str, repairs: &mut Repairs) -> Value {
    let Some(at) = text.find('{') else {
        if !text.trim().is_empty() && text.trim() != "null" {
            repairs.note("arguments without an object dropped");
        }
        return Value::Null;
    };
    value_at(&text[at..], repairs).0
}

/// A JSON value in a string, if that is all it holds.
pub(super) fn whole(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let (value, end) = value_at(text, &mut Repairs::default());
    (end == text.len()).then_some(value)
}

/// The value that `text` begins with, and how many bytes it takes.
pub(super) fn value_at(text: &str, repairs: &mut Repairs) -> (Value, usize) {
    let read = mended_json::value_at(text);
    match read.mended {
        Some(Mended::Torn) => repairs.note(TORN),
        Some(Mended::Broken) => repairs.note("broken JSON mended"),
        None => {}
    }
    (read.value, read.length)
}

//! A change: rows in JSON that the function of [`crate::apply`] carries out, written by the caller's task, not by the writer.

use galatea_core::{Error, Result};
use serde::{Serialize, Serializer, ser};
use serde_json::Value;
use std::mem;
use uuid::Uuid;

/// Largest change in bytes. PostgreSQL takes at most 256 MiB in one jsonb array (`JENTRY_OFFLENMASK` of its source), and a group of changes
/// is one value, so a single change stays well below.
const LARGEST: usize = 64 << 20;

/// One caller's change. Its rows take effect together with all others of its group, or not at all.
pub(crate) struct Change {
    /// Names it within the process, so that a conflict can be told to the right caller.
    pub(crate) id: i64,
    pub(crate) rows: Vec<Row>,
    /// Of all rows together.
    pub(crate) bytes: usize,
    /// How many answers the caller waits for: answer `n` tells how many rows were touched.
    pub(crate) answers: usize,
}

/// A row for a step.
pub(crate) struct Row {
    pub(crate) op: &'static str,
    /// The message or delivery it is about: two rows about the same one keep their order.
    pub(crate) key: Option<Uuid>,
    /// It looks for this one, too.
    pub(crate) looks_for: Option<Uuid>,
    /// A JSON object.
    pub(crate) text: String,
}

#[derive(Serialize)]
struct Told<'a, T> {
    c: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<usize>,
    #[serde(flatten)]
    body: &'a T,
}

impl Change {
    pub(crate) fn new(id: i64) -> Self {
        Self { id, rows: Vec::new(), bytes: 0, answers: 0 }
    }

    /// True when there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a row for the step `op`.
    pub(crate) fn push(&mut self, op: &'static str, body: &impl Serialize) -> Result<()> {
        self.add(op, None, None, body)
    }

    /// Adds a row about a message or delivery.
    pub(crate) fn push_about(&mut self, op: &'static str, key: Uuid, body: &impl Serialize) -> Result<()> {
        self.add(op, Some(key), None, body)
    }

    /// Adds a row whose effect is to be told: answers are numbered in the order of these calls.
    pub(crate) fn push_answered(&mut self, op: &'static str, key: Uuid, body: &impl Serialize) -> Result<()> {
        let n = self.answers;
        self.answers += 1;
        self.add(op, Some(key), Some(n), body)
    }

    /// The row added last looks for this message, too.
    pub(crate) fn looks_for(&mut self, key: Option<Uuid>) {
        if let Some(last) = self.rows.last_mut() {
            last.looks_for = key;
        }
    }

    fn add(&mut self, op: &'static str, key: Option<Uuid>, n: Option<usize>, body: &impl Serialize) -> Result<()> {
        let row = serde_json::to_string(&Told { c: self.id, n, body }).map_err(|e| Error::invalid("this cannot be written as JSON").with_source(e))?;
        let text = storable(row);
        self.bytes += text.len() + 1;
        if self.bytes > LARGEST {
            return Err(Error::invalid("this change is too large to be stored").with_fix("Hand it over in smaller parts.").with("limit_bytes", LARGEST));
        }
        self.rows.push(Row { op, key, looks_for: None, text });
        Ok(())
    }
}

/// JSON that jsonb takes: U+0000, which neither its strings nor text columns can hold, becomes U+FFFD. Documents inside of a [`Text`] keep it.
pub(crate) fn storable(row: String) -> String {
    if !row.contains("\\u0000") {
        return row;
    }
    match serde_json::from_str::<Value>(&row) {
        Ok(mut value) => {
            without_nul(&mut value);
            value.to_string()
        }
        Err(_) => row,
    }
}

fn without_nul(value: &mut Value) {
    match value {
        Value::String(text) if text.contains('\0') => *text = text.replace('\0', "\u{FFFD}"),
        Value::Array(list) => list.iter_mut().for_each(without_nul),
        Value::Object(map) => {
            *map = mem::take(map)
                .into_iter()
                .map(|(key, mut value)| {
                    without_nul(&mut value);
                    (key.replace('\0', "\u{FFFD}"), value)
                })
                .collect();
        }
        _ => {}
    }
}

/// A document stored to the letter in a `json` column: it travels as a string, so that nothing in it is looked at on the way.
pub(crate) struct Text<'a, T: ?Sized>(pub(crate) &'a T);

impl<T: Serialize + ?Sized> Serialize for Text<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&serde_json::to_string(self.0).map_err(ser::Error::custom)?)
    }
}

/// An id as a statement takes it.
pub(crate) fn uuid(id: impl Into<Uuid>) -> Uuid {
    id.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_jsonb_cannot_hold_is_replaced_outside_of_documents() {
        let document = json!({"a\0": "b\0"});
        let mut change = Change::new(1);
        change.push("x", &json!({"name": "n\0", "k\0": [1, "\0"], "content": serde_json::to_value(Text(&document)).unwrap()})).unwrap();
        let row: Value = serde_json::from_str(&change.rows[0].text).unwrap();
        assert_eq!((row["name"].as_str(), row["k\u{FFFD}"][1].as_str()), (Some("n\u{FFFD}"), Some("\u{FFFD}")));
        assert_eq!(serde_json::from_str::<Value>(row["content"].as_str().unwrap()).unwrap(), document);
        assert_eq!(storable(r#"{"a":"\\u0000"}"#.to_owned()), r#"{"a":"\\u0000"}"#);
    }
}

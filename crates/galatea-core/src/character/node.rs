//! A JSON value that knows where it stands, from JSON or TOML.

use serde_json::{Map, Number, Value};
use std::ops::Range;

/// A value with its byte range.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) range: Range<usize>,
    pub(super) kind: Kind,
}

/// JSON's sorts of values.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Object(Vec<Field>),
}

/// A key of an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) key: String,
    pub(super) key_range: Range<usize>,
    pub(super) value: Node,
}

impl Node {
    /// The sort of value, as people say it.
    pub(super) fn sort(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "true or false",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "text",
            Kind::List(_) => "a list",
            Kind::Object(_) => "an object",
        }
    }

    /// The plain value. A key written twice counts as it was written last.
    pub(super) fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(b) => Value::Bool(*b),
            Kind::Number(n) => Value::Number(n.clone()),
            Kind::Text(t) => Value::String(t.clone()),
            Kind::List(list) => Value::Array(list.iter().map(Self::to_value).collect()),
            Kind::Object(entries) => Value::Object(to_map(entries)),
        }
    }
}

/// The plain map of an object's entries.
pub(super) fn to_map(entries: &[Field]) -> Map<String, Value> {
    entries.iter().map(|e| (e.key.clone(), e.value.to_value())).collect()
}

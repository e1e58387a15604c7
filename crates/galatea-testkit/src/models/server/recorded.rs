//! Requests that the server keeps for inspection.

use axum::{body::Bytes, http::HeaderMap};
use serde_json::Value;

use super::form;

/// A recorded request.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Method.
    pub method: String,
    /// Path, including the base path.
    pub path: String,
    /// Query; empty if there is none.
    pub query: String,
    /// Headers.
    pub headers: HeaderMap,
    /// JSON body; of a form, its fields, with each file as `{name, type, bytes}` (their number); null
    /// for any other body.
    pub body: Value,
}

impl Recorded {
    /// A header as text; `None` when it is missing or not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A recorded request with its body as bytes. Parsing thousands of bodies would cost a benchmark
/// more than sending them.
pub(super) struct Kept {
    /// The request without its body.
    pub(super) head: Recorded,
    pub(super) body: Bytes,
}

impl Kept {
    pub(super) fn recorded(&self) -> Recorded {
        Recorded { body: parse(&self.head.headers, &self.body), ..self.head.clone() }
    }
}

pub(super) fn parse(headers: &HeaderMap, body: &[u8]) -> Value {
    match form::boundary(headers) {
        Some(boundary) => form::parse(boundary, body).unwrap_or(Value::Null),
        None => serde_json::from_slice(body).unwrap_or(Value::Null),
    }
}

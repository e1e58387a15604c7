//! A tool as models see it.

use galatea_core::model::tokens::Family;
use rmcp::model::Tool as Described;
use serde_json::Value;
use std::sync::Arc;

use super::{clean, hash, name};

/// A tool as its server describes it, cleaned for models.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name on its server.
    pub name: String,
    /// The name by which models call it: the server's name, `_` and its own, of letters that every
    /// model provider takes.
    pub action: String,
    /// Its purpose, without invisible characters and bounded.
    pub description: String,
    /// JSON Schema of its arguments, for models.
    pub parameters: Arc<Value>,
    /// JSON Schema of its structured answer.
    pub answer: Option<Arc<Value>>,
    /// Whether its server says that a second call does no more than the first. Only used to be
    /// stricter.
    pub repeatable: bool,
    /// Hash of everything that describes it.
    pub pin: String,
    /// Why it cannot be offered, whatever its owner says.
    pub fault: Option<String>,
}

impl Tool {
    /// From what a server lists. `action` is its name for models.
    pub(crate) fn new(described: &Described, action: String) -> Self {
        let parameters = Value::Object((*described.input_schema).clone());
        let answer =
            described.output_schema.as_ref().map(|schema| Value::Object((**schema).clone()));
        let fault = clean::fault(&parameters)
            .or_else(|| answer.as_ref().and_then(clean::fault))
            .or_else(|| name::fault(&described.name));
        let annotations = described.annotations.as_ref();
        let title = described.title.as_deref().unwrap_or_default();
        let words = described.description.as_deref().unwrap_or(title);
        Self {
            name: described.name.to_string(),
            action,
            description: clean::description(words),
            parameters: Arc::new(if fault.is_none() {
                clean::schema(&parameters)
            } else {
                Value::Null
            }),
            answer: answer.filter(|_| fault.is_none()).map(Arc::new),
            repeatable: annotations
                .is_some_and(|a| a.read_only_hint == Some(true) || a.idempotent_hint == Some(true)),
            pin: hash::of(described),
            fault,
        }
    }
}

/// Tokens that the description of a tool takes.
pub(crate) fn cost(family: Family, tool: &Tool) -> u64 {
    family.text(&tool.action) + family.text(&tool.description) + family.json(&tool.parameters)
}

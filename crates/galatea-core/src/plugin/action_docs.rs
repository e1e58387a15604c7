//! Description of an action for a model.

use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Description of an action for the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionDocs {
    /// Name by which the model calls it, such as `SEND_MESSAGE`.
    pub name: String,
    /// Other names that mean it.
    pub similes: Vec<String>,
    /// Advice on its use.
    pub description: String,
    /// JSON Schema of the arguments; shared, since every turn hands it on.
    pub parameters: Arc<Value>,
}

/// A schema without what tells a model nothing: names of Rust types, formats of numbers, null
/// beside what may be left out.
pub(crate) fn lean(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let mut out = Map::new();
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("$schema" | "title", Value::String(_)) | ("default", Value::Null) => {}
                    ("format", Value::String(format)) if is_of_rust(&format) => {}
                    // Names of arguments, which may be any.
                    ("properties" | "$defs", Value::Object(named)) => {
                        out.insert(
                            name,
                            Value::Object(
                                named
                                    .into_iter()
                                    .map(|(name, value)| (name, lean(value)))
                                    .collect(),
                            ),
                        );
                    }
                    ("type", Value::Array(types)) => {
                        let mut types: Vec<Value> =
                            types.into_iter().filter(|kind| kind != "null").collect();
                        out.insert(
                            name,
                            if types.len() == 1 { types.remove(0) } else { Value::Array(types) },
                        );
                    }
                    ("anyOf", Value::Array(choices)) => {
                        let mut choices: Vec<Value> = choices
                            .into_iter()
                            .filter(|choice| choice.get("type").is_none_or(|kind| kind != "null"))
                            .map(lean)
                            .collect();
                        match (choices.len(), choices.pop()) {
                            (1, Some(Value::Object(only))) => out.extend(only),
                            (_, last) => {
                                choices.extend(last);
                                out.insert(name, Value::Array(choices));
                            }
                        }
                    }
                    (_, value) => {
                        out.insert(name, lean(value));
                    }
                }
            }
            Value::Object(out)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(lean).collect()),
        other => other,
    }
}

/// Formats that schemars writes for Rust's numbers.
fn is_of_rust(format: &str) -> bool {
    [
        "int", "uint", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float", "double",
    ]
    .contains(&format)
}

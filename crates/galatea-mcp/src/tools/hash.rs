//! The hash by which a tool is pinned.

use rmcp::model::Tool as Described;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

use crate::config::hex;

/// Hash of a tool's name, description, schemas and annotations. Icons and metadata do not count: no
/// model sees them.
pub(crate) fn of(tool: &Described) -> String {
    let mut value = serde_json::to_value(tool).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("icons");
        fields.remove("_meta");
    }
    hex(&Sha256::digest(sorted(&value).to_string().as_bytes()))
}

/// A value whose objects have their keys in order, so that a server may list them in any.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let ordered: BTreeMap<&String, Value> =
                fields.iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(
                ordered.into_iter().map(|(key, value)| (key.clone(), value)).collect::<Map<_, _>>(),
            )
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

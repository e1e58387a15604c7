//! Converts tool schemas to the form that the services require.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// A JSON Schema whose top level is an object, as all services require. An action without arguments
/// gets an empty object.
pub(crate) fn object_schema(schema: &Value) -> Cow<'_, Value> {
    match schema.as_object() {
        Some(map) if map.get("type").and_then(Value::as_str) == Some("object") => {
            Cow::Borrowed(schema)
        }
        Some(map) if map.contains_key("properties") => {
            let mut map: Map<String, Value> = map.clone();
            map.insert("type".to_owned(), json!("object"));
            Cow::Owned(Value::Object(map))
        }
        _ => Cow::Owned(json!({ "type": "object", "properties": {} })),
    }
}

//! The published JSON Schema of a character file.

use serde_json::{Value, json};

use super::Character;

/// Name under which the schema lies beside a character file, as the `$schema` line of
/// [`super::template`] says.
pub const SCHEMA_FILE: &str = "character.schema.json";

/// JSON Schema (2020-12) of the present format. Editors check a file with it when its `$schema`
/// line points to a copy.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Character).to_value();
    if let Value::Object(root) = &mut schema {
        root.insert("title".to_owned(), json!("Character"));
        root.insert(
            "description".to_owned(),
            json!("A persona for Galatea, in elizaOS's character format."),
        );
        root.insert("required".to_owned(), json!(["name", "bio"]));
        root.insert("additionalProperties".to_owned(), json!(false));
        if let Some(Value::Object(properties)) = root.get_mut("properties") {
            properties.insert(
                "$schema".to_owned(),
                json!({ "type": "string", "description": "Path of this schema, for editors." }),
            );
            if let Some(Value::Object(name)) = properties.get_mut("name") {
                name.insert("minLength".to_owned(), json!(1));
            }
        }
    }
    schema
}

/// True if these bytes are a JSON Schema, such as [`SCHEMA_FILE`], which lies beside character
/// files and matches their `*.json`.
pub fn is_schema(bytes: &[u8]) -> bool {
    let declares_schema = |value: Value| {
        value["$schema"].as_str().is_some_and(|dialect| dialect.contains("json-schema.org/"))
            && value["properties"].is_object()
    };
    serde_json::from_slice(bytes).is_ok_and(declares_schema)
}

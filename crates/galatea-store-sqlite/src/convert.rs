//! Between stored columns and nouns.

use galatea_core::{Error, Result, RoomId};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::error;

/// Reads a JSON column. Text with a key twice, which a plugin's free keys can cause, is read with the later one.
pub(crate) fn from_json<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T> {
    serde_json::from_str(text).or_else(|first| {
        let value: Value = serde_json::from_str(text).map_err(|e| error::unreadable(what, e))?;
        serde_json::from_value(value).map_err(|_| error::unreadable(what, first))
    })
}

/// Ids as one JSON parameter, for `IN (SELECT unhex(value) FROM json_each(?))`.
pub(crate) fn ids_json<T: Copy + Into<Uuid>>(ids: &[T]) -> String {
    let mut out = String::from("[");
    for id in ids {
        if out.len() > 1 {
            out.push(',');
        }
        out.push('"');
        out.push_str((*id).into().simple().encode_lower(&mut Uuid::encode_buffer()));
        out.push('"');
    }
    out.push(']');
    out
}

/// A unit variant's serialised name, such as `MUTED`.
pub(crate) fn name_of(value: &impl Serialize) -> Result<String> {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => Ok(name),
        _ => Err(Error::unexpected("a value without a name was to be stored")),
    }
}

/// Reads back a unit variant stored by its serialised name.
pub(crate) fn from_name<T: DeserializeOwned>(what: &'static str, name: String) -> Result<T> {
    serde_json::from_value(Value::String(name)).map_err(|e| error::unreadable(what, e))
}

/// An optional Room.
pub(crate) fn room(id: Option<Uuid>) -> Option<RoomId> {
    id.map(RoomId)
}

/// A merge patch that removes what must be replaced as a whole. SQLite's `json_patch` (RFC 7396) merges objects at every depth;
/// metadata is merged one level deep, so objects further down are taken out first.
pub(crate) fn replaced(patch: &Map<String, Value>) -> Option<Map<String, Value>> {
    let out: Map<String, Value> = patch
        .iter()
        .filter_map(|(key, value)| {
            let inner: Map<String, Value> =
                value.as_object()?.iter().filter(|(_, inner)| inner.is_object()).map(|(key, _)| (key.clone(), Value::Null)).collect();
            (!inner.is_empty()).then(|| (key.clone(), Value::Object(inner)))
        })
        .collect();
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_objects_in_objects_are_replaced() {
        let patch = json!({"a": 1, "roles": {"x": "ADMIN"}, "deep": {"keep": 1, "swap": {"y": 2}}});
        assert_eq!(replaced(patch.as_object().unwrap()), json!({"deep": {"swap": null}}).as_object().cloned());
        assert_eq!(replaced(json!({"roles": {"x": "ADMIN"}}).as_object().unwrap()), None);
    }

    #[test]
    fn a_key_twice_is_read_with_the_later_one() {
        let content: galatea_core::Content = from_json("content", r#"{"text":"a","text":"b"}"#).unwrap();
        assert_eq!(content.text, "b");
        assert_eq!(from_json::<galatea_core::Content>("content", "{").unwrap_err().code(), Some("GAL-DB-CORRUPT"));
    }
}

//! Between stored columns and nouns.

use galatea_core::{Error, Result, RoomId};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use uuid::Uuid;

use crate::error;

/// Reads a JSON column. Text with a key twice, which a plugin's free keys can cause, is read with the later one.
pub(crate) fn from_json<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T> {
    serde_json::from_str(text).or_else(|first| {
        let value: Value = serde_json::from_str(text).map_err(|e| error::unreadable(what, e))?;
        serde_json::from_value(value).map_err(|_| error::unreadable(what, first))
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_twice_is_read_with_the_later_one() {
        let content: galatea_core::Content = from_json("content", r#"{"text":"a","text":"b"}"#).unwrap();
        assert_eq!(content.text, "b");
        assert_eq!(from_json::<galatea_core::Content>("content", "{").unwrap_err().code(), Some("GAL-DB-CORRUPT"));
    }
}

//! Between stored columns and nouns.

use galatea_core::{Error, Result, RoomId};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::error;

/// Levels of a document that can be read back: serde_json reads 128.
const DEEPEST: usize = 127;

/// Writes a JSON column.
///
/// # Errors
/// `Invalid` for what could not be read back.
pub(crate) fn to_json(value: &(impl Serialize + ?Sized)) -> Result<String> {
    let text = serde_json::to_string(value)
        .map_err(|e| Error::invalid("this cannot be written as JSON").with_source(e))?;
    if depth(&text) > DEEPEST {
        return Err(Error::invalid("this is nested too deeply to be stored")
            .with_fix("Flatten it.")
            .with("limit_levels", DEEPEST));
    }
    Ok(text)
}

/// How many arrays and objects are within one another. `text` is JSON that serde_json wrote.
fn depth(text: &str) -> usize {
    let (mut now, mut most, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                now += 1;
                most = most.max(now);
            }
            b'}' | b']' if !quoted => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// Reads a JSON column. Text with a key twice, which a plugin's free keys can cause, is read with
/// the later one.
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

/// A stored count.
pub(crate) fn count(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

/// A width as a column holds it.
pub(crate) fn width(width: usize) -> i64 {
    i64::try_from(width).unwrap_or(i64::MAX)
}

/// Numbers of a vector as SQLite stores them.
pub(crate) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}

/// Numbers of a vector as PostgreSQL stores them.
pub(crate) fn packed(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

/// The numbers that [`packed`] packed.
pub(crate) fn unpacked(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|four| f32::from_be_bytes(*four)).collect()
}

/// The sign of each number, eight to a byte, the first in the lowest bit.
pub(crate) fn signs(numbers: &[f32]) -> Vec<u8> {
    let byte = |eight: &[f32]| {
        eight.iter().enumerate().fold(0, |byte, (n, number)| byte | (u8::from(*number > 0.0) << n))
    };
    numbers.chunks(8).map(byte).collect()
}

/// In how many bits two values of one length differ.
pub(crate) fn distance(a: &[u8], b: &[u8]) -> i64 {
    let (a, b) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let words =
        a.0.iter()
            .zip(b.0)
            .map(|(a, b)| (u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b)).count_ones());
    let rest = a.1.iter().zip(b.1).map(|(a, b)| (a ^ b).count_ones());
    words.chain(rest).map(i64::from).sum()
}

/// A merge patch that removes what must be replaced as a whole. SQLite's `json_patch` (RFC 7396)
/// merges objects at every depth; metadata is merged one level deep, so objects further down are
/// taken out first. PostgreSQL's function `merged` needs none.
pub(crate) fn replaced(patch: &Map<String, Value>) -> Map<String, Value> {
    let inner = |value: &Value| -> Option<Map<String, Value>> {
        let inner: Map<String, Value> = value
            .as_object()?
            .iter()
            .filter(|(_, inner)| inner.is_object())
            .map(|(key, _)| (key.clone(), Value::Null))
            .collect();
        (!inner.is_empty()).then_some(inner)
    };
    patch
        .iter()
        .filter_map(|(key, value)| Some((key.clone(), Value::Object(inner(value)?))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_objects_in_objects_are_replaced() {
        let patch = json!({"a": 1, "roles": {"x": "ADMIN"}, "deep": {"keep": 1, "swap": {"y": 2}}});
        assert_eq!(
            Value::Object(replaced(patch.as_object().unwrap())),
            json!({"deep": {"swap": null}})
        );
        assert!(replaced(json!({"roles": {"x": "ADMIN"}}).as_object().unwrap()).is_empty());
    }

    #[test]
    fn signs_are_compared_bit_by_bit() {
        let vector = |turned: usize| -> Vec<f32> {
            (0..100).map(|n| if n % 3 == 0 || n == turned { 0.5 } else { -0.5 }).collect()
        };
        let (a, b, c) = (signs(&vector(0)), signs(&vector(1)), signs(&vector(98)));
        assert_eq!(a.len(), 13);
        assert_eq!((distance(&a, &a), distance(&a, &b), distance(&b, &c)), (0, 1, 2));
        assert_eq!(floats(&crate::dialect::little_endian(&vector(5))), vector(5));
    }

    #[test]
    fn a_key_twice_is_read_with_the_later_one() {
        let content: galatea_core::Content =
            from_json("content", r#"{"text":"a","text":"b"}"#).unwrap();
        assert_eq!(content.text, "b");
        assert_eq!(
            from_json::<galatea_core::Content>("content", "{").unwrap_err().code(),
            Some("GAL-DB-CORRUPT")
        );
    }

    #[test]
    fn what_could_not_be_read_back_is_not_written() {
        let nested = |levels| (0..levels).fold(json!("]}\\\""), |inner, _| json!([inner]));
        for levels in [0, 1, DEEPEST] {
            let text = to_json(&nested(levels)).unwrap();
            assert_eq!(from_json::<Value>("value", &text).unwrap(), nested(levels));
        }
        assert!(to_json(&nested(DEEPEST + 1)).is_err());
        let text = serde_json::to_string(&nested(DEEPEST + 1)).unwrap();
        assert!(from_json::<Value>("value", &text).is_err(), "the limit is serde_json's");
    }
}

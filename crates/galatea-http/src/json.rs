//! Lenient reading of JSON from other systems. A strict reader refuses a whole answer for half a
//! surrogate pair, deep nesting or one malformed item, and a connector that asks for the same
//! answer again never gets past it. This module replaces such places, and divides lists into items
//! without parsing them.
//!
//! Platforms almost always send strict JSON, so [`read`] tries that first and mends the body only
//! after a failure.

use serde::de::DeserializeOwned;

/// Deepest nesting kept, in arrays and objects. `serde_json` refuses more than 127; platforms send
/// fewer than 20 levels.
pub const DEEPEST: usize = 100;

/// Parses a value. If that fails, [mends](mend) the body and parses again.
///
/// # Errors
/// The second failure: the body is not JSON, or JSON of another shape.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(body).or_else(|_| serde_json::from_slice(&mend(body)))
}

/// Replaces what a strict reader refuses: half a surrogate pair and invalid UTF-8 by U+FFFD, raw
/// control characters in strings by spaces, arrays and objects nested deeper than [`DEEPEST`] by
/// `null`. A text that is not JSON does not become JSON.
pub fn mend(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(body);
    let body = text.as_bytes();
    let mut out = Vec::with_capacity(body.len());
    let (mut at, mut depth) = (0, 0);
    while let Some(&byte) = body.get(at) {
        let end = match byte {
            b'"' => {
                let end = string(body, at).unwrap_or(body.len());
                mend_string(&body[at..end], &mut out);
                end
            }
            b'[' | b'{' if depth == DEEPEST => {
                out.extend_from_slice(b"null");
                value(body, at).unwrap_or(body.len())
            }
            _ => {
                match byte {
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                out.push(byte);
                at + 1
            }
        };
        at = end;
    }
    out
}

/// The raw text of the first member called `name`. The object may be incomplete after that member.
pub fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    members(object).find(|(key, _)| *key == name.as_bytes()).map(|(_, value)| value)
}

/// The raw text after the colon of a member. The object and the member may be incomplete; the
/// members before it must be complete.
pub fn opened<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut at = inside(object, b'{')?;
    loop {
        let begin = blank(object, at);
        let end = string(object, begin)?;
        let colon = blank(object, end);
        if object.get(colon) != Some(&b':') {
            return None;
        }
        let from = blank(object, colon + 1);
        if object.get(begin + 1..end - 1)? == name.as_bytes() {
            return object.get(from..);
        }
        at = next(object, value(object, from)?)?;
    }
}

/// Names and values of an object as raw text. Ends where the object ends or becomes malformed.
pub fn members(object: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut at = inside(object, b'{');
    std::iter::from_fn(move || {
        let begin = blank(object, at?);
        let end = string(object, begin)?;
        let colon = blank(object, end);
        if object.get(colon) != Some(&b':') {
            return None;
        }
        let from = blank(object, colon + 1);
        let to = value(object, from)?;
        at = next(object, to);
        Some((object.get(begin + 1..end - 1)?, object.get(from..to)?))
    })
}

/// The items of a list as raw text; `None` unless `list` is a complete list.
pub fn items(list: &[u8]) -> Option<Vec<&[u8]>> {
    let mut found = Vec::new();
    let mut at = inside(list, b'[')?;
    if list.get(at) == Some(&b']') {
        return Some(found);
    }
    loop {
        let end = value(list, at)?;
        found.push(list.get(at..end)?);
        let after = blank(list, end);
        match list.get(after)? {
            b',' => at = blank(list, after + 1),
            b']' => return Some(found),
            _ => return None,
        }
    }
}

/// Position of the first byte inside a container that begins with `open`.
fn inside(text: &[u8], open: u8) -> Option<usize> {
    let begin = blank(text, 0);
    (text.get(begin) == Some(&open)).then(|| blank(text, begin + 1))
}

/// Position after the comma that follows a value; `None` if there is no comma.
fn next(text: &[u8], at: usize) -> Option<usize> {
    let at = blank(text, at);
    (text.get(at) == Some(&b',')).then_some(at + 1)
}

/// Position of the first byte at or after `at` that is not white space.
fn blank(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// Position after the string that begins at `at`.
fn string(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Position after the value that begins at `at`. Counts brackets without recursion, so any depth is
/// safe.
fn value(text: &[u8], at: usize) -> Option<usize> {
    let (mut at, mut depth) = (at, 0_usize);
    loop {
        match text.get(at)? {
            b'"' => at = string(text, at)?,
            b'[' | b'{' => {
                depth += 1;
                at += 1;
            }
            b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            _ if depth > 0 => {
                at += 1;
                continue;
            }
            _ => {
                let word = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
                let long = text[at..].iter().take_while(word).count();
                // A number at the end of the text may be cut off; a complete value is followed by a
                // comma or a bracket.
                return (long > 0 && at + long < text.len()).then_some(at + long);
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

fn mend_string(text: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let long = match (byte, text.get(at + 1)) {
            (b'\\', Some(b'u')) => match (unit(text, at), unit(text, at + 6)) {
                (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
                (Some(0xD800..=0xDFFF), _) => {
                    out.extend_from_slice(b"\\ufffd");
                    at += 6;
                    continue;
                }
                _ => 2,
            },
            (b'\\', Some(_)) => 2,
            (0..0x20, _) => {
                out.push(b' ');
                at += 1;
                continue;
            }
            _ => 1,
        };
        out.extend_from_slice(&text[at..at + long]);
        at += long;
    }
}

/// The UTF-16 code unit of the escape that begins at `at`.
fn unit(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let hex = digits.iter().all(u8::is_ascii_hexdigit).then_some(digits)?;
    u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn lenient(text: &str) -> Value {
        read(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn half_surrogates_are_replaced_and_whole_ones_kept() {
        for (text, meant) in [
            (r#""\ud83d\ude00""#, "😀"),
            (r#""a\ud83db""#, "a\u{FFFD}b"),
            (r#""\ude00\ud83d\ud83d\ude00""#, "\u{FFFD}\u{FFFD}😀"),
            (r#""\\ud83d""#, r"\ud83d"),
            (r#""\\\ud83d\"""#, "\\\u{FFFD}\""),
            (r#""\ud83d\n""#, "\u{FFFD}\n"),
            ("\"a\u{1}b\tc\"", "a b c"),
        ] {
            assert_eq!(lenient(text), json!(meant), "{text}");
        }
        assert!(
            serde_json::from_str::<Value>(r#""a\ud83db""#).is_err(),
            "a strict reader refuses it"
        );
        assert_eq!(read::<Value>(b"\"a\xffb\"").unwrap(), json!("a\u{FFFD}b"));
    }

    #[test]
    fn what_is_nested_too_deeply_becomes_null_and_the_rest_stays() {
        for deep in [99, 100, 127, 128, 5_000, 100_000] {
            let text = format!(
                r#"{{"a":1,"deep":{}"x"{},"z":2}}"#,
                r#"[{"k]":"#.repeat(deep),
                "}]".repeat(deep)
            );
            let read = lenient(&text);
            assert_eq!((&read["a"], &read["z"]), (&json!(1), &json!(2)), "{deep}");
        }
    }

    #[test]
    fn lists_and_objects_are_taken_apart_without_reading_what_they_hold() {
        let list = br#" [ {"a":"]\""} , 1e999,"x,y",[[{}]] , nonsense ] rest"#;
        let found: Vec<_> =
            items(list).unwrap().into_iter().map(|i| std::str::from_utf8(i).unwrap()).collect();
        assert_eq!(found, [r#"{"a":"]\""}"#, "1e999", r#""x,y""#, "[[{}]]", "nonsense"]);
        assert_eq!(items(b"[]"), Some(Vec::new()));
        for broken in ["", "{}", "[1", "[1,", "[1,]", "[,1]", "[\"x]", "[{]", "[1 2]"] {
            assert_eq!(items(broken.as_bytes()), None, "{broken}");
        }
        let object =
            br#"{"ok" : true, "deep": {"result": 1}, "result": [{"x"}], "result": 2, "cut": ["#;
        assert_eq!(member(object, "result"), Some(&br#"[{"x"}]"#[..]));
        assert_eq!(
            (member(object, "ok"), member(object, "cut"), member(object, "no")),
            (Some(&b"true"[..]), None, None)
        );
        assert_eq!(
            opened(br#"{"ok":true,"result":[{"update_id":7,"mess"#, "result"),
            Some(&br#"[{"update_id":7,"mess"#[..])
        );
        assert_eq!((opened(br#"{"ok":tr"#, "result"), opened(b"[]", "result")), (None, None));
        assert_eq!(
            members(b"[]").count() + members(b"{}").count() + members(b"{\"a\"}").count(),
            0
        );
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from)
        ];
        leaf.prop_recursive(6, 64, 6, |inner| {
            let list = proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from);
            let map = proptest::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect()));
            prop_oneof![list, map]
        })
    }

    proptest! {
        #[test]
        fn sound_json_means_the_same_afterwards(value in any_value()) {
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                prop_assert_eq!(&serde_json::from_slice::<Value>(&mend(text.as_bytes())).unwrap(), &value);
                if let Value::Array(list) = &value {
                    let parts: Vec<Value> = items(text.as_bytes()).unwrap().into_iter().map(|i| serde_json::from_slice(i).unwrap()).collect();
                    prop_assert_eq!(&parts, list);
                }
                if let Value::Object(map) = &value {
                    let values: Vec<Value> = members(text.as_bytes()).map(|(_, v)| serde_json::from_slice(v).unwrap()).collect();
                    prop_assert_eq!(values, map.values().cloned().collect::<Vec<_>>());
                }
            }
        }

        #[test]
        fn any_escapes_in_a_string_can_be_read(units in proptest::collection::vec(any::<u16>(), 0..40)) {
            let text: String = units.iter().map(|u| format!("\\u{u:04x}")).collect();
            let read: String = read(format!("\"{text}\"").as_bytes()).unwrap();
            prop_assert_eq!(read, String::from_utf16_lossy(&units));
        }

        #[test]
        fn no_bytes_do_harm(bytes in proptest::collection::vec(prop_oneof![any::<u8>(), proptest::sample::select(&b"[]{}\",:\\u0d8e "[..])], 0..200)) {
            let mended = mend(&bytes);
            let _ = (items(&bytes), member(&bytes, "a"), opened(&bytes, "a"), members(&mended).count());
        }
    }
}

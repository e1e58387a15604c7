//! No input makes the loader panic, and what it says always has a place inside the text.

use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value};

use super::V0;
use crate::{
    character::{Diagnostic, convert, keys, load, load_bytes},
    error::finding::Severity,
};

const TOML: &str = include_str!("../../../../../characters/gardener.toml");

fn check(name: &str, text: &str) {
    let diagnostics = match load(name, text) {
        Ok(loaded) => {
            assert!(loaded.warnings.iter().all(|d| d.severity != Severity::Error));
            assert!(!loaded.character.name.is_empty());
            let converted = convert(&loaded.character);
            let again = load("again.json", &converted)
                .unwrap_or_else(|refused| panic!("{refused}\n{converted}"));
            assert_eq!(convert(&again.character), converted, "converting twice changes something");
            loaded.warnings
        }
        Err(refused) => {
            assert!(refused.diagnostics.iter().any(|d| d.severity == Severity::Error));
            refused.diagnostics
        }
    };
    diagnostics.iter().for_each(|d| placed(d, text));
}

fn placed(diagnostic: &Diagnostic, text: &str) {
    let shown = diagnostic.to_string();
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    if diagnostic.line > 0 {
        let line = text
            .strip_prefix('\u{FEFF}')
            .unwrap_or(text)
            .split('\n')
            .nth(diagnostic.line - 1)
            .expect("the line exists");
        assert!(diagnostic.column <= line.chars().count() + 1, "{shown}");
        assert!(
            diagnostic.caret + diagnostic.width
                <= diagnostic.snippet.chars().count().max(diagnostic.caret + 1),
            "{shown}"
        );
        assert!(diagnostic.snippet.chars().count() <= 98, "{shown}");
    }
}

fn any_text() -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..8).prop_map(String::from_iter)
}

/// Pieces that mean something to the parsers.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("\"".to_owned()),
        Just("\\".to_owned()),
        Just("\\ud83d".to_owned()),
        Just("\n".to_owned()),
        Just("\u{0}".to_owned()),
        Just("\u{b}".to_owned()),
        Just("\u{a0}".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("7".to_owned()),
        Just("/*".to_owned()),
        Just("//".to_owned()),
        Just("[[".to_owned()),
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("]".to_owned()),
        Just(",".to_owned()),
        Just("null".to_owned()),
        Just("1e9999".to_owned()),
        Just("\"name\":".to_owned()),
        Just("\"secrets\":{\"K\":".to_owned()),
        Just("\"user\"".to_owned()),
        Just("é\u{1F916}".to_owned()),
        any_text(),
    ]
}

/// A file with a few pieces cut out or put in.
fn mutated(original: &'static str) -> impl Strategy<Value = String> {
    let places: Vec<usize> = original.char_indices().map(|(i, _)| i).collect();
    vec((0..places.len(), 0..40_usize, piece()), 1..6).prop_map(move |edits| {
        let mut text = original.to_owned();
        for (place, cut, piece) in edits {
            let mut start = places[place].min(text.len());
            while !text.is_char_boundary(start) {
                start -= 1;
            }
            let mut end = (start + cut).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.replace_range(start..end.max(start), &piece);
        }
        text
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((field(), inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn field() -> impl Strategy<Value = String> {
    let old = [
        "lore",
        "clients",
        "modelProvider",
        "clientConfig",
        "people",
        "user",
        "content",
        "action",
        "examples",
        "path",
        "all",
        "text",
        "discord",
        "secrets",
        "unmapped",
        "settings",
    ];
    prop_oneof![
        proptest::sample::select(keys::FIELDS).prop_map(str::to_owned),
        proptest::sample::select(old.to_vec()).prop_map(str::to_owned),
        any_text(),
    ]
}

/// Every text and number in a value.
fn leaves(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(_) | Value::Number(_) => out.push(value.to_string()),
        Value::Array(list) => list.iter().for_each(|v| leaves(v, out)),
        Value::Object(map) => map.values().for_each(|v| leaves(v, out)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Whether a text or number is in the file written, alone or behind the topic that it stands under
/// (`"topic: text"`).
fn is_kept(leaf: &str, written: &str) -> bool {
    written.contains(leaf)
        || leaf
            .strip_prefix('"')
            .is_some_and(|rest| rest.len() > 1 && written.contains(&format!(": {rest}")))
}

#[test]
fn what_stands_under_a_topic_is_kept_with_it() {
    for text in ["", " ", "tea \"green\"\n", "topic: x"] {
        let known =
            serde_json::json!({ "name": "N", "bio": "b", "knowledge": { "$schema": text } });
        let converted = convert(&load("c.json", &known.to_string()).unwrap().character);
        let leaf = Value::from(text).to_string();
        assert!(is_kept(&leaf, &converted), "{converted}");
        let topic = converted.contains("$schema: ");
        assert_eq!(topic, !text.trim().is_empty(), "nothing is said of a topic alone: {converted}");
    }
    assert!(!is_kept("\"\"", "\"topic: \"") && !is_kept("\"b\"", "\"ab\""));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_pieces_never_panic(pieces in vec(piece(), 0..30)) {
        let text = pieces.concat();
        check("c.json", &text);
        check("c.toml", &text);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = load_bytes("c.json", &bytes);
        let _ = load_bytes("c.toml", &bytes);
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_accepted_without_a_remark_on_its_form_is_json(pieces in vec(piece(), 0..12)) {
        let text = format!("{{\"name\":\"N\",\"bio\":\"b\",\"x\":{}}}", pieces.concat());
        if let Ok(loaded) = load("c.json", &text)
            && !loaded.warnings.iter().any(|d| d.code == "GAL-CHAR-LOOSE")
        {
            prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn values_in_any_place_never_panic_and_nothing_accepted_is_lost(entries in vec((field(), any_value()), 0..6)) {
        let mut map: Map<String, Value> = entries.into_iter().collect();
        map.insert("name".to_owned(), "N".into());
        map.entry("bio").or_insert_with(|| "b".into());
        // Renamed, derived or left out on purpose.
        for key in ["$schema", "clients", "plugins", "username"] {
            map.shift_remove(key);
        }
        let text = Value::Object(map.clone()).to_string();
        check("c.json", &text);
        if let Ok(loaded) = load("c.json", &text) {
            let converted = convert(&loaded.character);
            let mut expected = Vec::new();
            leaves(&Value::Object(map), &mut expected);
            for leaf in expected {
                prop_assert!(is_kept(&leaf, &converted), "{leaf} is lost\n{text}\n{converted}");
            }
        }
    }
    #[test]
    fn damaged_json_never_panics(text in mutated(V0)) {
        check("c.json", &text);
    }

    #[test]
    fn damaged_toml_never_panics(text in mutated(TOML)) {
        check("c.toml", &text);
    }
}

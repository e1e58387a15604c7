//! Character → a file in elizaOS's present format.

use serde_json::{Map, Value};

use super::{Character, keys::FIELDS};

/// Place of fields without a counterpart: elizaOS refuses unknown fields, but `settings` is free.
const UNMAPPED: &str = "unmapped";

/// The character as JSON text that elizaOS 1.x accepts, ending in a line break.
///
/// Nothing is lost: unknown fields stand under `settings.unmapped` (only an editor's `$schema` line
/// is left out, which elizaOS refuses). The text holds the secrets that the file held, so write it
/// where the file was, not into a log. Reading the text again gives the same text.
pub fn convert(character: &Character) -> String {
    let mut out = Map::new();
    let plain = serde_json::to_value(character).unwrap_or_default();
    for field in FIELDS {
        match *field {
            "settings" => {
                let settings = settings(character);
                if !settings.is_empty() {
                    out.insert("settings".to_owned(), Value::Object(settings));
                }
            }
            "secrets" if !character.secrets.is_empty() => {
                out.insert("secrets".to_owned(), Value::Object((*character.secrets).clone()));
            }
            "style" => {
                let style =
                    plain.get("style").filter(|s| s.as_object().is_some_and(|s| !s.is_empty()));
                out.extend(style.map(|s| ("style".to_owned(), s.clone())));
            }
            "$schema" => {}
            field => out.extend(plain.get(field).map(|v| (field.to_owned(), v.clone()))),
        }
    }
    format!("{:#}\n", Value::Object(out))
}

/// The settings, with what has no counterpart and the secrets at the end.
fn settings(character: &Character) -> Map<String, Value> {
    let mut settings = character.settings.clone();
    let mut extra = character.extra.clone();
    extra.shift_remove("$schema");
    let unmapped = match settings.shift_remove(UNMAPPED) {
        Some(Value::Object(mut known)) => {
            extra.into_iter().for_each(|(key, value)| keep(&mut known, &key, value));
            Some(Value::Object(known))
        }
        // Another program's setting of this name is kept unchanged under a key of its own.
        Some(other) if !extra.is_empty() => {
            keep(&mut extra, UNMAPPED, other);
            Some(Value::Object(extra))
        }
        Some(other) => Some(other),
        None => (!extra.is_empty()).then_some(Value::Object(extra)),
    };
    settings.extend(unmapped.map(|u| (UNMAPPED.to_owned(), u)));
    if !character.settings_secrets.is_empty() {
        settings.insert("secrets".to_owned(), Value::Object((*character.settings_secrets).clone()));
    }
    settings
}

/// Adds a value under its key, or under the next free one (`key_2`) where another value has that.
fn keep(map: &mut Map<String, Value>, key: &str, value: Value) {
    let mut name = key.to_owned();
    let mut n = 2;
    while map.get(&name).is_some_and(|known| *known != value) {
        name = format!("{key}_{n}");
        n += 1;
    }
    map.entry(name).or_insert(value);
}

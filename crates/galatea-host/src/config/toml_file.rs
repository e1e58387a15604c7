//! Reads `galatea.toml`, which has flat names or tables. `[telegram] bot_token` is
//! `TELEGRAM_BOT_TOKEN`; `[character.helper] x` is `CHARACTER.HELPER.X`.

use galatea_core::settings::{Origin, Setting};
use serde_json::Value;
use std::{ops::Range, path::Path};
use toml::de::{DeTable, DeValue};

use super::text_file::{Named, Parsed, masked};
use crate::report::{Place, Report};

/// No setting is nested deeper than this.
const MAX_DEPTH: usize = 8;

/// Reads a `galatea.toml`.
pub(super) fn parse(path: &Path, text: &str) -> Parsed {
    let mut parsed = Parsed { only_ours: true, ..Parsed::default() };
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let place = place(path, text, &error.span().unwrap_or(0..0));
        // Some messages quote the text, which may contain a secret. The first line states the
        // fault.
        let message = error.message().lines().next().unwrap_or_default().to_owned();
        parsed.errors.push(
            Report::error(format!("{} is not valid TOML: {message}", path.display()))
                .code("GAL-CFG-TOML")
                .place(place)
                .fix("texts need quotes: NAME = \"value\""),
        );
    }
    if parsed.errors.is_empty() {
        parsed.table(path, text, &[], table.get_ref());
    }
    parsed
}

impl Parsed {
    fn table(&mut self, path: &Path, text: &str, above: &[String], table: &DeTable<'_>) {
        for (key, value) in table {
            let mut parts = above.to_vec();
            parts.push(key.get_ref().to_string());
            if let (Some(inner), true) = (value.get_ref().as_table(), parts.len() < MAX_DEPTH) {
                self.table(path, text, &parts, inner);
                continue;
            }
            let place = place(path, text, &key.span());
            let Some(json) = to_json(value.get_ref()) else {
                self.errors.push(
                    Report::error(format!("{} cannot be a setting", value.get_ref().type_str()))
                        .code("GAL-CFG-TOML")
                        .place(place)
                        .fix("write a text, a number, true, false or a list"),
                );
                continue;
            };
            let name = name(&parts);
            let line = place.line;
            if let Some(known) = self.layer.get(&name) {
                self.warnings.push(
                    Report::warning(format!("{name} is set twice; the last value counts"))
                        .code("GAL-CFG-TWICE")
                        .place(place.clone())
                        .line("where", format!("first in {}", known.origin)),
                );
            }
            self.names.push(Named { name: name.clone(), place });
            self.layer.insert(
                name,
                Setting { value: json, origin: Origin::File { path: path.to_path_buf(), line } },
            );
        }
    }
}

/// The setting's name for a path of keys.
fn name(parts: &[String]) -> String {
    let upper: Vec<String> =
        parts.iter().map(|p| p.to_uppercase().replace(['-', ' '], "_")).collect();
    match upper.as_slice() {
        [first, who, rest @ ..] if first == "CHARACTER" && !rest.is_empty() => {
            format!("CHARACTER.{who}.{}", rest.join("_"))
        }
        parts => parts.join("_"),
    }
}

fn to_json(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => Value::from(text.to_string()),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::from(number.as_str()), Value::from),
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .map_or_else(|_| Value::from(number.as_str()), Value::from),
        DeValue::Datetime(time) => Value::from(time.to_string()),
        DeValue::Array(items) => {
            Value::Array(items.iter().map(|item| to_json(item.get_ref())).collect::<Option<_>>()?)
        }
        DeValue::Table(_) => return None,
    })
}

fn place(path: &Path, text: &str, span: &Range<usize>) -> Place {
    let start = floor(text, span.start);
    let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[begin..].lines().next().unwrap_or_default();
    let end = floor(text, span.end).clamp(start, (begin + line.len()).max(start));
    Place {
        file: path.display().to_string(),
        line: text[..begin].matches('\n').count() + 1,
        column: text[begin..start].chars().count() + 1,
        length: text[start..end].chars().count().max(1),
        text: masked(line),
        caret: None,
    }
}

/// The nearest character boundary at or before a byte offset.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Parsed {
        parse(Path::new("galatea.toml"), text)
    }

    #[test]
    fn flat_names_tables_and_characters_become_settings() {
        let parsed = file(
            "SERVER_PORT = 3001\nALLOW_FROM = ['a', 7]\n[telegram]\nbot-token = 'x'\n[character.\"my helper\"]\nopenai_api_key = 'y'\n",
        );
        let shown: Vec<_> =
            parsed.layer.iter().map(|(k, s)| format!("{k}={} {}", s.value, s.origin)).collect();
        assert_eq!(
            shown,
            [
                "ALLOW_FROM=[\"a\",7] galatea.toml line 2",
                "CHARACTER.MY_HELPER.OPENAI_API_KEY=\"y\" galatea.toml line 6",
                "SERVER_PORT=3001 galatea.toml line 1",
                "TELEGRAM_BOT_TOKEN=\"x\" galatea.toml line 4",
            ]
        );
    }

    #[test]
    fn broken_toml_is_shown_with_its_place_and_without_the_value() {
        let parsed = file("A = 1\nTELEGRAM_BOT_TOKEN = 12:canary\n");
        let text: String = parsed.errors.iter().map(ToString::to_string).collect();
        assert!(text.contains("galatea.toml:2:") && !text.contains("canary"), "{text}");
    }

    #[test]
    fn names_differing_in_case_only_are_warned_about() {
        assert_eq!(file("dm_policy = 'a'\nDM_POLICY = 'b'\n").warnings.len(), 1);
    }
}

//! `parse_mode`: converts text in HTML, MarkdownV2 or Markdown to plain text with entities, or
//! refuses it as the server does.

mod builder;
mod html;
mod markdown;

use serde_json::Value;

use super::{
    answer::Refusal,
    entities::{Formatted, check, detect, trimmed},
    params::Params,
};
use builder::{Builder, link};

/// Reads `text` of a call with its `parse_mode` or entities: checked, trimmed, and with the
/// entities the server detects. The caller checks length limits.
pub(crate) fn formatted(
    params: &Params,
    text: &str,
    mode: Option<&str>,
    entities: Option<&Value>,
) -> Result<Formatted, Refusal> {
    if mode.is_some_and(|m| !m.is_empty()) && entities.is_some() {
        params.note("both parse_mode and entities are given; the server ignores the entities");
    }
    let (text, entities) = match mode.unwrap_or_default().to_ascii_lowercase().as_str() {
        "" => (
            text.to_owned(),
            entities.map(|e| check(text, e, params)).transpose()?.unwrap_or_default(),
        ),
        "html" => html::parse(text).map_err(cannot_parse)?,
        "markdownv2" => markdown::parse_v2(text).map_err(cannot_parse)?,
        "markdown" => markdown::parse_legacy(text).map_err(cannot_parse)?,
        _ => return Err(Refusal::broken("unsupported parse_mode")),
    };
    let mut made = trimmed(&text, entities);
    let found = detect(&made.text, &made.entities);
    made.entities.extend(found);
    made.entities.sort_by_key(|e| (e["offset"].as_i64(), std::cmp::Reverse(e["length"].as_i64())));
    Ok(made)
}

fn cannot_parse(why: String) -> Refusal {
    Refusal::broken(format!("can't parse entities: {why}"))
}

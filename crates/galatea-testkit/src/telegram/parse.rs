//! `parse_mode`: converts text in HTML, MarkdownV2 or Markdown to plain text with entities, or
//! refuses it as the server does.

mod html;
mod markdown;

use serde_json::{Map, Value, json};

use super::{
    answer::Refusal,
    entities::{Formatted, check, detect, trimmed, utf16_len},
    params::Params,
};

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

/// Plain text under construction, with its open entities.
#[derive(Default)]
struct Builder {
    text: String,
    offset: usize,
    entities: Vec<Value>,
}

impl Builder {
    fn push(&mut self, c: char) {
        self.text.push(c);
        self.offset += c.len_utf16();
    }

    fn push_str(&mut self, s: &str) {
        self.text.push_str(s);
        self.offset += utf16_len(s);
    }

    /// Adds an entity from `from` to the current end. Empty entities are dropped, as by the server.
    fn entity(&mut self, kind: &str, from: usize, extra: Map<String, Value>) {
        if self.offset > from {
            let mut entity = json!({ "type": kind, "offset": from, "length": self.offset - from });
            if let Some(map) = entity.as_object_mut() {
                map.extend(extra);
            }
            self.entities.push(entity);
        }
    }

    fn done(mut self) -> (String, Vec<Value>) {
        self.entities
            .sort_by_key(|e| (e["offset"].as_i64(), std::cmp::Reverse(e["length"].as_i64())));
        (self.text, self.entities)
    }
}

/// Entity kind and fields for a link with this target.
fn link(url: &str) -> (&'static str, Map<String, Value>) {
    let mut extra = Map::new();
    if let Some(id) = url.strip_prefix("tg://user?id=").and_then(|id| id.parse::<i64>().ok()) {
        extra.insert("user".to_owned(), json!({ "id": id, "is_bot": false, "first_name": "" }));
        return ("text_mention", extra);
    }
    extra.insert("url".to_owned(), json!(url));
    ("text_link", extra)
}

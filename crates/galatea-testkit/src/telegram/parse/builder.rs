//! Builds a text with its entities.

use serde_json::{Map, Value, json};

use crate::telegram::entities::utf16_len;

/// Plain text under construction, with its open entities.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) text: String,
    pub(super) offset: usize,
    pub(super) entities: Vec<Value>,
}

impl Builder {
    pub(super) fn push(&mut self, c: char) {
        self.text.push(c);
        self.offset += c.len_utf16();
    }

    pub(super) fn push_str(&mut self, s: &str) {
        self.text.push_str(s);
        self.offset += utf16_len(s);
    }

    /// Adds an entity from `from` to the current end. Empty entities are dropped, as by the server.
    pub(super) fn entity(&mut self, kind: &str, from: usize, extra: Map<String, Value>) {
        if self.offset > from {
            let mut entity = json!({ "type": kind, "offset": from, "length": self.offset - from });
            if let Some(map) = entity.as_object_mut() {
                map.extend(extra);
            }
            self.entities.push(entity);
        }
    }

    pub(super) fn done(mut self) -> (String, Vec<Value>) {
        self.entities
            .sort_by_key(|e| (e["offset"].as_i64(), std::cmp::Reverse(e["length"].as_i64())));
        (self.text, self.entities)
    }
}

/// Entity kind and fields for a link with this target.
pub(super) fn link(url: &str) -> (&'static str, Map<String, Value>) {
    let mut extra = Map::new();
    if let Some(id) = url.strip_prefix("tg://user?id=").and_then(|id| id.parse::<i64>().ok()) {
        extra.insert("user".to_owned(), json!({ "id": id, "is_bot": false, "first_name": "" }));
        return ("text_mention", extra);
    }
    extra.insert("url".to_owned(), json!(url));
    ("text_link", extra)
}

//! Converts styled ranges to Bot API message entities with UTF-16 offsets.

use serde_json::Value;
use teloxide::types::{MessageEntity, MessageEntityKind};

use super::style::{Style, Styled};

/// Telegram ignores entities beyond this number (Bot API, limits of messages; TDLib
/// `MAX_ENTITIES`).
const MAX_ENTITIES: usize = 100;

/// The entities of a text. Offsets are valid UTF-16 boundaries inside the text.
pub(crate) fn entities(styled: &Styled) -> Vec<MessageEntity> {
    let offset = offsets(&styled.text);
    styled
        .spans
        .iter()
        .filter_map(|span| {
            // Telegram shortens ranges that begin or end with white space. Do the same here, so
            // that both sides have the same offsets.
            let shown = &styled.text[span.range.clone()];
            let (start, end) = match span.style {
                Style::Pre(_) => (span.range.start, span.range.start + shown.trim_end().len()),
                _ => (
                    span.range.start + shown.len() - shown.trim_start().len(),
                    span.range.start + shown.trim_end().len(),
                ),
            };
            if start >= end {
                return None;
            }
            let (from, to) = (offset(start), offset(end));
            let kind = match &span.style {
                Style::Quote => MessageEntityKind::Blockquote,
                Style::Bold => MessageEntityKind::Bold,
                Style::Italic => MessageEntityKind::Italic,
                Style::Strike => MessageEntityKind::Strikethrough,
                Style::Spoiler => MessageEntityKind::Spoiler,
                Style::Link(url) => MessageEntityKind::TextLink { url: url.clone() },
                Style::Code => MessageEntityKind::Code,
                Style::Pre(language) => MessageEntityKind::Pre { language: language.clone() },
            };
            Some(MessageEntity::new(kind, from, to - from))
        })
        .take(MAX_ENTITIES)
        .collect()
}

/// The entities as JSON for the `entities` parameter.
pub(crate) fn to_json(entities: &[MessageEntity]) -> Value {
    let mut value = serde_json::to_value(entities).unwrap_or_default();
    for entity in value.as_array_mut().into_iter().flatten() {
        if let Some(fields) = entity.as_object_mut() {
            fields.retain(|_, field| !field.is_null());
        }
    }
    value
}

/// Returns a function that converts byte offsets at character boundaries of `text` to UTF-16
/// offsets.
fn offsets(text: &str) -> impl Fn(usize) -> usize + use<> {
    // Holds only the places where the two differ: (byte after the character, bytes minus units so
    // far).
    let mut drift: Vec<(usize, usize)> = Vec::new();
    let mut total = 0;
    for (at, c) in text.char_indices() {
        let extra = c.len_utf8() - c.len_utf16();
        if extra > 0 {
            total += extra;
            drift.push((at + c.len_utf8(), total));
        }
    }
    move |byte| {
        let passed = drift.partition_point(|(after, _)| *after <= byte);
        byte - passed.checked_sub(1).and_then(|last| drift.get(last)).map_or(0, |(_, extra)| *extra)
    }
}

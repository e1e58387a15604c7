//! Message entities: types, UTF-16 offsets and nesting, checked as the Bot API states them.

use serde_json::{Map, Value, json};

use super::{answer::Refusal, params::Params};

/// Longest text, in UTF-16 code units after entity parsing (Bot API, sendMessage).
pub(crate) const MAX_TEXT: usize = 4096;
/// Longest caption, likewise (Bot API, sendPhoto).
pub(crate) const MAX_CAPTION: usize = 1024;
/// Entities the server keeps per message (limits.tginfo.me; more are cut off).
const MAX_ENTITIES: usize = 100;

/// Types a client may send (Bot API, MessageEntity.type).
const KINDS: &[&str] = &[
    "mention",
    "hashtag",
    "cashtag",
    "bot_command",
    "url",
    "email",
    "phone_number",
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "blockquote",
    "expandable_blockquote",
    "code",
    "pre",
    "text_link",
    "text_mention",
    "custom_emoji",
    "date_time",
];

/// Formatted text as the server stores it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Formatted {
    pub(crate) text: String,
    /// `MessageEntity` objects, ordered by offset.
    pub(crate) entities: Vec<Value>,
}

/// Length in UTF-16 code units.
pub(crate) fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Checks a client's entities against their text. Invalid ones are refused; errors that the real
/// server corrects silently are recorded as violations.
pub(crate) fn check(text: &str, raw: &Value, params: &Params) -> Result<Vec<Value>, Refusal> {
    let Some(list) = raw.as_array() else {
        return Err(Refusal::broken("expected an Array of MessageEntity"));
    };
    if list.len() > MAX_ENTITIES {
        params.note(format!("{} entities; the server keeps {MAX_ENTITIES}", list.len()));
    }
    let bounds = Bounds::of(text);
    let mut spans = Vec::new();
    for entity in list {
        spans.push(check_one(entity, &bounds)?);
    }
    check_nesting(&mut spans, params);
    let mut entities = list.clone();
    entities.sort_by_key(|e| (e["offset"].as_i64(), std::cmp::Reverse(e["length"].as_i64())));
    Ok(entities)
}

#[derive(Debug)]
struct Span {
    from: usize,
    to: usize,
    kind: String,
}

struct Bounds {
    /// For every UTF-16 offset up to the end: the byte offset of the character that begins there.
    starts: Vec<Option<usize>>,
}

impl Bounds {
    fn of(text: &str) -> Self {
        let mut starts = Vec::with_capacity(text.len() + 1);
        for (at, c) in text.char_indices() {
            starts.push(Some(at));
            if c.len_utf16() == 2 {
                starts.push(None);
            }
        }
        starts.push(Some(text.len()));
        Self { starts }
    }
    fn end(&self) -> usize {
        self.starts.len() - 1
    }
    fn splits(&self, at: usize) -> bool {
        self.starts[at].is_none()
    }
    fn byte_after(&self, at: usize) -> usize {
        self.starts[at..].iter().find_map(|s| *s).unwrap_or_default()
    }
}

fn check_one(entity: &Value, bounds: &Bounds) -> Result<Span, Refusal> {
    let Some(map) = entity.as_object() else {
        return Err(Refusal::broken("can't parse MessageEntity: MessageEntity must be an Object"));
    };
    let kind = field(map, "type", "String", Value::as_str)?;
    let offset = field(map, "offset", "Integer", Value::as_i64)?;
    let length = field(map, "length", "Integer", Value::as_i64)?;
    if !KINDS.contains(&kind) {
        return Err(Refusal::broken("can't parse MessageEntity: Unsupported type specified"));
    }
    let needs = match kind {
        "text_link" => Some("url"),
        "text_mention" => Some("user"),
        "custom_emoji" => Some("custom_emoji_id"),
        _ => None,
    };
    if let Some(needs) = needs.filter(|n| !map.contains_key(*n)) {
        return Err(Refusal::broken(format!(
            "can't parse MessageEntity: Can't find field \"{needs}\""
        )));
    }
    let known = [
        "type",
        "offset",
        "length",
        "url",
        "user",
        "language",
        "custom_emoji_id",
        "unix_time",
        "date_time_format",
    ];
    if let Some(odd) = map.keys().find(|k| !known.contains(&k.as_str())) {
        return Err(Refusal::broken(format!("MessageEntity has no field \"{odd}\"")));
    }
    let from = usize::try_from(offset).map_err(|_| {
        Refusal::broken(format!("receive an entity with incorrect offset {offset}"))
    })?;
    let len = usize::try_from(length).ok().filter(|l| *l > 0);
    let len = len.ok_or_else(|| {
        Refusal::broken(format!("receive an entity with incorrect length {length}"))
    })?;
    if from >= bounds.end() {
        return Err(Refusal::broken(format!(
            "entity begins after the end of the text at UTF-16 offset {from}"
        )));
    }
    let to = from.saturating_add(len);
    if to > bounds.end() {
        return Err(Refusal::broken(format!(
            "entity beginning at UTF-16 offset {from} ends after the end of the text at UTF-16 offset {to}"
        )));
    }
    if bounds.splits(from) {
        return Err(Refusal::broken(format!(
            "entity begins in a middle of a UTF-16 symbol at byte offset {}",
            bounds.byte_after(from)
        )));
    }
    if bounds.splits(to) {
        let at = bounds.byte_after(to);
        return Err(Refusal::broken(format!(
            "entity beginning at UTF-16 offset {from} ends in a middle of a UTF-16 symbol at byte offset {at}"
        )));
    }
    Ok(Span { from, to, kind: kind.to_owned() })
}

fn field<'a, T>(
    map: &'a Map<String, Value>,
    name: &str,
    kind: &str,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Result<T, Refusal> {
    let value = map.get(name).ok_or_else(|| {
        Refusal::broken(format!("can't parse MessageEntity: Can't find field \"{name}\""))
    })?;
    read(value).ok_or_else(|| {
        Refusal::broken(format!(
            "can't parse MessageEntity: Field \"{name}\" must be of type {kind}"
        ))
    })
}

/// Checks nesting as "Entities can be nested" (Bot API, Formatting options) states it: no partial
/// overlap; code and pre contain nothing and lie only within quotes; quotes cannot be nested; other
/// kinds than the plain styles cannot contain each other.
fn check_nesting(spans: &mut [Span], params: &Params) {
    spans.sort_by_key(|s| (s.from, std::cmp::Reverse(s.to)));
    for (i, outer) in spans.iter().enumerate() {
        for inner in spans[i + 1..].iter().take_while(|s| s.from < outer.to) {
            if let Some(why) = clash(outer, inner) {
                params.note(format!(
                    "entities {} {}..{} and {} {}..{}: {why}",
                    outer.kind, outer.from, outer.to, inner.kind, inner.from, inner.to
                ));
            }
        }
    }
}

fn clash(outer: &Span, inner: &Span) -> Option<&'static str> {
    let style = |k: &str| ["bold", "italic", "underline", "strikethrough", "spoiler"].contains(&k);
    let code = |k: &str| ["code", "pre"].contains(&k);
    let quote = |k: &str| ["blockquote", "expandable_blockquote"].contains(&k);
    if inner.to > outer.to {
        return Some("overlap partly");
    }
    let (a, b) = (outer.kind.as_str(), inner.kind.as_str());
    if quote(a) && quote(b) {
        return Some("quotes can't be nested");
    }
    if quote(a) || (quote(b) && outer.from == inner.from && outer.to == inner.to && !code(a)) {
        return None;
    }
    if code(a) || code(b) {
        return Some("pre and code can't be combined with other entities");
    }
    if style(a) || style(b) {
        return (a == b && style(a)).then_some("the same style twice");
    }
    Some("these kinds can't contain each other")
}

/// Removes surrounding white space, as the server does, and shifts the entities.
pub(crate) fn trimmed(text: &str, entities: Vec<Value>) -> Formatted {
    let kept = text.trim();
    let before = utf16_len(&text[..text.len() - text.trim_start().len()]);
    let end = before + utf16_len(kept);
    let entities = entities
        .into_iter()
        .filter_map(|mut entity| {
            let offset = usize::try_from(entity["offset"].as_i64()?).ok()?;
            let to = offset + usize::try_from(entity["length"].as_i64()?).ok()?;
            let (from, to) = (offset.max(before), to.min(end));
            if from >= to {
                return None;
            }
            entity["offset"] = json!(from - before);
            entity["length"] = json!(to - from);
            Some(entity)
        })
        .collect();
    Formatted { text: kept.to_owned(), entities }
}

/// Entities that the server itself detects in messages: mentions, commands, links, hashtags.
pub(crate) fn detect(text: &str, taken: &[Value]) -> Vec<Value> {
    let mut found = Vec::new();
    let mut at = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        let (skip, kind, len) = classify(bare);
        if let Some(kind) = kind {
            let offset = at + utf16_len(&bare[..skip]);
            let length = utf16_len(&bare[skip..skip + len]);
            let free = taken.iter().all(|e| {
                let from = e["offset"].as_u64().unwrap_or_default() as usize;
                let to = from + e["length"].as_u64().unwrap_or_default() as usize;
                to <= offset || from >= offset + length
            });
            if free {
                found.push(json!({ "type": kind, "offset": offset, "length": length }));
            }
        }
        at += utf16_len(word);
    }
    found
}

fn classify(word: &str) -> (usize, Option<&'static str>, usize) {
    let skip = word.len() - word.trim_start_matches(['(', '"', '\'', '*', '_']).len();
    let word = &word[skip..];
    let name_len =
        |s: &str| s.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').count();
    if word.starts_with("https://") || word.starts_with("http://") {
        return (
            skip,
            Some("url"),
            word.trim_end_matches(['.', ',', ')', '!', '?', ';', ':']).len(),
        );
    }
    if let Some(rest) = word.strip_prefix('@') {
        // Usernames are 5 to 32 characters long (telegram.org/faq, "What can I use as my
        // username?"); bots' end in bot.
        let len = name_len(rest);
        return (skip, (len >= 3).then_some("mention"), len + 1);
    }
    if let Some(rest) = word.strip_prefix('/') {
        let len = name_len(rest);
        let tail = rest[len..].strip_prefix('@').map_or(0, |t| name_len(t) + 1);
        return (skip, (len > 0).then_some("bot_command"), 1 + len + tail);
    }
    if let Some(rest) = word.strip_prefix('#') {
        let len = rest
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .map(char::len_utf8)
            .sum::<usize>();
        return (skip, (len > 0).then_some("hashtag"), len + 1);
    }
    (skip, None, 0)
}

#[cfg(test)]
mod tests;

//! Converts text with entities to Markdown. Finds mentions and commands by entity, never by
//! searching the text.

use galatea_core::Command;
use std::ops::Range;
use teloxide::types::{Message, MessageEntity, MessageEntityKind};

use super::Me;

/// Most entities that are read. Telegram allows 100 per message; a bound keeps the nesting shallow.
const MAX_ENTITIES: usize = 128;

/// An entity with its byte range.
#[derive(Debug, Clone)]
struct EntitySpan<'a> {
    range: Range<usize>,
    kind: &'a MessageEntityKind,
}

/// Converts bold, italic, strike, spoiler, code, links, mentions by name and quotations to
/// Markdown. The text itself stays unchanged: a typed asterisk is not escaped, because models and
/// people read this text.
pub(super) fn to_markdown(text: &str, entities: &[MessageEntity]) -> String {
    if !entities.iter().any(|e| styled(&e.kind)) {
        return text.to_owned();
    }
    let mut spans = entity_spans(text, entities);
    spans.retain(|m| styled(m.kind));
    spans.sort_by_key(|m| (m.range.start, std::cmp::Reverse(m.range.end)));
    let mut out = String::with_capacity(text.len() + spans.len() * 6);
    render(text, 0..text.len(), &spans, &mut out);
    out
}

fn styled(kind: &MessageEntityKind) -> bool {
    use MessageEntityKind as K;
    matches!(
        kind,
        K::Bold
            | K::Italic
            | K::Strikethrough
            | K::Spoiler
            | K::Code
            | K::Pre { .. }
            | K::TextLink { .. }
            | K::TextMention { .. }
            | K::Blockquote
            | K::ExpandableBlockquote
    )
}

fn render(text: &str, range: Range<usize>, spans: &[EntitySpan<'_>], out: &mut String) {
    let mut at = range.start;
    let mut rest = spans;
    while let Some((span, after)) = rest.split_first() {
        let start = span.range.start.max(at);
        let end = span.range.end.min(range.end);
        let inside = after.iter().take_while(|m| m.range.start < end).count();
        let (children, others) = after.split_at(inside);
        rest = others;
        if start >= end {
            // The range is written already (ranges cross, which Telegram never sends).
            continue;
        }
        out.push_str(&text[at..start]);
        wrap(text, start..end, span.kind, children, out);
        at = end;
    }
    out.push_str(&text[at.min(range.end)..range.end]);
}

fn wrap(
    text: &str,
    range: Range<usize>,
    kind: &MessageEntityKind,
    children: &[EntitySpan<'_>],
    out: &mut String,
) {
    use MessageEntityKind as K;
    let shown = &text[range.clone()];
    let marker = match kind {
        K::Code => return code(shown, out),
        K::Pre { language } => {
            return fence(shown, language.as_deref(), text[range.end..].chars().next(), out);
        }
        K::Blockquote | K::ExpandableBlockquote => {
            let mut inner = String::new();
            render(text, range.clone(), children, &mut inner);
            return quote(&inner, text[range.end..].chars().next(), out);
        }
        K::TextLink { .. }
        | K::TextMention { .. }
        | K::Bold
        | K::Italic
        | K::Strikethrough
        | K::Spoiler => kind,
        _ => {
            out.push_str(shown);
            return;
        }
    };
    // Markdown markers must touch the text, so white space at the edges goes outside.
    let trimmed = shown.trim();
    if trimmed.is_empty() {
        out.push_str(shown);
        return;
    }
    let lead = shown.len() - shown.trim_start().len();
    let inner = range.start + lead..range.start + lead + trimmed.len();
    out.push_str(&text[range.start..inner.start]);
    let (before, after) = match marker {
        K::Bold => ("**".to_owned(), "**".to_owned()),
        K::Italic => ("*".to_owned(), "*".to_owned()),
        K::Strikethrough => ("~~".to_owned(), "~~".to_owned()),
        K::Spoiler => ("||".to_owned(), "||".to_owned()),
        K::TextLink { url } => ("[".to_owned(), format!("]({url})")),
        K::TextMention { user } => ("[".to_owned(), format!("](tg://user?id={})", user.id.0)),
        _ => (String::new(), String::new()),
    };
    out.push_str(&before);
    render(text, inner.clone(), children, out);
    out.push_str(&after);
    out.push_str(&text[inner.end..range.end]);
}

fn code(shown: &str, out: &mut String) {
    // Use one backtick more than the longest run inside (CommonMark §6.1).
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    let pad = if shown.starts_with('`') || shown.ends_with('`') { " " } else { "" };
    for piece in [&ticks, pad, shown, pad, &ticks] {
        out.push_str(piece);
    }
}

fn fence(shown: &str, language: Option<&str>, next: Option<char>, out: &mut String) {
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest.max(2) + 1);
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&ticks);
    out.push_str(language.unwrap_or(""));
    out.push('\n');
    out.push_str(shown.strip_suffix('\n').unwrap_or(shown));
    out.push('\n');
    out.push_str(&ticks);
    if next.is_some_and(|c| c != '\n') {
        out.push('\n');
    }
}

fn quote(inner: &str, next: Option<char>, out: &mut String) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    for (i, line) in inner.trim_end_matches('\n').split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        out.push_str("> ");
        out.push_str(line);
    }
    if next.is_some_and(|c| c != '\n') {
        out.push('\n');
    }
}

/// Entities with byte ranges. Those that begin or end inside a character or outside the text are
/// dropped.
fn entity_spans<'a>(text: &str, entities: &'a [MessageEntity]) -> Vec<EntitySpan<'a>> {
    let at = Units::new(text);
    entities
        .iter()
        .take(MAX_ENTITIES)
        .filter_map(|e| {
            let (start, end) = (at.byte(e.offset)?, at.byte(e.offset.checked_add(e.length)?)?);
            (start < end).then_some(EntitySpan { range: start..end, kind: &e.kind })
        })
        .collect()
}

/// Converts UTF-16 offsets to byte offsets.
struct Units<'a> {
    text: &'a str,
    map: Option<Vec<usize>>,
}

impl<'a> Units<'a> {
    fn new(text: &'a str) -> Self {
        if text.is_ascii() {
            return Self { text, map: None };
        }
        let mut map = Vec::with_capacity(text.len() + 1);
        for (byte, c) in text.char_indices() {
            map.push(byte);
            if c.len_utf16() == 2 {
                map.push(usize::MAX);
            }
        }
        map.push(text.len());
        Self { text, map: Some(map) }
    }

    fn byte(&self, unit: usize) -> Option<usize> {
        match &self.map {
            None => (unit <= self.text.len()).then_some(unit),
            Some(map) => map.get(unit).copied().filter(|b| *b != usize::MAX),
        }
    }
}

/// True if an entity mentions the bot: `@name` or `/command@name` in any letter case, or a mention
/// of its id.
pub(super) fn mentions(text: &str, entities: &[MessageEntity], me: &Me) -> bool {
    entity_spans(text, entities).iter().any(|span| match span.kind {
        MessageEntityKind::Mention => {
            text[span.range.clone()].strip_prefix('@').is_some_and(|name| me.is_named(name))
        }
        MessageEntityKind::TextMention { user } => {
            i64::try_from(user.id.0).is_ok_and(|id| id == me.id)
        }
        MessageEntityKind::BotCommand => {
            text[span.range.clone()].split_once('@').is_some_and(|(_, name)| me.is_named(name))
        }
        _ => false,
    })
}

/// A command for the bot at the very start of the text: `/name args` or `/name@OurName args`.
pub(super) fn command(text: &str, entities: &[MessageEntity], me: &Me) -> Option<Command> {
    let first = entities
        .iter()
        .find(|e| e.offset == 0 && matches!(e.kind, MessageEntityKind::BotCommand))?;
    let end = Units::new(text).byte(first.length)?;
    let word = text.get(..end)?.strip_prefix('/')?;
    let name = match word.split_once('@') {
        Some((_, to)) if !me.is_named(to) => return None,
        Some((name, _)) => name,
        None => word,
    };
    (!name.is_empty())
        .then(|| Command { name: name.to_lowercase(), args: text[end..].trim().to_owned() })
}

pub(super) fn text_and_entities(m: &Message) -> (&str, &[teloxide::types::MessageEntity]) {
    match m.text() {
        Some(text) => (text, m.entities().unwrap_or(&[])),
        None => (m.caption().unwrap_or(""), m.caption_entities().unwrap_or(&[])),
    }
}

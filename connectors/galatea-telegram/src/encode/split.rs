//! Splits styled text into parts that fit one message, at the best place near the limit, without
//! losing a character.

use galatea_core::{
    markdown::table_head,
    split::{cut as cut_text, prefix},
};
use std::ops::Range;

use super::style::{Span, Style, Styled};

/// Longest text of a message in UTF-16 units, after entity parsing (Bot API, sendMessage).
pub(crate) const MAX_TEXT: usize = 4096;
/// Longest caption in UTF-16 units, after entity parsing (Bot API, sendPhoto and the like).
pub(crate) const MAX_CAPTION: usize = 1024;

/// Length in UTF-16 code units.
pub(crate) fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// Splits into parts of at most `limit` UTF-16 units, the first of at most `first`. Joined again,
/// the parts are exactly the text, except that the head of a table is repeated in every part that
/// continues it. Styled ranges are cut at the boundary and continue in the next part, so a code
/// block is a code block in each part.
///
/// Preferred places for a cut: after a blank line, a line, a sentence, a word, a grapheme. A code
/// block that fits one message moves as a whole.
pub(crate) fn split(styled: &Styled, first: usize, limit: usize) -> Vec<Styled> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut room = first.max(2);
    while start < styled.text.len() {
        let head = head(styled, start, limit);
        let end = start
            + cut(
                &styled.text[start..],
                room.saturating_sub(units(head)).max(2),
                &styled.spans,
                start,
                limit,
            );
        parts.push(under(head, slice(styled, start..end)));
        start = end;
        room = limit.max(2);
    }
    parts
}

/// The head of the table that continues at `start`. Empty if no table does, or if the head would
/// take more than a sixteenth of a message.
fn head(styled: &Styled, start: usize, limit: usize) -> &str {
    let block = styled
        .spans
        .iter()
        .find(|s| matches!(s.style, Style::Pre(_)) && s.range.start < start && start < s.range.end);
    let head = block.and_then(|s| {
        table_head(&styled.text[s.range.clone()]).filter(|head| s.range.start + head.len() < start)
    });
    head.filter(|head| units(head) * 16 <= limit).unwrap_or_default()
}

/// Puts the table's head in front of a part, inside the same block.
fn under(head: &str, mut part: Styled) -> Styled {
    if !head.is_empty() {
        part.text.insert_str(0, head);
        for span in &mut part.spans {
            let start = if span.range.start == 0 { 0 } else { span.range.start + head.len() };
            span.range = start..span.range.end + head.len();
        }
    }
    part
}

/// A piece of the text with its styled ranges.
fn slice(styled: &Styled, range: Range<usize>) -> Styled {
    let spans = styled
        .spans
        .iter()
        .filter_map(|span| {
            let start = span.range.start.max(range.start);
            let end = span.range.end.min(range.end);
            (start < end).then(|| Span {
                range: start - range.start..end - range.start,
                style: span.style.clone(),
            })
        })
        .collect();
    Styled { text: styled.text[range].to_owned(), spans }
}

/// Number of bytes of `rest` that fit into a part of `room` units; at least one character.
fn cut(rest: &str, room: usize, spans: &[Span], offset: usize, limit: usize) -> usize {
    let at = cut_text(rest, room, char::len_utf16);
    if at == rest.len() {
        return at;
    }
    // A cut before this point would waste more than three quarters of a message.
    let least = prefix(rest, room, char::len_utf16) / 4;
    let block = spans.iter().find(|s| {
        matches!(s.style, Style::Pre(_)) && s.range.start < offset + at && offset + at < s.range.end
    });
    if let Some(block) = block
        && block.range.start > offset + least
        && block.range.len() <= limit
        && units_at_most(rest, &block.range, offset, limit)
    {
        return block.range.start - offset;
    }
    at
}

fn units_at_most(rest: &str, block: &Range<usize>, offset: usize, limit: usize) -> bool {
    rest.get(block.start - offset..block.end - offset).is_some_and(|text| units(text) <= limit)
}

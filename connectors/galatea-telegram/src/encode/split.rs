//! Splitting styled text into parts that fit one message, at the best place near the limit, losing no character.

use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

use super::style::{Span, Style, Styled};

/// Longest text of a message in UTF-16 units, after entity parsing (Bot API, sendMessage).
pub(crate) const MAX_TEXT: usize = 4096;
/// Longest caption in UTF-16 units, after entity parsing (Bot API, sendPhoto and the like).
pub(crate) const MAX_CAPTION: usize = 1024;

/// UTF-16 length.
pub(crate) fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// Cuts into parts of at most `limit` UTF-16 units, the first of at most `first`. Put together again the parts are exactly the text;
/// ranges are cut at the boundary and go on in the next part, so a code block stays one in each.
///
/// Preferred places: after a blank line, a line, a sentence, a word, a grapheme; a block of code that fits one message moves as a whole.
pub(crate) fn split(styled: &Styled, first: usize, limit: usize) -> Vec<Styled> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut room = first.max(2);
    while start < styled.text.len() {
        let end = start + cut(&styled.text[start..], room, &styled.spans, start, limit);
        parts.push(slice(styled, start..end));
        start = end;
        room = limit.max(2);
    }
    parts
}

/// One piece with its ranges.
fn slice(styled: &Styled, range: Range<usize>) -> Styled {
    let spans = styled
        .spans
        .iter()
        .filter_map(|span| {
            let start = span.range.start.max(range.start);
            let end = span.range.end.min(range.end);
            (start < end).then(|| Span { range: start - range.start..end - range.start, style: span.style.clone() })
        })
        .collect();
    Styled { text: styled.text[range].to_owned(), spans }
}

/// How many bytes of `rest` go into a part of `room` units. At least one character, at most all.
fn cut(rest: &str, room: usize, spans: &[Span], offset: usize, limit: usize) -> usize {
    let window = prefix(rest, room);
    if window == rest.len() {
        return window;
    }
    let head = &rest[..window];
    // A cut before this point would waste more than three quarters of a message.
    let least = window / 4;
    let good = |at: Option<usize>| at.filter(|at| *at > least);
    let pick = good(last_after(head, "\n\n")).or_else(|| good(last_after(head, "\n"))).or_else(|| good(sentence(head))).or_else(|| good(word(head)));
    let at = pick.unwrap_or_else(|| grapheme(rest, window));
    let block = spans.iter().find(|s| matches!(s.style, Style::Pre(_)) && s.range.start < offset + at && offset + at < s.range.end);
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

/// Bytes of the longest prefix of at most `room` units.
fn prefix(text: &str, room: usize) -> usize {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.len_utf16();
        if used > room {
            return at;
        }
    }
    text.len()
}

fn last_after(head: &str, mark: &str) -> Option<usize> {
    head.rfind(mark).map(|at| at + mark.len())
}

fn sentence(head: &str) -> Option<usize> {
    let latin = head.char_indices().rev().filter(|(_, c)| matches!(c, '.' | '!' | '?' | '…' | ':' | ';')).find_map(|(at, c)| {
        let after = at + c.len_utf8();
        head[after..].chars().next().filter(|n| n.is_whitespace()).map(|n| after + n.len_utf8())
    });
    let wide = head.char_indices().rev().find(|(_, c)| matches!(c, '。' | '！' | '？')).map(|(at, c)| at + c.len_utf8());
    latin.max(wide)
}

fn word(head: &str) -> Option<usize> {
    head.char_indices().rev().find(|(_, c)| c.is_whitespace()).map(|(at, c)| at + c.len_utf8())
}

/// The last grapheme boundary within the window; the window itself when one grapheme is longer.
fn grapheme(rest: &str, window: usize) -> usize {
    // Looking at a short tail is enough and keeps a hostile run of joiners cheap.
    let mut from = window.saturating_sub(256);
    while !rest.is_char_boundary(from) {
        from -= 1;
    }
    let mut to = (window + 64).min(rest.len());
    while !rest.is_char_boundary(to) {
        to += 1;
    }
    let boundary = rest[from..to].grapheme_indices(true).map(|(at, _)| from + at).take_while(|at| *at <= window).last();
    boundary.filter(|at| *at > from || (*at > 0 && *at == window)).unwrap_or(window).max(first_char(rest))
}

fn first_char(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

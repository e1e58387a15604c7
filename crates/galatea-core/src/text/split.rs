//! Splitting text for platforms with a length limit: at the best place near the limit, code blocks
//! closed and opened again, no character lost.
//!
//! What a length counts differs per platform, so every function takes the weight of a character:
//! [`crate::TextUnit::weight`].

use unicode_segmentation::UnicodeSegmentation;

use crate::markdown::table_head;

/// The weight of one character in a platform's unit of length.
pub type Weight = fn(char) -> usize;

/// Longest run of marks that counts as a fence, in characters; writers use three or four.
const MAX_FENCE: usize = 16;
/// Longest opening line that is repeated, in bytes; a longer one loses its language.
const MAX_OPENING: usize = 64;

/// Length of a text in a platform's unit.
pub fn length(text: &str, weight: Weight) -> usize {
    text.chars().map(weight).sum()
}

/// A piece of a text, and what was added to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitPiece {
    /// The part that fits one message.
    pub text: String,
    /// Bytes in front that are not the text's: a code block opened again, with the head of a table
    /// in it.
    pub opened: usize,
    /// Bytes at the end that are not the text's: a code block closed.
    pub closed: usize,
}

impl SplitPiece {
    /// The piece without what was added.
    pub fn own(&self) -> &str {
        &self.text[self.opened..self.text.len() - self.closed]
    }
}

/// Cuts Markdown into pieces of at most `limit`. Put together, [`SplitPiece::own`] of all is exactly the
/// text. A fenced code block (CommonMark §4.5) that goes over the end of a piece is closed there
/// and opened again in the next, with its language; one left open is closed at the end.
///
/// `limit` has to leave room for a fence and its language; below 160 pieces may be longer than
/// asked for.
///
/// ```
/// use galatea_core::{TextUnit, split};
///
/// let weight = TextUnit::Utf16.weight().expect("characters have a weight in UTF-16");
/// let text = "A paragraph of some words.\n\n".repeat(20);
/// let pieces = split::fenced(&text, 200, weight);
/// assert!(pieces.iter().all(|piece| split::length(&piece.text, weight) <= 200));
/// assert_eq!(pieces.iter().map(|piece| piece.own()).collect::<String>(), text);
/// ```
pub fn fenced(text: &str, limit: usize, weight: Weight) -> Vec<SplitPiece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut open: Option<&str> = None;
    let mut table = "";
    while !rest.is_empty() {
        let head = open.map(|fence| format!("{fence}\n{table}")).unwrap_or_default();
        let room = limit.saturating_sub(length(&head, weight)).max(1);
        let whole = length(rest, weight) <= room;
        let after_all = fence_after(open, rest);
        // Everything fits, with the closing marks if the block was left open.
        let fits = whole && after_all.is_none_or(|f| length(rest, weight) + marks(f).len() < room);
        let end = if fits {
            rest.len()
        } else {
            within_lines(rest, cut(rest, room.saturating_sub(MAX_FENCE + 1).max(1), weight))
        };
        if let Some(at) = opened_at(open, &rest[..end]) {
            // A table goes on under its head, unless the cut is inside of that, or it takes more
            // than a quarter of the room.
            table = table_head(&rest[at..])
                .filter(|head| at + head.len() < end && length(head, weight) * 4 <= limit)
                .unwrap_or_default();
        }
        open = fence_after(open, &rest[..end]);
        let mut piece = SplitPiece { opened: head.len(), text: head + &rest[..end], closed: 0 };
        rest = &rest[end..];
        if let Some(fence) = open {
            let tail = if piece.text.ends_with('\n') {
                marks(fence).to_owned()
            } else {
                format!("\n{}", marks(fence))
            };
            piece.closed = tail.len();
            piece.text.push_str(&tail);
        }
        pieces.push(piece);
    }
    pieces
}

/// Start of the content of the block that is open after `text`, if it was opened in it.
fn opened_at<'a>(mut open: Option<&'a str>, text: &'a str) -> Option<usize> {
    let (mut end, mut at) = (0, None);
    for line in text.split_inclusive('\n') {
        let after = fence_after(open, line);
        end += line.len();
        match (open, after) {
            (None, Some(_)) => at = Some(end),
            (_, None) => at = None,
            _ => {}
        }
        open = after;
    }
    at
}

/// A cut inside a line of marks would break the fence: cut before that line.
fn within_lines(rest: &str, end: usize) -> usize {
    let start = rest[..end].rfind('\n').map_or(0, |at| at + 1);
    let line = rest[start..].lines().next().unwrap_or_default();
    let inside = end > start && end < start + line.len();
    if inside && start > 0 && line.len() <= MAX_OPENING && marks(line).len() >= 3 {
        start
    } else {
        end
    }
}

/// The opening line of the code block that is open after `text`, if one is.
fn fence_after<'a>(open: Option<&'a str>, text: &'a str) -> Option<&'a str> {
    text.lines().fold(open, |open, line| {
        let fence = marks(line);
        match open {
            None if fence.len() >= 3 && fence.len() <= MAX_FENCE => {
                Some(if line.len() <= MAX_OPENING { line } else { fence })
            }
            Some(opening)
                if fence.len() >= marks(opening).len()
                    && fence.starts_with(marks(opening))
                    && line.trim() == fence =>
            {
                None
            }
            open => open,
        }
    })
}

/// The backticks or tildes a line begins with, after at most three spaces.
fn marks(line: &str) -> &str {
    let line = line
        .strip_prefix("   ")
        .or_else(|| line.strip_prefix("  "))
        .or_else(|| line.strip_prefix(' '))
        .unwrap_or(line);
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'));
    mark.map_or("", |mark| &line[..line.len() - line.trim_start_matches(mark).len()])
}

/// Number of bytes of `rest` that go into a part of `room`: at least one character, at most all.
///
/// Preferred places: after a blank line, a line, a sentence, a word, a grapheme; none that would
/// waste more than three quarters of a part.
pub fn cut(rest: &str, room: usize, weight: Weight) -> usize {
    let window = prefix(rest, room, weight);
    if window == rest.len() {
        return window;
    }
    let head = &rest[..window];
    let least = window / 4;
    let good = |at: Option<usize>| at.filter(|at| *at > least);
    let pick = good(last_after(head, "\n\n"))
        .or_else(|| good(last_after(head, "\n")))
        .or_else(|| good(sentence(head)))
        .or_else(|| good(word(head)));
    pick.unwrap_or_else(|| grapheme(rest, window))
}

/// Bytes of the longest prefix of at most `room`.
pub fn prefix(text: &str, room: usize, weight: Weight) -> usize {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += weight(c);
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
    let latin = head
        .char_indices()
        .rev()
        .filter(|(_, c)| matches!(c, '.' | '!' | '?' | '…' | ':' | ';'))
        .find_map(|(at, c)| {
            let after = at + c.len_utf8();
            head[after..].chars().next().filter(|n| n.is_whitespace()).map(|n| after + n.len_utf8())
        });
    let wide = head
        .char_indices()
        .rev()
        .find(|(_, c)| matches!(c, '。' | '！' | '？'))
        .map(|(at, c)| at + c.len_utf8());
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
    let boundary = rest[from..to]
        .grapheme_indices(true)
        .map(|(at, _)| from + at)
        .take_while(|at| *at <= window)
        .last();
    boundary
        .filter(|at| *at > from || (*at > 0 && *at == window))
        .unwrap_or(window)
        .max(first_char(rest))
}

fn first_char(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextUnit;
    use proptest::prelude::*;

    fn whole(pieces: &[SplitPiece]) -> String {
        pieces.iter().map(SplitPiece::own).collect()
    }

    #[test]
    fn a_code_block_is_closed_and_opened_again() {
        let lines: String = (0..60).map(|n| format!("let line_{n} = {n};\n")).collect();
        let text = format!("Look:\n\n```rust\n{lines}```\n\nThat is all.");
        let pieces = fenced(&text, 400, char::len_utf16);
        assert!(pieces.len() > 2);
        assert_eq!(whole(&pieces), text);
        for piece in &pieces {
            assert!(length(&piece.text, char::len_utf16) <= 400);
            assert_eq!(fence_after(None, &piece.text), None, "{}", piece.text);
        }
        assert!(pieces[1].text.starts_with("```rust\n"));
    }

    #[test]
    fn a_block_left_open_is_closed() {
        assert_eq!(fenced("```\nx", 2000, |_| 1)[0].text, "```\nx\n```");
    }

    #[test]
    fn breaks_are_made_where_people_would() {
        let text = format!("{}\n\n{}", "a ".repeat(60), "b ".repeat(60));
        assert_eq!(fenced(&text, 200, |_| 1)[0].own(), format!("{}\n\n", "a ".repeat(60)));
    }

    #[test]
    fn fences_are_distinguished_from_text() {
        assert_eq!(fence_after(None, "a\n  ~~~~py\nx\n~~~\n```"), Some("  ~~~~py"));
        assert_eq!(fence_after(Some("~~~"), "x\n~~~~ \ny"), None);
        assert_eq!(fence_after(None, "`a` ``b``\n    ```"), None);
        assert_eq!(fence_after(None, &format!("```{}", "x".repeat(80))), Some("```"));
    }

    fn markdown() -> impl Strategy<Value = String> {
        let token = prop_oneof![
            Just("```\n".to_owned()),
            Just("```rust\n".to_owned()),
            Just("\n```".to_owned()),
            Just("~~~\n".to_owned()),
            Just("\n".to_owned()),
            Just("\n\n".to_owned()),
            Just("👩‍👩‍👧 ".to_owned()),
            Just("日本語。".to_owned()),
            "[a-z `~]{1,40}",
            "\\PC{0,12}",
        ];
        proptest::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
    }

    fn unit() -> impl Strategy<Value = TextUnit> {
        prop_oneof![Just(TextUnit::Utf16), Just(TextUnit::CodePoints), Just(TextUnit::Bytes)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn pieces_fit_are_balanced_and_lose_nothing(text in markdown(), limit in 170_usize..400, unit in unit()) {
            let weight = unit.weight().unwrap();
            let pieces = fenced(&text, limit, weight);
            prop_assert_eq!(whole(&pieces), text);
            for piece in &pieces {
                prop_assert!(length(&piece.text, weight) <= limit, "{} > {limit} {unit:?}", length(&piece.text, weight));
                prop_assert_eq!(fence_after(None, &piece.text), None, "{:?}", piece.text);
            }
        }
    }
}

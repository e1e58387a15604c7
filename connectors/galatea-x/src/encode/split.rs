//! Splits a text into parts that fit one post each. Only white space around the cuts is lost, which
//! X would remove anyway.

use super::weigh::{MAX_WEIGHT, TextPiece, pieces, weight};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Splits a text into posts of weight 280 or less. The preferred cuts are, in order: a blank line,
/// a line end, a sentence end, a word end, any character; never within a link.
pub(super) fn split(text: &str) -> Vec<String> {
    // X counts and stores NFC.
    let text: String = text.nfc().collect();
    let text = text.trim();
    let pieces = pieces(text);
    let mut parts = Vec::new();
    let mut first = 0;
    while first < pieces.len() {
        if text[pieces[first].range.clone()].chars().all(char::is_whitespace) {
            first += 1;
            continue;
        }
        let mut end = cut(text, &pieces, first);
        // A cut can turn text into a link, which reduces what fits.
        while end > first + 1 && weight(slice(text, &pieces, first, end)) > MAX_WEIGHT {
            end -= 1;
        }
        let part = slice(text, &pieces, first, end);
        if weight(part) <= MAX_WEIGHT {
            parts.push(part.to_owned());
        } else {
            // Either one character with more code points than a post holds, or a word full of
            // possible links.
            parts.extend(crumble(part));
        }
        first = end;
    }
    parts
}

fn slice<'a>(text: &'a str, pieces: &[TextPiece], first: usize, end: usize) -> &'a str {
    let from = pieces.get(first).map_or(text.len(), |piece| piece.range.start);
    let to =
        end.checked_sub(1).and_then(|last| pieces.get(last)).map_or(from, |piece| piece.range.end);
    text[from..to].trim()
}

/// Index of the piece before which to cut; at least one piece comes before it.
fn cut(text: &str, pieces: &[TextPiece], first: usize) -> usize {
    let mut used = 0;
    let mut window = first;
    while let Some(piece) = pieces.get(window) {
        if used + piece.weight > MAX_WEIGHT {
            break;
        }
        used += piece.weight;
        window += 1;
    }
    if window >= pieces.len() {
        return pieces.len();
    }
    // The window ends at the end of a word, and the white space after it is removed.
    if is_space(text, &pieces[window]) && window > first {
        return window;
    }
    // A cut before this point would waste more than half a post.
    let least = first + (window - first) / 2;
    let best = (least + 1..=window)
        .rev()
        .filter_map(|at| rank(text, pieces, at).map(|rank| (rank, at)))
        .reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.map_or_else(|| window.max(first + 1), |(_, at)| at)
}

/// Rank of a cut before piece `at`, higher is better; `None` inside a word.
fn rank(text: &str, pieces: &[TextPiece], at: usize) -> Option<u8> {
    let before = pieces.get(at.checked_sub(1)?)?;
    let last = &text[before.range.clone()];
    if matches!(last, "。" | "！" | "？") {
        return Some(2);
    }
    if !is_space(text, before) {
        return None;
    }
    let head = &text[..before.range.end];
    if last.contains('\n') {
        return Some(if head.trim_end_matches([' ', '\t', '\r']).ends_with("\n\n") {
            4
        } else {
            3
        });
    }
    let sentence = head.trim_end().ends_with(['.', '!', '?', '…', ':', ';']);
    Some(if sentence { 2 } else { 1 })
}

fn is_space(text: &str, piece: &TextPiece) -> bool {
    text[piece.range.clone()].chars().all(char::is_whitespace)
}

/// Splits text that cannot stay whole: by characters, and by code points where one character is too
/// heavy.
fn crumble(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    for seen in text.graphemes(true) {
        let heavy = weight(seen) > MAX_WEIGHT;
        let pieces: Vec<&str> = if heavy {
            seen.char_indices().map(|(at, c)| &seen[at..at + c.len_utf8()]).collect()
        } else {
            vec![seen]
        };
        for piece in pieces {
            if !part.is_empty() && weight(&format!("{part}{piece}")) > MAX_WEIGHT {
                parts.push(std::mem::take(&mut part));
            }
            part.push_str(piece);
        }
    }
    parts.push(part);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bare(text: &str) -> String {
        text.nfc().filter(|c| !c.is_whitespace()).collect()
    }

    fn check(text: &str) -> Vec<String> {
        let parts = split(text);
        for part in &parts {
            assert!(weight(part) <= MAX_WEIGHT, "{} in {part:?}", weight(part));
            assert!(!part.is_empty() && part.trim() == part, "{part:?}");
        }
        assert_eq!(bare(&parts.concat()), bare(text), "no character is lost");
        parts
    }

    #[test]
    fn short_text_is_one_post() {
        assert_eq!(check("hello  there\n\nyou"), ["hello  there\n\nyou"]);
        assert!(split(" \n ").is_empty());
    }

    #[test]
    fn nine_thousand_eight_hundred_characters_arrive_in_order() {
        let text = "A sentence of some length stands here. ".repeat(252);
        let parts = check(&text);
        assert!(
            parts.len() <= 42 && parts.iter().all(|p| p.ends_with('.')),
            "{} parts, cut after sentences",
            parts.len()
        );
    }

    #[test]
    fn cuts_are_at_paragraphs_where_that_wastes_little() {
        let text = format!("{}\n\n{}", "a ".repeat(100), "b ".repeat(100));
        assert_eq!(check(&text), ["a ".repeat(100).trim(), "b ".repeat(100).trim()]);
    }

    #[test]
    fn links_stay_whole() {
        let link = format!("https://example.com/{}", "x".repeat(300));
        let parts = check(&format!("{} {link} after", "word ".repeat(54)));
        assert!(parts.iter().any(|p| p.contains(&link)), "{parts:?}");
    }

    #[test]
    fn wide_characters_and_words_without_an_end() {
        assert_eq!(check(&"漢".repeat(141)).len(), 2);
        assert_eq!(check(&"x".repeat(420)).len(), 2);
        assert_eq!(check(&"👩‍👩‍👧".repeat(141)).len(), 2);
        check(&format!("e{}", "\u{301}".repeat(2000)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn every_part_fits_and_nothing_is_lost(text in "([a-zé漢🐱👨👩\u{200d}\u{fe0f}🏽.!? \n]|https://[a-z]{1,8}\\.com/[a-z?=]{0,12}|[a-z]{1,5}\\.[a-z]{2,4}){0,40}") {
            check(&text);
        }

        #[test]
        fn anything_at_all(text in "\\PC{0,120}") {
            check(&text);
        }
    }
}

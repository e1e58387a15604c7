//! Cuts text into parts that fit into a number of tokens, in one pass.

use galatea_core::tokens::Family;
use unicode_segmentation::UnicodeSegmentation;

/// Sixths of a token. A byte of ASCII has two of them, so sizes of ASCII add up without rounding, and
/// sums of others are never too small.
pub(crate) const TOKEN: u64 = 6;

/// Size of a text, in sixths of a token.
pub(crate) fn size(text: &str) -> u64 {
    if text.is_ascii() { 2 * text.len() as u64 } else { TOKEN * Family::Other.text(text) }
}

/// The text, cut behind as much of it as fits into `room` (in sixths of a token), if it does not fit.
pub(crate) fn shorten(text: &str, room: u64) -> String {
    if size(text) <= room {
        return text.to_owned();
    }
    let end = fitting(text, room.saturating_sub(size("…")));
    format!("{}…", text[..end].trim_end())
}

/// Parts of a text within `room` (in sixths of a token), cut between words, or inside of one that is
/// too long. A text that fits stays as it is.
pub(crate) fn split_at_words(text: &str, room: u64) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = fitting(rest, room);
        if end == rest.len() {
            return Some(std::mem::take(&mut rest));
        }
        let (part, more) = rest.split_at(word_bound(rest, end));
        rest = more.trim_start();
        Some(part.trim())
    })
    .filter(|part| !part.is_empty())
}

/// The end of the longest beginning of `text` within `room`, which is one character at least, so that
/// each part has something. Looks at that beginning only.
fn fitting(text: &str, room: u64) -> usize {
    // Two sixths for each byte at least.
    let most = usize::try_from(room / 2).unwrap_or(usize::MAX);
    let (mut low, mut high) = (0, text.floor_char_boundary(most));
    if size(&text[..high]) <= room {
        low = high;
    }
    while low < high {
        let middle = text.ceil_char_boundary(low + (high - low).div_ceil(2));
        if size(&text[..middle]) <= room {
            low = middle;
        } else {
            high = text.floor_char_boundary(middle - 1);
        }
    }
    low.max(text.ceil_char_boundary(1))
}

/// The last bound between words at `end` or before it; `end` inside of a single word.
fn word_bound(text: &str, end: usize) -> usize {
    if text[end..].starts_with(char::is_whitespace) {
        return end;
    }
    let last = text[..end].split_word_bound_indices().next_back();
    last.map(|(at, _)| at).filter(|at| *at > 0).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_end_between_words_and_inside_of_long_ones() {
        let parts = |text, room| split_at_words(text, room).collect::<Vec<_>>();
        assert_eq!(parts("  as it is", 100), ["  as it is"]);
        assert_eq!(parts("one two three", 20), ["one two", "three"]);
        assert_eq!(parts("one abcdefghijklm", 12), ["one", "abcdef", "ghijkl", "m"]);
        assert_eq!(parts("漢字漢字", 12), ["漢", "字", "漢", "字"]);
        assert_eq!(parts("漢字", 1), ["漢", "字"]);
        assert_eq!(shorten("one two three", 20), "one two…");
    }

    #[test]
    fn megabytes_are_cut_in_one_pass() {
        for part in ["a", "a ", "é. ", "漢", "a\u{301}", "👩\u{200d}", "🇩🇪", "1.", "a:"] {
            let text = part.repeat((1 << 20) / part.len());
            let begun = std::time::Instant::now();
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
            let kept: usize = split_at_words(&text, 400 * TOKEN).map(letters).sum();
            assert_eq!(kept, letters(&text), "{part}");
            assert!(begun.elapsed().as_secs() < 20, "{part} took {:?}", begun.elapsed());
        }
    }

    proptest! {
        #[test]
        fn parts_fit_and_nothing_is_lost(text in "[a-zé漢 .|]{0,400}", room in 18..300_u64) {
            let parts: Vec<&str> = split_at_words(&text, room).collect();
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert!(parts.iter().all(|part| size(part) <= room));
            prop_assert_eq!(letters(&parts.concat()), letters(&text));
        }
    }
}

//! Text and names in one form for comparison: without case, accents, emoji and marks that no reader
//! sees, and with one code point for characters that have several.

use unicode_normalization::UnicodeNormalization;

/// Longest name of an emoji of a platform, such as `:wave:`, in characters (Discord: 32).
const EMOJI_NAME: usize = 32;

/// A text as it is compared. Emoji become spaces: they stand apart from the words around them.
pub(in crate::turn) fn folded(text: &str) -> String {
    without_emoji(text)
        .nfkd()
        .flat_map(char::to_lowercase)
        .filter(|c| !is_accent(*c) && !is_unseen(*c))
        .map(letter)
        .nfc()
        .collect()
}

/// Accents of Latin, Greek and Cyrillic letters, vowel points of Hebrew and Arabic, and the hamza.
/// Other scripts distinguish words by their marks.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}')
}

/// Marks without a glyph: joiners, directions, soft hyphens, variation selectors, and the marks that
/// belong to emoji.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Letters that have another form without being composed.
fn letter(c: char) -> char {
    match c {
        'ı' => 'i',
        'ø' => 'o',
        'ł' => 'l',
        'đ' | 'ð' => 'd',
        'ς' => 'σ',
        '\u{2019}' | '\u{2bc}' => '\'',
        c => c,
    }
}

fn is_emoji(c: char) -> bool {
    matches!(
        c,
        '\u{a9}' | '\u{ae}' | '\u{20e3}' | '\u{2122}' | '\u{2139}'
            | '\u{2190}'..='\u{21ff}'
            | '\u{2300}'..='\u{23ff}'
            | '\u{24c2}'
            | '\u{25a0}'..='\u{27bf}'
            | '\u{2900}'..='\u{297f}'
            | '\u{2b00}'..='\u{2bff}'
            | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
            | '\u{1f000}'..='\u{1f0ff}'
            // Up to U+1F169 these are letters in boxes, with which people write words.
            | '\u{1f16a}'..='\u{1faff}'
    )
}

/// Replaces emoji, keycaps and names of emoji (`:wave:`) by spaces.
fn without_emoji(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = emoji(rest);
        if length > 0 {
            out.push(' ');
            rest = &rest[length..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Length in bytes of the emoji that a text begins with; 0 for other text.
fn emoji(text: &str) -> usize {
    let mut chars = text.chars();
    match chars.next() {
        Some(c) if is_emoji(c) => c.len_utf8(),
        // A keycap: digit, variation selector, U+20E3.
        Some('0'..='9' | '#' | '*') => {
            let rest = chars.as_str();
            let cap = rest.strip_prefix('\u{fe0f}').unwrap_or(rest);
            if cap.starts_with('\u{20e3}') { 1 + rest.len() - cap.len() + 3 } else { 0 }
        }
        Some(':') => {
            let named = chars.as_str();
            let end = named
                .char_indices()
                .take(EMOJI_NAME + 1)
                .find(|(_, c)| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '~' | '+' | '-')));
            match end {
                Some((at, ':')) if at > 1 => 1 + at + 1,
                _ => 0,
            }
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_of_what_reads_the_same() {
        for (text, expected) in [
            ("José", "jose"),
            ("JOSE\u{301}", "jose"),
            ("ΟΔΥΣΣΕΥΣ", "οδυσσευσ"),
            ("İstanbul", "istanbul"),
            ("Ｎｏｖａ！", "nova!"),
            ("𝓝𝓸𝓿𝓪", "nova"),
            ("ﾉｳﾞｧ", "ノヴァ"),
            ("ノヴァ", "ノヴァ"),
            ("Фёкла", "фекла"),
            ("노\u{1107}\u{1161}", "노바"),
            ("No\u{200d}va\u{ad}", "nova"),
            ("أحمد", "احمد"),
        ] {
            assert_eq!(folded(text), expected, "{text}");
        }
    }

    #[test]
    fn emoji_are_spaces_and_words_stay() {
        for (text, expected) in [
            ("🙂Nova👋🏽", " nova  "),
            ("Nova❤\u{fe0f}x", "nova x"),
            ("1\u{fe0f}\u{20e3}Nova", " nova"),
            (":wave:Nova :+1:", " nova  "),
            ("Nova: 10:30:45", "nova: 10 45"),
            ("a:b", "a:b"),
            ("👩‍🚀 Nova", "   nova"),
        ] {
            assert_eq!(folded(text).trim_end(), expected.trim_end(), "{text}");
        }
    }
}

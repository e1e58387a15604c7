//! Folds words: without case and accents.

use unicode_normalization::UnicodeNormalization;

/// Lower case, compatibility forms resolved, accents of alphabets removed, everything but letters
/// and digits a blank. Syllables of Korean and marks of Indian scripts stay whole.
pub(crate) fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        // Normalisation leaves ASCII alone and costs ten times as much. The last character before
        // another one may take its accent.
        let ascii = rest.bytes().take_while(u8::is_ascii).count();
        let plain = if ascii == rest.len() { ascii } else { ascii.saturating_sub(1) };
        let (plain, others) = rest.split_at(plain);
        for letter in plain.chars() {
            if letter.is_ascii_alphanumeric() {
                out.push(letter.to_ascii_lowercase());
            } else {
                push_blank(&mut out);
            }
        }
        let end = others
            .char_indices()
            .skip(1)
            .find(|(_, c)| c.is_ascii())
            .map_or(others.len(), |(at, _)| at);
        let (others, after) = others.split_at(end);
        normalise(others, &mut out);
        rest = after;
    }
    out.truncate(out.trim_end().len());
    out
}

fn normalise(text: &str, out: &mut String) {
    let letters = text.nfkd().filter(|c| !is_accent(*c)).nfc().flat_map(char::to_lowercase);
    // Lower case may bring an accent back (the dotted I of Turkish).
    for letter in letters.filter(|c| !is_accent(*c)) {
        push(out, letter);
    }
}

/// Adds a letter, or a blank in place of anything else.
fn push(out: &mut String, c: char) {
    match c {
        'ß' => out.push_str("ss"),
        c if (c.is_alphanumeric() && !is_symbol(c)) || is_mark(c) => out.push(c),
        _ => push_blank(out),
    }
}

fn push_blank(out: &mut String) {
    if !out.is_empty() && !out.ends_with(' ') {
        out.push(' ');
    }
}

/// Accents of Latin, Greek and Cyrillic, points of Hebrew and vowels of Arabic, which most people
/// leave out.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{64b}'..='\u{65f}' | '\u{670}')
}

/// Letters in squares and circles, which Unicode counts among the alphabetic characters and SQLite's
/// tokenizer among the symbols, at which it cuts a word.
fn is_symbol(c: char) -> bool {
    matches!(c, '\u{1f130}'..='\u{1f189}')
}

/// Marks within words that are not letters by themselves, such as the virama of Indian scripts.
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c) && !is_accent(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_folded_in_pieces_as_it_would_be_whole() {
        let parts =
            ["a", "E", " ", "-", "\u{301}", "é", "ﷺ", "İ", "ß", "猫", "한", "\u{1100}", "\u{1161}"];
        let count = parts.len();
        for n in 0..count.pow(4) {
            let text: String =
                (0..4_u32).map(|place| parts[n / count.pow(place) % count]).collect();
            let mut whole = String::new();
            normalise(&text, &mut whole);
            assert_eq!(folded(&text), whole.trim_end(), "{text:?}");
        }
    }
}

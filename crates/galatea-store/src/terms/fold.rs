//! Folds words: without case and accents.

use unicode_normalization::UnicodeNormalization;

/// Lower case, compatibility forms resolved, accents of alphabets removed, everything but letters
/// and digits a blank. Syllables of Korean and marks of Indian scripts stay whole.
pub(crate) fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let letters = text.nfkd().filter(|c| !is_accent(*c)).nfc().flat_map(char::to_lowercase);
    // Lower case may bring an accent back (the dotted I of Turkish).
    for c in letters.filter(|c| !is_accent(*c)) {
        match c {
            'ß' => out.push_str("ss"),
            c if (c.is_alphanumeric() && !is_symbol(c)) || is_mark(c) => out.push(c),
            _ if !out.is_empty() && !out.ends_with(' ') => out.push(' '),
            _ => {}
        }
    }
    out.truncate(out.trim_end().len());
    out
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

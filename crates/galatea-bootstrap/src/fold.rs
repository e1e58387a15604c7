//! Folds words for comparisons: without case and accents.

use unicode_normalization::UnicodeNormalization;

/// A word in lower case, without the accents of Latin, Greek and Cyrillic letters, with the letters
/// that Unicode does not take apart as two plain ones. Two spellings of a name fold to one.
pub(crate) fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(word.len());
    let letters = word.nfkd().filter(|c| !is_accent(*c)).nfc().flat_map(char::to_lowercase);
    for letter in letters.filter(|c| !is_accent(*c)) {
        match letter {
            'ß' => out.push_str("ss"),
            'ø' => out.push('o'),
            'ł' => out.push('l'),
            'đ' => out.push('d'),
            'ı' => out.push('i'),
            'æ' => out.push_str("ae"),
            'œ' => out.push_str("oe"),
            'þ' => out.push_str("th"),
            other => out.push(other),
        }
    }
    out
}

fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_of_a_word_fold_to_one() {
        for (a, b) in [("José", "jose"), ("Łukasz", "LUKASZ"), ("Straße", "strasse")] {
            assert_eq!(fold(a), fold(b));
        }
        assert_eq!(fold("İstanbul"), "istanbul");
        assert_ne!(fold("がく"), fold("かく"), "a letter of its own keeps its mark");
    }
}

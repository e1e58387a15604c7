//! Stems of words.

use rust_stemmers::Stemmer;

use super::split::head;

/// The stem of a folded word, if it is another word. Numbers lose leading zeros and an ending
/// ("05", "5th").
pub(super) fn stem(stemmer: &Stemmer, word: &str) -> Option<String> {
    let digits = word.chars().take_while(char::is_ascii_digit).count();
    let stem = if digits > 0 {
        let rest = word.get(digits..).unwrap_or_default();
        if !matches!(rest, "" | "st" | "nd" | "rd" | "th" | "er" | "e") {
            return None;
        }
        let number = word.get(..digits).unwrap_or(word).trim_start_matches('0');
        if number.is_empty() { "0".to_owned() } else { number.to_owned() }
    } else {
        head(&stemmer.stem(word)).to_owned()
    };
    (stem != word && !stem.is_empty()).then_some(stem)
}

//! The words of a message that say what it is about, and whether it asks for something. Pure.

use galatea_core::fusion::is_unspaced;
use std::collections::HashSet;

/// Words that say nothing about the subject, in the languages that keyword search meets most.
/// A longer list would leave out names.
const STOP: &[&str] = &[
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because",
    "been", "but", "by", "can", "could", "did", "do", "does", "for", "from", "get", "give", "had",
    "has", "have", "he", "hello", "her", "hey", "hi", "him", "his", "how", "i", "if", "in", "into",
    "is", "it", "its", "just", "know", "let", "like", "many", "may", "me", "more", "much", "must",
    "my", "no", "not", "of", "ok", "on", "one", "or", "our", "out", "please", "say", "says", "she",
    "should", "so", "some", "tell", "thank", "thanks", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "to", "too", "up", "us", "was", "we", "well",
    "were", "what", "when", "where", "which", "who", "whom", "why", "will", "with", "would", "yes",
    "you", "your", "aber", "als", "am", "auch", "auf", "aus", "bei", "bin", "bitte", "da", "das",
    "dass", "dein", "dem", "den", "der", "des", "die", "dir", "du", "ein", "eine", "einem",
    "einen", "einer", "er", "es", "für", "hat", "haben", "ich", "ihr", "im", "ist", "ja", "kann",
    "man", "mein", "mir", "mit", "nein", "nicht", "oder", "sein", "sich", "sie", "sind", "und",
    "uns", "von", "wann", "war", "was", "wie", "wir", "wo", "zu", "zum", "zur", "au", "aux",
    "avec", "ce", "cette", "dans", "de", "des", "du", "elle", "en", "est", "et", "il", "je", "la",
    "le", "les", "ma", "mon", "nous", "ou", "où", "par", "pas", "pour", "que", "quel", "quelle",
    "qui", "sa", "ses", "son", "sur", "tu", "un", "une", "vous", "al", "como", "con", "cual",
    "cuando", "del", "donde", "el", "es", "los", "las", "lo", "para", "por", "que", "qué", "se",
    "sin", "su", "una", "y", "yo",
];
/// Words that begin a question.
const ASKING: &[&str] = &[
    "what", "who", "when", "where", "which", "why", "how", "is", "are", "do", "does", "did", "can",
    "could", "tell", "explain", "was", "wer", "wann", "wo", "wie", "warum", "quel", "quelle",
    "comment", "qué", "cuándo", "dónde", "cómo",
];

/// Number of words of a message that say what it is about. Of a script without spaces two
/// characters count as a word.
pub(crate) fn count(message: &str) -> usize {
    let words: HashSet<String> =
        split_words(message).filter(|word| !STOP.contains(&word.as_str())).collect();
    let length = |word: &String| match (word.chars().count(), word.chars().next()) {
        (long, Some(first)) if is_unspaced(first) => long.div_ceil(2),
        (1, _) if word.is_ascii() => 0,
        _ => 1,
    };
    words.iter().map(length).sum()
}

/// True if a message asks for something.
pub(crate) fn asks(message: &str) -> bool {
    message.contains(['?', '？'])
        || split_words(message).next().is_some_and(|first| ASKING.contains(&first.as_str()))
}

/// Its words in lower case.
pub(crate) fn split_words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_say_what_a_message_is_about_are_counted() {
        for (message, words) in [
            ("How do I return the kettles, please?", 2),
            ("hi, thanks!", 0),
            ("and the price?", 1),
            ("图书馆几点关门？", 4),
            ("猫", 1),
        ] {
            assert_eq!(count(message), words, "{message}");
        }
        assert!(asks("how do I return it") && asks("kettle?") && !asks("I like my kettle."));
    }
}

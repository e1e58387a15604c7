//! The words of a question that say what it is about, and whether a text has them. Pure.

use std::collections::HashSet;

/// Most terms of one question.
const MOST: usize = 12;
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

/// The terms of a question, the longest first: long words are rarer.
pub(crate) fn terms(question: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut terms: Vec<String> = split_words(question)
        .filter(|word| !STOP.contains(&word.as_str()))
        .filter(|word| word.chars().count() > 1 || word.chars().all(|c| !c.is_ascii()))
        .filter(|word| seen.insert(stem(word).to_owned()))
        .collect();
    terms.sort_by_key(|term| std::cmp::Reverse(term.chars().count()));
    terms.truncate(MOST);
    terms
}

/// Whether a message asks for something.
pub(crate) fn asks(message: &str) -> bool {
    message.contains(['?', '？'])
        || split_words(message).next().is_some_and(|first| ASKING.contains(&first.as_str()))
}

fn split_words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// A word without the usual endings of English, French and Spanish plurals and of English verbs.
/// Both sides of a comparison are stemmed, so a wrong stem does no harm as long as it is the same.
fn stem(word: &str) -> &str {
    for ending in ["ings", "ing", "edly", "ed", "ies", "es", "s", "er", "en", "e", "y"] {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.chars().count() >= 4
        {
            return stem;
        }
    }
    word
}

/// The stems of a text.
pub(crate) fn stems(text: &str) -> HashSet<String> {
    split_words(text).map(|word| stem(&word).to_owned()).collect()
}

/// Whether a text, whose stems these are, has a term.
pub(crate) fn has(stems: &HashSet<String>, text: &str, term: &str) -> bool {
    stems.contains(stem(term))
        // Languages without spaces: a word is part of a longer run of characters.
        || (!term.is_ascii() && text.to_lowercase().contains(term))
}

/// The share of a question's terms that a text has, each weighed by its rarity.
pub(crate) fn coverage(terms: &[(String, f32)], stems: &HashSet<String>, text: &str) -> f32 {
    let all: f32 = terms.iter().map(|(_, weight)| weight).sum();
    if all <= 0.0 {
        return 0.0;
    }
    let found: f32 =
        terms.iter().filter(|(term, _)| has(stems, text, term)).map(|(_, weight)| weight).sum();
    (found / all).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_say_what_a_question_is_about() {
        assert_eq!(terms("How do I return the kettles, please?"), ["kettles", "return"]);
        assert_eq!(terms("hi, thanks!"), [""; 0]);
        assert!(asks("how do I return it") && asks("kettle?") && !asks("I like my kettle."));
        let weighed = [("returned".to_owned(), 1.0), ("kettle".to_owned(), 3.0)];
        let text = "Kettles cannot be exchanged.";
        assert_eq!(coverage(&weighed, &stems(text), text), 0.75);
    }
}

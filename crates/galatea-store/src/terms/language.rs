//! Guesses the language from the small words of a text, to choose the stemmer. A wrong guess costs
//! little: the word itself is indexed too, and a question is stemmed in every likely language.

use rust_stemmers::{Algorithm, Stemmer};

use super::{
    split::Piece,
    stop::{self, Language, Languages},
};

/// Those of the Latin alphabet, the most frequent first: it wins a draw.
const LATIN: [Language; 7] = [
    Language::English,
    Language::German,
    Language::French,
    Language::Spanish,
    Language::Italian,
    Language::Portuguese,
    Language::Dutch,
];

impl Language {
    /// Its Snowball stemmer.
    pub(super) fn stemmer(self) -> Stemmer {
        Stemmer::create(match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::French => Algorithm::French,
            Self::Spanish => Algorithm::Spanish,
            Self::Italian => Algorithm::Italian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Dutch => Algorithm::Dutch,
            Self::Russian => Algorithm::Russian,
        })
    }
}

fn is_cyrillic(word: &str) -> bool {
    word.chars().next().is_some_and(|c| ('\u{400}'..='\u{52f}').contains(&c))
}

/// The language of a text: the one with the most small words in it, English if none has any.
pub(super) fn guess(words: &[Piece<'_>]) -> Language {
    likely(words).first().copied().unwrap_or(Language::English)
}

/// Languages of a text, the likeliest first. English is always among them, and all of them when
/// nothing tells.
pub(super) fn likely(words: &[Piece<'_>]) -> Vec<Language> {
    let mut counted = LATIN.map(|language| (0_usize, language));
    for piece in words {
        let Piece::Word(word) = piece else { continue };
        if is_cyrillic(word) {
            return vec![Language::Russian, Language::English];
        }
        let languages = stop::languages(word);
        if languages == Languages::default() {
            continue;
        }
        for (count, language) in &mut counted {
            *count += usize::from(languages.contains(*language));
        }
    }
    counted.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let most = counted.first().map_or(0, |(count, _)| *count);
    let mut out: Vec<Language> = counted
        .into_iter()
        .filter(|(count, _)| most == 0 || *count * 2 > most)
        .map(|(_, language)| language)
        .collect();
    if !out.contains(&Language::English) {
        out.push(Language::English);
    }
    out
}

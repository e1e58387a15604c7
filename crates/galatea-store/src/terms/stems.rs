//! Stems of words, most of them computed once: the messages of a Room share most of their words, and
//! a stem costs as much as the rest of a word's analysis.

use rust_stemmers::Stemmer;
use std::{borrow::Cow, collections::HashMap};

use super::{split::head, stop::Language};

/// The stem of a word, if it is another word.
type Stem = Option<Box<str>>;

/// The stems of words in recent texts and questions.
#[derive(Debug, Default)]
pub(crate) struct Stems {
    /// Each word with its stem in the languages that were asked for.
    known: HashMap<Box<str>, Vec<(Language, Stem)>>,
    /// How often they were cleared.
    cleared: u64,
}

impl Stems {
    /// Capacity in words, about 1 MB. When it is full, all words are dropped.
    const MOST: usize = 8_192;
    /// Bytes of a word that is kept: few are longer.
    const LONGEST: usize = 32;

    /// Forgets all words, also those that are taken out.
    pub(crate) fn clear(&mut self) {
        *self = Self { known: HashMap::new(), cleared: self.cleared + 1 };
    }

    /// Takes all words out, for an analysis of many texts: others may need the lock meanwhile.
    pub(crate) fn take(&mut self) -> Self {
        Self { known: std::mem::take(&mut self.known), cleared: self.cleared }
    }

    /// Puts words back that were taken out. If these were cleared meanwhile, or more are known by now,
    /// they are dropped.
    pub(crate) fn put_back(&mut self, taken: Self) {
        if taken.cleared == self.cleared && taken.known.len() > self.known.len() {
            *self = taken;
        }
    }

    /// The stem of a folded word, if it is another word.
    pub(super) fn stem(&mut self, word: &str, language: Language) -> Option<Cow<'_, str>> {
        // The stem of a word that begins with a digit costs no more than to look it up, and such words
        // would fill the map.
        if word.len() > Self::LONGEST || word.starts_with(|c: char| c.is_ascii_digit()) {
            return stem(&language.stemmer(), word).map(Cow::Owned);
        }
        let is_known = |(known, _): &(Language, _)| *known == language;
        let stems = self.known.get(word);
        if !stems.is_some_and(|stems| stems.iter().any(is_known)) {
            if self.known.len() >= Self::MOST {
                self.known.clear();
            }
            let stem = stem(&language.stemmer(), word).map(String::into_boxed_str);
            self.known.entry(word.into()).or_default().push((language, stem));
        }
        let (_, stem) = self.known.get(word)?.iter().find(|known| is_known(known))?;
        stem.as_deref().map(Cow::Borrowed)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_stem_is_the_computed_one() {
        let mut stems = Stems::default();
        let long = "donaudampfschifffahrtsgesellschaften";
        let words = ["carrying", "katzen", "05", "5th", "x1", "box", "the", long];
        let several: Vec<String> = (0..9_000).map(|n| format!("w{n:04}")).collect();
        for word in words.iter().copied().chain(several.iter().map(String::as_str)).chain(words) {
            for language in [Language::German, Language::English, Language::German] {
                let computed = stem(&language.stemmer(), word);
                assert_eq!(stems.stem(word, language).as_deref(), computed.as_deref(), "{word}");
            }
            assert!(stems.known.len() <= Stems::MOST);
        }
        for word in [long, "05", "5th"] {
            assert!(!stems.known.contains_key(word), "{word}");
        }
    }

    #[test]
    fn words_that_were_cleared_are_not_put_back() {
        let mut stems = Stems::default();
        let stem = |stems: &mut Stems, word: &str| drop(stems.stem(word, Language::English));
        stem(&mut stems, "kettles");
        for (clears, known) in [(false, 2), (true, 0)] {
            let mut taken = stems.take();
            assert_eq!(stems.known.len(), 0);
            stem(&mut taken, "teapots");
            if clears {
                stems.clear();
            }
            stems.put_back(taken);
            assert_eq!(stems.known.len(), known);
        }
        stem(&mut stems, "lamps");
        stem(&mut stems, "boats");
        let mut taken = stems.take();
        taken.known.retain(|word, _| &**word == "lamps");
        stem(&mut stems, "chairs");
        stem(&mut stems, "tables");
        stems.put_back(taken);
        assert!(stems.known.contains_key("tables"), "more are known by now");
    }
}

//! Words that begin sentences without naming anyone, months and number words, of several languages.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

/// Read by [`lexicon`]: a heading in brackets, then words. A line of months or numbers is the names of
/// one number.
const WORDS: &str = include_str!("words.txt");

/// The words.
#[derive(Debug, Default)]
pub(crate) struct Lexicon {
    openings: HashSet<&'static str>,
    months: HashMap<&'static str, u32>,
    numbers: HashMap<&'static str, u32>,
}

/// The words of `words.txt`, folded.
pub(crate) fn lexicon() -> &'static Lexicon {
    static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::read(WORDS));
    &LEXICON
}

impl Lexicon {
    fn read(text: &'static str) -> Self {
        let mut lexicon = Self::default();
        let mut heading = "";
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                heading = name;
                continue;
            }
            if heading == "openings" {
                lexicon.openings.extend(line.split_whitespace());
                continue;
            }
            let Some((number, names)) = line.split_once(' ') else { continue };
            let Ok(number) = number.parse::<u32>() else { continue };
            let of = if heading == "months" { &mut lexicon.months } else { &mut lexicon.numbers };
            of.extend(names.split_whitespace().map(|name| (name, number)));
        }
        lexicon
    }

    /// True if a folded word often begins a sentence and is no name.
    pub(crate) fn is_opening(&self, word: &str) -> bool {
        self.openings.contains(word)
            || self.months.contains_key(word)
            || self.numbers.contains_key(word)
    }

    /// The number of a month by its folded name.
    pub(crate) fn month(&self, word: &str) -> Option<u32> {
        self.months.get(word).copied()
    }

    /// The number that a folded word means.
    pub(crate) fn number(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fold;

    #[test]
    fn all_words_are_folded() {
        let Lexicon { openings, months, numbers } = lexicon();
        let all = openings.iter().chain(months.keys()).chain(numbers.keys());
        for word in all {
            assert_eq!(fold(word), *word);
        }
        assert!(openings.len() > 400 && months.len() > 60 && numbers.len() > 100);
        assert_eq!((lexicon().number("twelfth"), lexicon().month("mai")), (Some(12), Some(5)));
    }
}

//! Stop words: small words of a language. They show which language a text has, and are left out of
//! questions.
//!
//! `stop/` has a list for each language: folded words in the order of the alphabet.

use std::{collections::HashMap, sync::LazyLock};

/// A language with a stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Russian,
}

/// The languages of which a word is a stop word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Languages(u8);

impl Languages {
    pub(super) fn contains(self, language: Language) -> bool {
        self.0 & (1 << language as u8) != 0
    }

    fn insert(&mut self, language: Language) {
        self.0 |= 1 << language as u8;
    }
}

/// The languages of which a folded word is a stop word.
pub(super) fn languages(word: &str) -> Languages {
    // Every word of every message is looked up, so all lists are one: a search in each costs eight
    // times as much.
    static WORDS: LazyLock<HashMap<&str, Languages>> = LazyLock::new(together);
    WORDS.get(word).copied().unwrap_or_default()
}

fn together() -> HashMap<&'static str, Languages> {
    let mut words: HashMap<&str, Languages> = HashMap::new();
    for (language, list) in LISTS {
        for word in list.split_whitespace() {
            words.entry(word).or_default().insert(language);
        }
    }
    words
}

const LISTS: [(Language, &str); 8] = [
    (Language::English, include_str!("stop/english.txt")),
    (Language::German, include_str!("stop/german.txt")),
    (Language::French, include_str!("stop/french.txt")),
    (Language::Spanish, include_str!("stop/spanish.txt")),
    (Language::Italian, include_str!("stop/italian.txt")),
    (Language::Portuguese, include_str!("stop/portuguese.txt")),
    (Language::Dutch, include_str!("stop/dutch.txt")),
    (Language::Russian, include_str!("stop/russian.txt")),
];

#[cfg(test)]
mod tests {
    use super::{super::fold::folded, *};

    #[test]
    fn lists_are_folded_and_in_order() {
        for (language, list) in LISTS {
            let list: Vec<&str> = list.split_whitespace().collect();
            assert!(list.len() > 50 && list.is_sorted(), "{language:?}: {list:?}");
            assert!(list.iter().all(|word| folded(word) == *word), "{language:?}: {list:?}");
        }
    }

    #[test]
    fn a_word_is_found_in_every_list_that_has_it() {
        for (language, list) in LISTS {
            for word in list.split_whitespace() {
                for (other, words) in LISTS {
                    let has = words.split_whitespace().any(|known| known == word);
                    assert_eq!(languages(word).contains(other), has, "{word}: {language:?}");
                }
            }
        }
        assert_eq!(languages("kettle"), Languages::default());
    }
}

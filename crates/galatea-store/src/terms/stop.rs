//! Stop words: small words of a language. They show which language a text has, and are left out of
//! questions.
//!
//! `stop/` has a list for each language: folded words in the order of the alphabet.

use std::sync::LazyLock;

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

/// Whether a folded word is a stop word of this language.
pub(super) fn is_stop(language: Language, word: &str) -> bool {
    list(language).binary_search(&word).is_ok()
}

fn list(language: Language) -> &'static [&'static str] {
    macro_rules! words {
        ($name:literal) => {{
            static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
                include_str!(concat!("stop/", $name, ".txt")).split_whitespace().collect()
            });
            &WORDS
        }};
    }
    match language {
        Language::English => words!("english"),
        Language::German => words!("german"),
        Language::French => words!("french"),
        Language::Spanish => words!("spanish"),
        Language::Italian => words!("italian"),
        Language::Portuguese => words!("portuguese"),
        Language::Dutch => words!("dutch"),
        Language::Russian => words!("russian"),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fold::folded, *};

    #[test]
    fn lists_are_folded_and_in_order() {
        use Language::{Dutch, English, French, German, Italian, Portuguese, Russian, Spanish};
        for language in [English, German, French, Spanish, Italian, Portuguese, Dutch, Russian] {
            let list = list(language);
            assert!(list.len() > 50 && list.is_sorted(), "{list:?}");
            assert!(list.iter().all(|word| folded(word) == *word), "{list:?}");
        }
    }
}

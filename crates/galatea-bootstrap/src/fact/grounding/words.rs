//! Roles of words in a statement, of several languages: `words.txt`.

use rust_stemmers::{Algorithm, Stemmer};
use std::{collections::HashMap, sync::LazyLock};

use crate::fold::fold;

const WORDS: &str = include_str!("words.txt");
/// Letters that two forms of a word share at least in languages without a stemmer, and those in which
/// they may differ at the end.
const SHARED: usize = 5;
const ENDING: usize = 3;

/// The roles that a word may have, as bits: one word has several roles in different languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Roles(u16);

/// Names of the parts of `words.txt`, in the order of the bits.
const PARTS: [&str; 14] = [
    "first", "second", "third", "negation", "hedge", "ended", "joke", "relative", "joins",
    "passive", "be", "have", "light", "function",
];

/// A role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordRole {
    /// "I", "my": the author.
    First,
    Second,
    Third,
    Negation,
    /// "if", "maybe", "want": not the case, or not yet.
    Hedge,
    /// "used to", "left": no longer the case.
    Ended,
    Joke,
    /// "tomorrow": a date may stand for it.
    Relative,
    /// "and", "but": begins a clause.
    Joins,
    /// "by": the subject is not who acts.
    Passive,
    Be,
    Have,
    /// "called", "says": may be added to a statement.
    Light,
    Function,
}

impl Roles {
    pub(super) fn has(self, role: WordRole) -> bool {
        self.0 & (1 << role as u16) != 0
    }

    /// True if a word says something by itself, so that it has to stand in the source.
    pub(super) fn is_content(self) -> bool {
        let small =
            [WordRole::Light, WordRole::Function, WordRole::Be, WordRole::Have, WordRole::Negation];
        let people = [WordRole::First, WordRole::Second, WordRole::Third];
        !small.into_iter().chain(people).any(|role| self.has(role))
    }
}

struct Words {
    roles: HashMap<&'static str, Roles>,
    classes: HashMap<&'static str, Vec<u16>>,
}

static READ: LazyLock<Words> = LazyLock::new(|| {
    let mut words = Words { roles: HashMap::new(), classes: HashMap::new() };
    let mut part = None;
    let mut class = 0;
    for line in WORDS.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            part = PARTS.iter().position(|part| *part == name);
            continue;
        }
        class += 1;
        for word in line.split_whitespace() {
            match part {
                Some(bit) => words.roles.entry(word).or_default().0 |= 1 << bit,
                None => words.classes.entry(word).or_default().push(class),
            }
        }
    }
    words
});

static STEMMERS: LazyLock<Vec<Stemmer>> = LazyLock::new(|| {
    let languages = [
        Algorithm::English,
        Algorithm::German,
        Algorithm::French,
        Algorithm::Spanish,
        Algorithm::Italian,
        Algorithm::Portuguese,
        Algorithm::Dutch,
        Algorithm::Russian,
    ];
    languages.into_iter().map(Stemmer::create).collect()
});

/// The roles of a folded word.
pub(super) fn roles(word: &str) -> Roles {
    READ.roles.get(word).copied().unwrap_or_default()
}

/// True if a folded word is none of these words.
pub(super) fn is_unknown(word: &str) -> bool {
    !READ.roles.contains_key(word) && !READ.classes.contains_key(word)
}

/// The words that may stand for a word, itself left out, for searches.
pub(super) fn relatives(word: &str) -> impl Iterator<Item = &'static str> {
    let classes = READ.classes.get(word).cloned().unwrap_or_default();
    let is_of = move |of: &Vec<u16>| of.iter().any(|class| classes.contains(class));
    READ.classes.iter().filter(move |(_, of)| is_of(of)).map(|(word, _)| *word)
}

/// True if two folded words may stand for each other.
pub(super) fn are_alike(a: &str, b: &str) -> bool {
    let (of_a, of_b) = (READ.classes.get(a), READ.classes.get(b));
    of_a.zip(of_b).is_some_and(|(a, b)| a.iter().any(|class| b.contains(class)))
}

/// True if two Cyrillic words differ in a short ending only.
pub(super) fn are_cases(a: &str, b: &str) -> bool {
    let cyrillic = |word: &str| word.chars().all(|c| matches!(c, '\u{400}'..='\u{4ff}'));
    let shared = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let rest = |word: &str| word.chars().count() - shared;
    shared >= 3 && rest(a) <= 2 && rest(b) <= 2 && cyrillic(a) && cyrillic(b)
}

/// True if two folded words are forms of one word, or stand for each other.
pub(super) fn are_same(a: &str, b: &str) -> bool {
    if a == b || are_alike(a, b) {
        return true;
    }
    // Forms of a word begin alike; stemming costs more.
    if !a.chars().take(2).eq(b.chars().take(2)) {
        return false;
    }
    let same_stem = |stemmer: &Stemmer| {
        let (a, b) = (stemmer.stem(a), stemmer.stem(b));
        a.chars().count() > 2 && fold(&a) == fold(&b)
    };
    let shared = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let rest = |word: &str| word.chars().count() - shared;
    STEMMERS.iter().any(same_stem) || (shared >= SHARED && rest(a) <= ENDING && rest(b) <= ENDING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_the_same_and_other_words_are_not() {
        for (a, b) in [
            ("live", "lives"),
            ("wohne", "lives"),
            ("gave", "gives"),
            ("chairs", "chair"),
            ("works", "working"),
            ("казани", "казань"),
            ("kissoja", "kissoj"),
        ] {
            assert!(are_same(a, b), "{a} {b}");
        }
        for (a, b) in [("dog", "cat"), ("maria", "marta"), ("oslo", "osaka"), ("sell", "buy")] {
            assert!(!are_same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn all_words_are_folded_and_have_a_role() {
        for word in READ.roles.keys().chain(READ.classes.keys()) {
            assert_eq!(fold(word), *word);
        }
        assert!(PARTS.iter().all(|part| WORDS.contains(&format!("[{part}]"))));
        assert!(roles("ich").has(WordRole::First) && roles("never").has(WordRole::Negation));
        assert!(roles("dog").is_content() && !roles("the").is_content());
        assert!(relatives("moved").any(|word| word == "lives"));
    }
}

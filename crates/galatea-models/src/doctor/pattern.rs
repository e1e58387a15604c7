//! Matches a decomposition pattern against the words of a clause.

use std::collections::{BTreeMap, BTreeSet};

/// Named sets of words, such as the members of a family.
pub(super) type Classes = BTreeMap<String, BTreeSet<String>>;

/// A word in the form for comparison and the form for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(super) key: String,
    pub(super) shown: String,
}

impl Word {
    pub(super) fn new(shown: &str) -> Self {
        Self { key: shown.to_lowercase(), shown: shown.to_owned() }
    }
}

/// An element of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// `0`: any number of words, the fewest that fit.
    Any,
    /// `n`: exactly n words.
    Exactly(usize),
    /// This word.
    Word(String),
    /// `(*a b)`: one of these words.
    OneOf(Vec<String>),
    /// `(/NAME)`: a word of this class.
    Class(String),
}

/// Matches a pattern and returns the range of words that each token covers. If several matches are
/// possible, the first part is as short as possible, then the second, and so on.
pub(super) fn decompose(
    pattern: &[Token],
    words: &[Word],
    classes: &Classes,
) -> Option<Vec<std::ops::Range<usize>>> {
    // `fits[t][w]`: the tokens from t on can cover exactly the words from w on. The table is filled
    // from the end, so the cost is bounded.
    let (tokens, count) = (pattern.len(), words.len());
    let mut fits = vec![vec![false; count + 1]; tokens + 1];
    fits[tokens][count] = true;
    for t in (0..tokens).rev() {
        for w in (0..=count).rev() {
            fits[t][w] = match &pattern[t] {
                Token::Any => fits[t + 1][w] || (w < count && fits[t][w + 1]),
                Token::Exactly(n) => w + n <= count && fits[t + 1][w + n],
                single => w < count && matches(single, &words[w], classes) && fits[t + 1][w + 1],
            };
        }
    }
    if !fits[0][0] {
        return None;
    }
    let mut parts = Vec::with_capacity(tokens);
    let mut at = 0;
    for (t, token) in pattern.iter().enumerate() {
        let end = match token {
            Token::Any => (at..=count).find(|end| fits[t + 1][*end])?,
            Token::Exactly(n) => at + n,
            _ => at + 1,
        };
        parts.push(at..end);
        at = end;
    }
    Some(parts)
}

fn matches(token: &Token, word: &Word, classes: &Classes) -> bool {
    match token {
        Token::Word(expected) => word.key == *expected,
        Token::OneOf(list) => list.contains(&word.key),
        Token::Class(name) => classes.get(name).is_some_and(|class| class.contains(&word.key)),
        Token::Any | Token::Exactly(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split_words(text: &str) -> Vec<Word> {
        text.split_whitespace().map(Word::new).collect()
    }

    fn word(text: &str) -> Token {
        Token::Word(text.to_owned())
    }

    #[test]
    fn wildcards_numbers_alternatives_and_classes() {
        let classes = Classes::from([("FAMILY".to_owned(), BTreeSet::from(["mother".to_owned()]))]);
        let pattern = [
            Token::Any,
            word("my"),
            Token::Exactly(1),
            Token::Class("FAMILY".into()),
            Token::OneOf(vec!["is".into(), "was".into()]),
            Token::Any,
        ];
        let parts =
            decompose(&pattern, &split_words("Well my dear Mother was very kind"), &classes)
                .unwrap();
        assert_eq!(parts, [0..1, 1..2, 2..3, 3..4, 4..5, 5..7]);
        assert_eq!(
            decompose(&pattern, &split_words("my mother was kind"), &classes),
            None,
            "exactly one word between"
        );
    }

    #[test]
    fn the_first_part_is_the_shortest() {
        let pattern = [Token::Any, word("a"), Token::Any];
        assert_eq!(
            decompose(&pattern, &split_words("x a y a z"), &Classes::new()).unwrap(),
            [0..1, 1..2, 2..5]
        );
    }

    #[test]
    fn many_wildcards_stay_cheap() {
        let pattern: Vec<Token> =
            std::iter::repeat_n([Token::Any, word("a")], 20).flatten().collect();
        assert_eq!(decompose(&pattern, &split_words(&"a ".repeat(19)), &Classes::new()), None);
    }

    proptest! {
        #[test]
        fn parts_cover_everything_in_order(text in "[ab ]{0,40}", kinds in proptest::collection::vec(0_usize..4, 0..6)) {
            let pattern: Vec<Token> = kinds.iter().map(|kind| match kind { 0 => Token::Any, 1 => Token::Exactly(1), 2 => word("a"), _ => Token::Exactly(2) }).collect();
            let words = split_words(&text);
            if let Some(parts) = decompose(&pattern, &words, &Classes::new()) {
                let mut at = 0;
                for part in parts {
                    prop_assert_eq!(part.start, at);
                    at = part.end;
                }
                prop_assert_eq!(at, words.len());
            }
        }
    }
}

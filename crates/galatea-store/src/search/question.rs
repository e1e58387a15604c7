//! The words of a question, and the terms that SQLite's index is asked for.

use galatea_core::{fusion, store::RecallQuery};
use std::collections::HashMap;

use super::rank::Found;
use crate::terms::{self, Asked};

/// Most terms that are looked up: a list costs some 20 µs.
const MOST: usize = 64;

/// The words that a query looks for, without the names of people.
pub(super) fn words(query: &RecallQuery) -> Vec<Asked> {
    let names: Vec<&str> = query.names.iter().map(String::as_str).collect();
    terms::of_question(&fusion::embedded_question(&query.text, &names))
}

/// The terms of a question, each once.
pub(super) struct Lookup {
    pub(super) terms: Vec<String>,
    /// For each word its exact term and its stems, as places in `terms`.
    words: Vec<(usize, Vec<usize>)>,
}

impl Lookup {
    pub(super) fn new(asked: &[Asked]) -> Self {
        let mut terms: Vec<String> = Vec::new();
        let mut place = |term: String| match terms.iter().position(|known| *known == term) {
            Some(at) => Some(at),
            None if terms.len() < MOST => {
                terms.push(term);
                Some(terms.len() - 1)
            }
            None => None,
        };
        let mut words = Vec::new();
        for asked in asked {
            let star = if asked.prefix { "*" } else { "" };
            let exact = place(format!("{}{star}", asked.exact));
            let stems: Option<Vec<usize>> =
                asked.stems.iter().map(|stem| place(stem.clone())).collect();
            // A word counts with all of its terms or not at all.
            let (Some(exact), Some(stems)) = (exact, stems) else { break };
            words.push((exact, stems));
        }
        Self { terms, words }
    }

    /// The terms of the words whose terms all fulfil a condition.
    pub(super) fn terms_of_words(&self, is_met: impl Fn(usize) -> bool) -> Vec<usize> {
        let of = |(exact, stems): &(usize, Vec<usize>)| {
            let all: Vec<usize> = std::iter::once(*exact).chain(stems.iter().copied()).collect();
            all.iter().all(|term| is_met(*term)).then_some(all)
        };
        let mut terms: Vec<usize> = self.words.iter().filter_map(of).flatten().collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    /// For each word whether one of these terms is its own.
    pub(super) fn words_with<'a>(&'a self, terms: &'a [usize]) -> impl Iterator<Item = bool> + 'a {
        self.words
            .iter()
            .map(|(exact, stems)| terms.contains(exact) || stems.iter().any(|t| terms.contains(t)))
    }

    /// The memories that have each word, from the list of each term.
    pub(super) fn found(&self, lists: &[Vec<i64>]) -> Vec<Found> {
        let list = |at: usize| lists.get(at).map(Vec::as_slice).unwrap_or_default();
        let of = |(exact, stems): &(usize, Vec<usize>)| {
            let mut rows: HashMap<i64, bool> = HashMap::new();
            rows.extend(stems.iter().flat_map(|stem| list(*stem)).map(|seq| (*seq, false)));
            rows.extend(list(*exact).iter().map(|seq| (*seq, true)));
            Found::all(rows.into_iter().collect())
        };
        self.words.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn lookup(question: &str) -> Lookup {
        Lookup::new(&terms::of_question(question))
    }

    #[test]
    fn each_term_is_looked_up_once() {
        // "boats" has the stem "boat", which is asked for as well.
        let found = lookup("boats boat");
        let distinct: HashSet<&String> = found.terms.iter().collect();
        assert_eq!(distinct.len(), found.terms.len(), "{:?}", found.terms);
        assert!(found.terms.contains(&"boats".to_owned()), "{:?}", found.terms);
        let long: String = (0..200).map(|n| format!("word{n} ")).collect();
        assert!(lookup(&long).terms.len() <= MOST);
    }

    #[test]
    fn a_word_is_found_by_its_exact_form_and_its_stems() {
        let lookup = Lookup {
            terms: ["tea", "teas", "kettle"].map(str::to_owned).into(),
            words: vec![(0, vec![1]), (2, vec![])],
        };
        let lists = [vec![5, 4], vec![5, 4, 3, 2], vec![1]];
        let found = [
            Found::all(vec![(2, false), (3, false), (4, true), (5, true)]),
            Found::all(vec![(1, true)]),
        ];
        let mut got = lookup.found(&lists);
        got.iter_mut().for_each(|found| found.rows.sort_unstable());
        assert_eq!(got, found);
        assert_eq!(lookup.terms_of_words(|term| term != 1), [2]);
        assert_eq!(lookup.terms_of_words(|_| true), [0, 1, 2]);
    }
}

//! What a search by words looks up in SQLite, and what it finds before it asks the index.

use galatea_core::{fusion, store::RecallQuery};
use std::{collections::HashMap, sync::OnceLock};

use super::rank::Found;
use crate::terms::{self, Asked, Stems};

/// Terms of a question that are looked up: a list costs some 20 µs.
const MOST: usize = 64;
/// Words of a question that are looked for in a Room whose newest messages are in memory, and in
/// PostgreSQL.
pub(super) const ASKED: usize = 32;

/// The words of a query, analysed once however many searches it takes.
pub(super) struct Question {
    pub(super) asked: Vec<Asked>,
    /// Made when first used: a Room that is in memory whole does not need it.
    lookup: OnceLock<Lookup>,
}

impl Question {
    pub(super) fn new(query: &RecallQuery, stems: &mut Stems) -> Self {
        let names: Vec<&str> = query.names.iter().map(String::as_str).collect();
        let text = fusion::embedded_question(&query.text, &names);
        let asked = terms::of_question(&text, stems);
        Self { asked, lookup: OnceLock::new() }
    }

    /// The lists of its terms.
    pub(super) fn lookup(&self) -> &Lookup {
        self.lookup.get_or_init(|| Lookup::new(&self.asked))
    }

    /// The words that are looked for in a Room whose newest messages are in memory.
    pub(super) fn few(&self) -> &[Asked] {
        let most = self.lookup().words.len().min(ASKED);
        self.asked.get(..most).unwrap_or(&self.asked)
    }
}

/// The lists of a question's terms, each once.
pub(super) struct Lookup {
    terms: Vec<String>,
    /// Of each asked word: its exact term, and its stems, as places in `terms`.
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
            // What is found of a word is kept: no word is looked up in part.
            let (Some(exact), Some(stems)) = (exact, stems) else { break };
            words.push((exact, stems));
        }
        Self { terms, words }
    }

    /// Whether a term is one of these words.
    pub(super) fn is_of(&self, term: usize, words: &[usize]) -> bool {
        let mut words = words.iter().filter_map(|word| self.words.get(*word));
        words.any(|(exact, stems)| *exact == term || stems.contains(&term))
    }

    /// The terms, each once.
    pub(super) fn terms(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(String::as_str)
    }

    /// What each word was found in.
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

/// What a search finds among the rows without words.
#[derive(Default)]
pub(super) struct FoundUnindexed {
    /// For each term that is looked up the rows that have it, the newest first.
    pub(super) lists: Vec<Vec<i64>>,
    /// Rows of the search's places.
    pub(super) rows: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn lookup(question: &str) -> Lookup {
        Lookup::new(&terms::asked(question))
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
    }
}

//! Search by words in SQLite: the index gives the newest memories that have each term.

use galatea_core::{MemoryKind, Result, store::RecallQuery, visibility::View};
use std::collections::{BTreeSet, HashMap};

use super::{
    rank::{self, COUNTED, Found, OFTEN},
    source::Search,
    view::{Builder, Dialect, limit, place_terms},
};
use crate::{
    dialect::{Dialects, Statement, values},
    terms::{self, Asked},
};

/// The newest memories of a term.
pub(crate) const LIST: Dialects = Dialects {
    sqlite: "SELECT f.rowid FROM recall_terms f WHERE f.recall_terms MATCH $1 ORDER BY f.rowid DESC LIMIT +$2",
    postgres: "",
};

/// Newest memories read of each term: more of them have a common word, which says little.
const NEWEST: u32 = 400;
/// The same where the query has conditions that the index does not know.
const NEWEST_OF_MANY: u32 = 4_000;
/// Terms of a question that are looked up: a list costs some 20 µs.
const MOST: usize = 64;
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
            let Some(exact) = place(format!("{}{star}", asked.exact)) else { break };
            words
                .push((exact, asked.stems.iter().filter_map(|stem| place(stem.clone())).collect()));
        }
        Self { terms, words }
    }

    /// What each word was found in.
    fn found(&self, lists: &[Vec<i64>]) -> Vec<Found> {
        let list = |at: usize| lists.get(at).map(Vec::as_slice).unwrap_or_default();
        let of = |(exact, stems): &(usize, Vec<usize>)| {
            let mut rows: HashMap<i64, bool> = HashMap::new();
            rows.extend(stems.iter().flat_map(|stem| list(*stem)).map(|seq| (*seq, false)));
            rows.extend(list(*exact).iter().map(|seq| (*seq, true)));
            Found::all(rows.into_iter().collect())
        };
        self.words.iter().map(of).collect()
    }

    /// The most memories that one word is in.
    fn widest(&self, lists: &[Vec<i64>]) -> usize {
        let of = |at: &usize| lists.get(*at).map_or(0, Vec::len);
        self.words
            .iter()
            .flat_map(|(exact, stems)| stems.iter().chain([exact]).map(of))
            .max()
            .unwrap_or(0)
    }
}

/// Whether a query has conditions beside its place that leave out more than the newest few.
pub(super) fn filters(query: &RecallQuery) -> bool {
    *query.visible.view() == View::Operator || !query.people.is_empty() || query.since.is_some()
}

/// A term as an expression of the index.
fn expression(term: &str, codes: &[String]) -> String {
    let at = terms::AT;
    if let Some(beginning) = term.strip_suffix('*') {
        let places: Vec<String> = codes.iter().map(|code| format!("\"{at}{code}\"")).collect();
        return match places.is_empty() {
            true => format!("\"{beginning}\"*"),
            false => format!("\"{beginning}\"* AND ({})", places.join(" OR ")),
        };
    }
    if codes.is_empty() {
        return format!("\"{term}{at}\"*");
    }
    codes.iter().map(|code| format!("\"{term}{at}{code}\"")).collect::<Vec<_>>().join(" OR ")
}

/// How many memories a place has, up to some number.
fn counted(query: &RecallQuery, codes: &[String]) -> Statement {
    let mut builder = Builder::new(Dialect::Sqlite, query);
    let at = terms::AT;
    let all: Vec<String> = codes.iter().map(|code| format!("\"{at}{code}\"")).collect();
    let matching = builder.bind(all.join(" OR "));
    let most = builder.bind(limit(COUNTED));
    builder.finish(format!(
        "SELECT count(*) FROM (SELECT f.rowid FROM recall_terms f WHERE f.recall_terms MATCH {matching} LIMIT +{most})"
    ))
}

/// The words for the places of what may be seen, as the index has them.
fn codes(query: &RecallQuery) -> Vec<String> {
    let codes: BTreeSet<String> =
        place_terms(query).iter().map(|place| terms::code(place)).collect();
    codes.into_iter().collect()
}

impl Search<'_, '_> {
    /// The best by words before their lengths are known, with conditions still to be checked.
    pub(super) async fn listed(&self, asked: &[Asked]) -> Result<Vec<(i64, f64)>> {
        let query = self.query;
        let lookup = Lookup::new(asked);
        let codes = codes(query);
        let most = if filters(query) { NEWEST_OF_MANY } else { NEWEST };
        let mut lists = Vec::with_capacity(lookup.terms.len());
        for term in &lookup.terms {
            let list = LIST.with(values![expression(term, &codes), most]);
            lists.push(self.source.numbers(list).await?);
        }
        let messages = query.sorts() == [MemoryKind::Messages];
        let often = if messages && !codes.is_empty() && lookup.widest(&lists) >= OFTEN {
            let all = self.source.numbers(counted(query, &codes)).await?;
            rank::often(all.first().map_or(0, |all| usize::try_from(*all).unwrap_or(0)))
        } else {
            usize::MAX
        };
        Ok(rank::score(&lookup.found(&lists), often))
    }
}

/// All statements of a search by words that depend on the query.
#[cfg(test)]
pub(super) fn statements(query: &RecallQuery) -> Vec<Statement> {
    vec![counted(query, &codes(query))]
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
        assert_eq!(lookup.widest(&lists), 4);
    }

    #[test]
    fn a_place_narrows_a_term_and_an_operator_asks_for_all() {
        let codes = ["00000000".to_owned(), "11111111".to_owned()];
        assert_eq!(expression("tea", &codes), "\"teaǀ00000000\" OR \"teaǀ11111111\"");
        assert_eq!(expression("tea", &[]), "\"teaǀ\"*");
        assert_eq!(expression("水*", &[]), "\"水\"*");
        assert_eq!(expression("水*", &codes), "\"水\"* AND (\"ǀ00000000\" OR \"ǀ11111111\")");
    }
}

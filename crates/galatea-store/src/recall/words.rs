//! Search by words in SQLite: the index gives the newest memories that have each term, and this
//! ranks them.

use galatea_core::{MemoryKind, Result, store::RecallQuery, visibility::View};
use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
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
/// A word says nothing if so many messages of a Room have it, and at least one in [`COMMON`].
const OFTEN: usize = 24;
/// See [`OFTEN`].
const COMMON: usize = 2;
/// Memories of a Room counted for it.
const COUNTED: usize = 1_600;
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

    /// Scores of all memories listed, the best first; of equals the newest.
    ///
    /// BM25 with each word counted once, in the exact form a third more, and with the rarity of a
    /// word among what was found, as PostgreSQL's statement has it; the length comes later, see
    /// [`by_length`]. `leave_out` gives for a number of memories whether a word of so many says
    /// nothing.
    fn score(&self, lists: &[Vec<i64>], leave_out: impl Fn(usize) -> bool) -> Vec<(i64, f64)> {
        let list = |at: usize| lists.get(at).map(Vec::as_slice).unwrap_or_default();
        let all: HashSet<i64> = lists.iter().flatten().copied().collect();
        let total = count(4 * all.len()).max(1_000.0);
        let mut scores: HashMap<i64, f64> = HashMap::with_capacity(all.len());
        for (exact, stems) in &self.words {
            let mut weights: HashMap<i64, f64> = HashMap::new();
            weights.extend(stems.iter().flat_map(|stem| list(*stem)).map(|seq| (*seq, 1.0)));
            weights.extend(list(*exact).iter().map(|seq| (*seq, 1.33)));
            if leave_out(weights.len()) {
                continue;
            }
            let with = count(weights.len());
            let rarity = ((total - with + 0.5) / (with + 0.5)).ln_1p();
            for (seq, weight) in weights {
                *scores.entry(seq).or_default() += weight * rarity;
            }
        }
        let mut scores: Vec<(i64, f64)> = scores.into_iter().collect();
        scores.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        scores
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

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}

/// Scores by the length of each text beside the mean: BM25's k1 = 1.2 and b = 0.75.
pub(super) fn by_length(scores: &mut [(i64, f64)], lengths: &HashMap<i64, i64>) {
    #[allow(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
    let of = |seq: &i64| lengths.get(seq).copied().unwrap_or(0) as f64;
    let mean = scores.iter().map(|(seq, _)| of(seq)).sum::<f64>() / count(scores.len().max(1));
    for (seq, score) in scores.iter_mut() {
        *score *= 2.2 / (1.0 + 1.2 * (0.25 + 0.75 * of(seq) / mean.max(1.0)));
    }
    scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
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
        let most = if messages && !codes.is_empty() && lookup.widest(&lists) >= OFTEN {
            let all = self.source.numbers(counted(query, &codes)).await?;
            let all = all.first().map_or(0, |all| usize::try_from(*all).unwrap_or(0));
            // Of more messages than are counted, the lists do not say how many have a word.
            if all < COUNTED { (all / COMMON).max(OFTEN) } else { usize::MAX }
        } else {
            usize::MAX
        };
        Ok(lookup.score(&lists, |with| with >= most))
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
    fn rare_and_exact_words_rank_first() {
        let lookup = Lookup {
            terms: ["tea", "teas", "kettle"].map(str::to_owned).into(),
            words: vec![(0, vec![1]), (2, vec![])],
        };
        let lists = [vec![5, 4], vec![5, 4, 3, 2], vec![1]];
        let order = |often: usize| {
            let scores = lookup.score(&lists, |with| with >= often);
            scores.into_iter().map(|(seq, _)| seq).collect::<Vec<_>>()
        };
        // The rare word, the exact word (of equals the newest), then its stem.
        assert_eq!(order(usize::MAX), [1, 5, 4, 3, 2]);
        assert_eq!(order(4), [1], "a word of four memories is left out");
        assert_eq!(lookup.widest(&lists), 4);
    }

    #[test]
    fn a_short_text_ranks_above_a_long_one() {
        let mut scores = [(1, 1.0), (2, 1.0)];
        by_length(&mut scores, &HashMap::from([(1, 900), (2, 20)]));
        assert_eq!(scores.map(|(seq, _)| seq), [2, 1]);
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

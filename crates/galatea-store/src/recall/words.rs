//! Search by words in SQLite: the index gives the newest memories that have each term.

use galatea_core::{MemoryKind, Result, store::RecallQuery, visibility::View};
use std::collections::BTreeSet;

use super::{
    rank::{self, COMMON, COUNTED, Listed, OFTEN},
    source::Search,
    view::{Builder, Dialect, limit, place_terms},
};
use crate::{
    dialect::{Dialects, Statement, values},
    talk::Having,
    terms,
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
fn counted(query: &RecallQuery, codes: &[String], most: usize) -> Statement {
    let mut builder = Builder::new(Dialect::Sqlite, query);
    let at = terms::AT;
    let all: Vec<String> = codes.iter().map(|code| format!("\"{at}{code}\"")).collect();
    let matching = builder.bind(all.join(" OR "));
    let most = builder.bind(limit(most));
    builder.finish(format!(
        "SELECT count(*) FROM (SELECT f.rowid FROM recall_terms f WHERE f.recall_terms MATCH {matching} LIMIT +{most})"
    ))
}

/// The words for the places of what may be seen, as the index has them.
pub(super) fn codes(query: &RecallQuery) -> Vec<String> {
    let codes: BTreeSet<String> =
        place_terms(query).iter().map(|place| terms::code(place)).collect();
    codes.into_iter().collect()
}

impl Search<'_, '_> {
    /// The newest messages with some words of the question, by the places of the words.
    pub(super) async fn indexed_in_sqlite(
        &self,
        words: Vec<usize>,
    ) -> Result<Vec<(usize, Having)>> {
        let lists = self.lists(NEWEST, |term| self.question.lookup().is_of(term, &words)).await?;
        let mut found = self.question.lookup().found(&lists);
        Ok(words
            .into_iter()
            .filter_map(|word| {
                let mut rows = std::mem::take(&mut found.get_mut(word)?.rows);
                rows.sort_unstable_by_key(|(seq, _)| std::cmp::Reverse(*seq));
                Some((word, rows))
            })
            .collect())
    }

    /// For each term that is looked up the newest memories that have it; of other terms none.
    async fn lists(&self, most: u32, is_asked: impl Fn(usize) -> bool) -> Result<Vec<Vec<i64>>> {
        let codes = codes(self.query);
        let mut lists = Vec::new();
        for (n, term) in self.question.lookup().terms().enumerate() {
            let mut list = Vec::new();
            if is_asked(n) {
                // What the index does not have yet is newer than what it has.
                list = self.unindexed.lists.get(n).cloned().unwrap_or_default();
                let indexed = LIST.with(values![expression(term, &codes), most]);
                list.extend(self.source.numbers(indexed).await?);
                list.truncate(most as usize);
            }
            lists.push(list);
        }
        Ok(lists)
    }

    /// The best by words before their lengths are known, with conditions still to be checked.
    pub(super) async fn listed(&self) -> Result<Vec<Listed>> {
        let Self { query, question, unindexed, .. } = self;
        let codes = codes(query);
        let most = if filters(query) { NEWEST_OF_MANY } else { NEWEST };
        let found = question.lookup().found(&self.lists(most, |_| true).await?);
        let messages = query.sorts() == [MemoryKind::Messages];
        let widest = found.iter().map(|found| found.rows.len()).max().unwrap_or(0);
        let often = if messages && !codes.is_empty() && widest >= OFTEN {
            // In a place with more memories no word is in half of them.
            let counted = counted(query, &codes, COUNTED.min(COMMON * (widest + 1)));
            let all = self.source.numbers(counted).await?;
            let all = all.first().map_or(0, |all| usize::try_from(*all).unwrap_or(0));
            rank::often(all + unindexed.rows)
        } else {
            usize::MAX
        };
        Ok(rank::score(&found, often, self.least_coverage()))
    }
}

/// All statements of a search by words that depend on the query.
#[cfg(test)]
pub(super) fn statements(query: &RecallQuery) -> Vec<Statement> {
    vec![counted(query, &codes(query), COUNTED)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_narrows_a_term_and_an_operator_asks_for_all() {
        let codes = ["00000000".to_owned(), "11111111".to_owned()];
        assert_eq!(expression("tea", &codes), "\"teaǀ00000000\" OR \"teaǀ11111111\"");
        assert_eq!(expression("tea", &[]), "\"teaǀ\"*");
        assert_eq!(expression("水*", &[]), "\"水\"*");
        assert_eq!(expression("水*", &codes), "\"水\"* AND (\"ǀ00000000\" OR \"ǀ11111111\")");
    }
}

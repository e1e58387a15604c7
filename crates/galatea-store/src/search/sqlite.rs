//! Search by words in SQLite: the index gives the newest memories that have each term.
//!
//! A word with a full list is common. Memories that have a rare word are asked for the common words
//! as well, however old they are.

use galatea_core::{MemoryKind, Result, store::RecallQuery, visibility::View};
use std::collections::{BTreeSet, HashSet};

use super::{
    question::Lookup,
    rank::{self, COMMON, COUNTED, Found, Listed, OFTEN},
    source::Search,
    view::{Builder, Dialect, limit, place_terms},
};
use crate::{
    dialect::{Dialects, Statement},
    terms,
};

/// The newest memories of a term.
pub(crate) const LIST: Dialects = Dialects {
    sqlite: "SELECT f.rowid FROM recall_terms f WHERE f.recall_terms MATCH $1 ORDER BY f.rowid DESC LIMIT +$2",
    postgres: "",
};

/// Newest messages read of each term: more of them have a common word, which says little.
const NEWEST: usize = 400;
/// The same where the query has conditions that the index does not know.
const NEWEST_OF_MANY: usize = 4_000;
/// The same for documents and facts, whose order in time says nothing.
const TIMELESS: usize = 1_000;
/// The same if no word of a question is rare.
const TIMELESS_OF_MANY: usize = 16_000;

/// How long the list of a term may be.
fn longest(query: &RecallQuery) -> usize {
    if filters(query) {
        NEWEST_OF_MANY
    } else if goes_by_time(query) {
        NEWEST
    } else {
        TIMELESS
    }
}

/// Whether newer memories are worth more: a search among messages.
fn goes_by_time(query: &RecallQuery) -> bool {
    query.sorts().contains(&MemoryKind::Messages)
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
    /// The best by words before their lengths are known, with conditions still to be checked.
    pub(super) async fn listed(&self) -> Result<Vec<Listed>> {
        let codes = codes(self.query);
        let lookup = Lookup::new(&self.asked);
        let longest = longest(self.query);
        let mut lists = self.lists(&lookup, &codes, longest).await?;
        let rare = lookup.terms_of_words(|term| lists[term].len() < longest);
        let has_rare = rare.iter().any(|term| !lists[*term].is_empty());
        let common: Vec<usize> = (0..lists.len()).filter(|n| lists[*n].len() >= longest).collect();
        if has_rare {
            self.check_common(&lookup, &codes, &rare, &common, &mut lists).await?;
        } else if !common.is_empty() && !goes_by_time(self.query) {
            lists = self.lists(&lookup, &codes, TIMELESS_OF_MANY).await?;
        }
        let mut found = lookup.found(&lists);
        let often = self.often(&found, &codes).await?;
        for (of, is_common) in found.iter_mut().zip(lookup.words_with(&common)) {
            if is_common {
                of.with = of.with.max(longest);
            }
        }
        Ok(rank::score(&found, often, self.least_coverage()))
    }

    /// For each term the newest memories that have it.
    async fn lists(
        &self,
        lookup: &Lookup,
        codes: &[String],
        longest: usize,
    ) -> Result<Vec<Vec<i64>>> {
        let mut lists = Vec::with_capacity(lookup.terms.len());
        for term in &lookup.terms {
            lists.push(self.list(expression(term, codes), longest).await?);
        }
        Ok(lists)
    }

    async fn list(&self, expression: String, longest: usize) -> Result<Vec<i64>> {
        self.source.numbers(LIST.with(vec![expression.as_str().into(), limit(longest)])).await
    }

    /// Asks for each common term which memories with a rare word have it. Their list replaces the
    /// newest with the common term, or among messages is added to these.
    async fn check_common(
        &self,
        lookup: &Lookup,
        codes: &[String],
        rare: &[usize],
        common: &[usize],
        lists: &mut [Vec<i64>],
    ) -> Result<()> {
        let any: Vec<String> = rare
            .iter()
            .map(|term| format!("({})", expression(&lookup.terms[*term], codes)))
            .collect();
        let (any, most) = (any.join(" OR "), rare.iter().map(|term| lists[*term].len()).sum());
        for term in common {
            let both = format!("({}) AND ({any})", expression(&lookup.terms[*term], codes));
            let checked = self.list(both, most).await?;
            let list = &mut lists[*term];
            if goes_by_time(self.query) {
                let known: HashSet<i64> = list.iter().copied().collect();
                list.extend(checked.into_iter().filter(|seq| !known.contains(seq)));
            } else {
                *list = checked;
            }
        }
        Ok(())
    }

    /// In how many memories a word says nothing.
    async fn often(&self, found: &[Found], codes: &[String]) -> Result<usize> {
        let widest = found.iter().map(|found| found.rows.len()).max().unwrap_or(0);
        let of_messages = self.query.sorts() == [MemoryKind::Messages];
        if !of_messages || codes.is_empty() || widest < OFTEN {
            return Ok(usize::MAX);
        }
        // In a place with more memories no word is in half of them.
        let counted = counted(self.query, codes, COUNTED.min(COMMON * (widest + 1)));
        let all = self.source.numbers(counted).await?;
        let all = all.first().map_or(0, |all| usize::try_from(*all).unwrap_or(0));
        Ok(rank::often(all))
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

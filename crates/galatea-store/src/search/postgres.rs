//! Search by words in PostgreSQL.
//!
//! The index of words knows places, but no order: of a word it gives every row of the place, and a
//! common word of a large Room has tens of thousands, each in a page of its own. So the newest
//! messages are looked at one by one first. They show which words are common; the index is asked for
//! the others. The memories that it gives are then asked for the common words.

use galatea_core::{Error, MemoryKind, Result, store::RecallQuery, visibility::View};
use sqlx::FromRow;
use std::collections::HashSet;

use super::{
    rank::{self, Found, Listed},
    source::Search,
    view::{Builder, Dialect, limit, place_terms},
};
use crate::{
    dialect::{Statement, Value},
    plan::{AFTER_WORDS_NEWEST, after_words},
    postgres::Postgres,
    terms::Asked,
};

/// Most words of a question that are looked for.
const ASKED: usize = 32;
/// Newest messages of a Room that are looked at one by one.
const LOOKED_AT: usize = 500;
/// The same for an operator, who sees all Rooms.
const LOOKED_AT_OF_ALL: usize = 2_000;
/// A word is common if one of so many of these has it.
const ONE_IN: usize = 10;
/// Of the messages that are looked at, one of so many may have a word that the index is asked for:
/// it gives the same share of a whole Room, and each row costs some two microseconds.
const ONE_IN_READ: usize = 8;
/// Newest messages with a word that count.
const NEWEST: usize = 400;
/// The same for documents and facts, whose order in time says nothing.
const TIMELESS: usize = 1_000;
/// Most memories with rare words that are asked for the common ones.
const CANDIDATES: usize = 2_000;

/// A question's words as the server's queries. Terms are letters and digits only.
struct Queries {
    /// For each word: any of its forms, then its exact form.
    words: Vec<[String; 2]>,
    /// The places, none for an operator.
    places: Option<String>,
}

impl Queries {
    fn new(query: &RecallQuery, asked: &[Asked]) -> Self {
        let quoted = |term: &str| format!("'{term}'");
        let words = asked.iter().take(ASKED).map(|asked| {
            let exact = quoted(&asked.exact) + if asked.prefix { ":*" } else { "" };
            let stems = asked.stems.iter().map(|stem| quoted(stem));
            let any: Vec<String> = std::iter::once(exact.clone()).chain(stems).collect();
            [any.join(" | "), exact]
        });
        let places: Vec<String> = place_terms(query).iter().map(|place| quoted(place)).collect();
        Self { words: words.collect(), places: (!places.is_empty()).then(|| places.join(" | ")) }
    }

    /// A query at the places, as the index of words is asked for it.
    fn placed(&self, any: &str) -> String {
        match &self.places {
            Some(places) => format!("({places}) & ({any})"),
            None => any.to_owned(),
        }
    }

    /// The words of these numbers at their places, and in their exact form.
    fn each(&self, which: &[usize]) -> [Vec<String>; 2] {
        let words: Vec<&[String; 2]> = which.iter().filter_map(|n| self.words.get(*n)).collect();
        [
            words.iter().map(|[any, _]| self.placed(any)).collect(),
            words.iter().map(|[_, exact]| exact.clone()).collect(),
        ]
    }
}

/// All conditions of a query, for rows that the index of words, or of the order, names.
fn checked(builder: &mut Builder<'_>) -> String {
    let mut conditions = vec![builder.sorts("m")];
    conditions.extend(builder.validity());
    conditions.extend(builder.further());
    let places: Vec<String> = builder.places().iter().map(|place| format!("({place})")).collect();
    conditions.push(format!("({})", places.join(" OR ")));
    after_words(&conditions.join(" AND "))
}

/// The parts of a statement that compares rows `m` with some words.
struct Digits {
    /// The words as queries, each once, in a row `q` of its own: a text that becomes a query for
    /// every row is most of the time.
    asked: String,
    /// A digit for each word: 1 if the row has it, 2 if in its exact form.
    found: String,
}

impl Digits {
    /// Of the words with these numbers, one at least.
    fn new(builder: &mut Builder<'_>, queries: &Queries, which: &[usize]) -> Self {
        let words: Vec<&[String; 2]> = which.iter().filter_map(|n| queries.words.get(*n)).collect();
        let any: Vec<&str> = words.iter().map(|[any, _]| any.as_str()).collect();
        let mut asked = vec![format!("{}::tsquery AS a", builder.bind(any.join(" | ")))];
        let mut digits = Vec::new();
        for (n, [any, exact]) in words.into_iter().enumerate() {
            let (any, exact) = (builder.bind(any.as_str()), builder.bind(exact.as_str()));
            asked.push(format!("{any}::tsquery AS g{n}, {exact}::tsquery AS e{n}"));
            digits.push(format!(
                "CASE WHEN NOT m.words @@ q.g{n} THEN '0' WHEN m.words @@ q.e{n} THEN '2' ELSE '1' END"
            ));
        }
        Self { asked: asked.join(", "), found: format!("concat({})", digits.join(", ")) }
    }
}

/// Columns of `memories` that the conditions of a query need.
const COLUMNS: &str = "m.seq, m.words, m.type, m.valid_until, m.room_id, m.entity_id, m.created_at, m.agent_id, m.scope, m.world_id";
/// One row: how many rows there are, and of those that have a word the numbers and the digits, the
/// newest first.
const TOGETHER: &str = "SELECT count(*) AS looked_at, coalesce(array_agg(r.seq ORDER BY r.seq DESC) FILTER (WHERE r.found IS NOT NULL), '{}') AS seqs, \
     coalesce(string_agg(r.found, '' ORDER BY r.seq DESC), '') AS found FROM r";

/// How many rows of a query's places are looked at one by one. None if the query leaves most of them
/// out, or asks for memories that have no order.
fn looked_at(query: &RecallQuery) -> Option<usize> {
    if !query.people.is_empty() || query.since.is_some() {
        return None;
    }
    match query.visible.view() {
        View::Operator => query.room.is_none().then_some(LOOKED_AT_OF_ALL),
        View::Room { room, .. } => {
            let is_here = query.room.is_none_or(|asked| asked == *room);
            (is_here && query.sorts() == [MemoryKind::Messages]).then_some(LOOKED_AT)
        }
    }
}

/// The newest `most` of a Room's messages, or of all that an operator may see.
fn look(query: &RecallQuery, queries: &Queries, most: usize) -> Statement {
    let mut builder = Builder::new(Dialect::Postgres, query);
    let most = builder.bind(limit(most));
    let all: Vec<usize> = (0..queries.words.len()).collect();
    let Digits { asked, found } = Digits::new(&mut builder, queries, &all);
    let checked = checked(&mut builder);
    let newest = match query.visible.view() {
        View::Operator => "ORDER BY m.seq DESC".to_owned(),
        View::Room { room, .. } => {
            let (room, agent) = (builder.bind(room.0), builder.bind(query.visible.agent().0));
            format!(
                "WHERE m.room_id = {room} AND m.type = 'messages' AND m.agent_id = {agent} AND m.scope = 'room' \
                 ORDER BY m.created_at DESC, m.seq DESC"
            )
        }
    };
    builder.finish(format!(
        "WITH q AS MATERIALIZED (SELECT {asked}), r AS MATERIALIZED ( \
            SELECT m.seq, CASE WHEN m.words @@ q.a AND {checked} THEN {found} END AS found \
            FROM (SELECT {COLUMNS} FROM memories m {newest} LIMIT {most}) m CROSS JOIN q) {TOGETHER}"
    ))
}

/// The newest that have each of some words.
fn indexed(query: &RecallQuery, [any, exact]: [Vec<String>; 2], most: usize) -> Statement {
    let mut builder = Builder::new(Dialect::Postgres, query);
    let (any, exact) = (builder.bind(Value::Texts(any)), builder.bind(Value::Texts(exact)));
    let most = builder.bind(limit(most));
    let checked = checked(&mut builder);
    builder.finish(format!(
        "SELECT w.word, f.seq, f.exact FROM unnest({any}::tsquery[], {exact}::tsquery[]) WITH ORDINALITY w (any_form, exact, word) \
         CROSS JOIN LATERAL (SELECT m.seq, m.words @@ w.exact AS exact FROM memories m \
            WHERE m.words @@ w.any_form AND {checked} ORDER BY {AFTER_WORDS_NEWEST} LIMIT {most}) f"
    ))
}

/// Which of some memories have which of some words.
fn compared(query: &RecallQuery, queries: &Queries, which: &[usize], seqs: &[i64]) -> Statement {
    let mut builder = Builder::new(Dialect::Postgres, query);
    let Digits { asked, found } = Digits::new(&mut builder, queries, which);
    let among = builder.among(seqs);
    builder.finish(format!(
        "WITH q AS MATERIALIZED (SELECT {asked}), r AS MATERIALIZED ( \
            SELECT m.seq, CASE WHEN m.words @@ q.a THEN {found} END AS found FROM memories m CROSS JOIN q WHERE m.seq {among}) {TOGETHER}"
    ))
}

/// Memories with a word, and whether in the form that was asked for.
type Having = Vec<(i64, bool)>;

#[derive(FromRow)]
struct LookedAt {
    looked_at: i64,
    seqs: Vec<i64>,
    /// As many digits for each as there are words.
    found: String,
}

impl LookedAt {
    async fn read(postgres: &Postgres, statement: Statement) -> Result<Self> {
        let row: Option<Self> = postgres.all(statement).await?.pop();
        row.ok_or_else(|| Error::unexpected("a count has no row"))
    }

    /// For each word the memories that have it, the newest first.
    fn lists(&self, words: usize) -> Vec<Having> {
        let mut lists: Vec<Having> = vec![Vec::new(); words];
        for (seq, found) in self.seqs.iter().zip(self.found.as_bytes().chunks_exact(words.max(1))) {
            for (list, digit) in lists.iter_mut().zip(found).filter(|(_, digit)| **digit > b'0') {
                list.push((*seq, *digit == b'2'));
            }
        }
        lists
    }
}

#[derive(FromRow)]
struct Indexed {
    /// From 1.
    word: i64,
    seq: i64,
    exact: bool,
}

/// The lists of a question's words.
#[derive(Debug, PartialEq)]
struct Lists {
    lists: Vec<Having>,
    /// Words of which a list has all memories.
    whole: Vec<bool>,
}

/// The words that the index is asked for, by what the newest `looked_at` messages have of each: the
/// rarest first, until it would give too many rows.
fn rare(lists: &[Having], looked_at: usize) -> Vec<usize> {
    let mut words: Vec<usize> =
        (0..lists.len()).filter(|n| lists[*n].len() < looked_at / ONE_IN).collect();
    words.sort_by_key(|word| lists[*word].len());
    let mut seen = 0;
    words.retain(|word| {
        seen += lists[*word].len();
        seen <= looked_at / ONE_IN_READ
    });
    words
}

impl Lists {
    /// Memories with a word of which all are known, those with the rarest word first.
    fn candidates(&self) -> Vec<i64> {
        let mut whole: Vec<&Having> =
            self.lists.iter().zip(&self.whole).filter(|of| *of.1).map(|of| of.0).collect();
        whole.sort_by_key(|list| list.len());
        let mut seqs: Vec<i64> =
            whole.into_iter().flatten().map(|(seq, _)| *seq).take(CANDIDATES).collect();
        seqs.sort_unstable();
        seqs.dedup();
        seqs
    }
}

fn size(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

impl Search<'_, '_> {
    /// The best by words before their lengths are known.
    pub(super) async fn listed_by_postgres(&self, postgres: &Postgres) -> Result<Vec<Listed>> {
        let query = self.query;
        let queries = Queries::new(query, &self.asked);
        let words = queries.words.len();
        let goes_by_time = query.sorts().contains(&MemoryKind::Messages);
        let longest = if goes_by_time { NEWEST } else { TIMELESS };
        let mut found = Lists { lists: vec![Vec::new(); words], whole: vec![false; words] };
        let (mut often, mut asked) = (usize::MAX, (0..words).collect::<Vec<_>>());
        if let Some(most) = looked_at(query) {
            let looked = LookedAt::read(postgres, look(query, &queries, most)).await?;
            let there = size(looked.looked_at);
            found.lists = looked.lists(words);
            if there < most {
                found.whole = vec![true; words];
                asked.clear();
                if query.sorts() == [MemoryKind::Messages] {
                    often = rank::often(there);
                }
            } else {
                asked = rare(&found.lists, most);
            }
        }
        for (word, list) in indexed_lists(postgres, query, &queries, &asked, longest).await? {
            found.whole[word] = list.len() < longest;
            found.lists[word] = list;
        }
        self.compare(postgres, &queries, &mut found, goes_by_time).await?;
        let Lists { lists, whole } = found;
        let counted = |(rows, whole): (Having, bool)| {
            let least = if whole { 0 } else { longest };
            Found { with: rows.len().max(least), rows }
        };
        let found: Vec<Found> = lists.into_iter().zip(whole).map(counted).collect();
        Ok(rank::score(&found, often, self.least_coverage()))
    }

    /// Asks the memories with rare words for the common ones. Among messages the newest with a common
    /// word stay in its list.
    async fn compare(
        &self,
        postgres: &Postgres,
        queries: &Queries,
        found: &mut Lists,
        goes_by_time: bool,
    ) -> Result<()> {
        let common: Vec<usize> = (0..found.whole.len()).filter(|n| !found.whole[*n]).collect();
        let candidates = found.candidates();
        if common.is_empty() || candidates.is_empty() {
            return Ok(());
        }
        let statement = compared(self.query, queries, &common, &candidates);
        let lists = LookedAt::read(postgres, statement).await?.lists(common.len());
        for (word, checked) in common.into_iter().zip(lists) {
            let list = &mut found.lists[word];
            if goes_by_time {
                let known: HashSet<i64> = list.iter().map(|(seq, _)| *seq).collect();
                list.extend(checked.into_iter().filter(|(seq, _)| !known.contains(seq)));
            } else {
                *list = checked;
            }
        }
        Ok(())
    }
}

/// Asks the index for the newest that have some words.
async fn indexed_lists(
    postgres: &Postgres,
    query: &RecallQuery,
    queries: &Queries,
    words: &[usize],
    longest: usize,
) -> Result<Vec<(usize, Having)>> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let mut lists: Vec<(usize, Having)> = words.iter().map(|word| (*word, Vec::new())).collect();
    for row in postgres.all::<Indexed>(indexed(query, queries.each(words), longest)).await? {
        if let Some((_, list)) = lists.get_mut(size(row.word - 1)) {
            list.push((row.seq, row.exact));
        }
    }
    Ok(lists)
}

/// All statements of a search by words that depend on the query.
#[cfg(test)]
pub(super) fn statements(query: &RecallQuery) -> Vec<Statement> {
    let queries = Queries::new(query, &crate::terms::of_question(&query.text));
    let all: Vec<usize> = (0..queries.words.len()).collect();
    let looked = looked_at(query).map(|most| look(query, &queries, most));
    let others =
        [indexed(query, queries.each(&all), NEWEST), compared(query, &queries, &all, &[1, 2])];
    looked.into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(found: &[&str]) -> LookedAt {
        LookedAt {
            looked_at: i64::try_from(found.len()).unwrap(),
            seqs: (0..found.len()).map(|n| i64::try_from(10_000 - n).unwrap()).collect(),
            found: found.concat(),
        }
    }

    #[test]
    fn each_word_has_the_memories_with_its_digit() {
        let lists = looked(&["21", "01"]).lists(2);
        assert_eq!(lists, [vec![(10_000, true)], vec![(10_000, false), (9_999, false)]]);
        assert_eq!(looked(&[]).lists(1), [Vec::new()]);
    }

    #[test]
    fn the_index_is_asked_for_rare_words_the_rarest_first() {
        let list = |many: usize| vec![(0, true); many];
        assert_eq!(rare(&[list(10), list(0), list(49), list(1), list(50)], 500), [1, 3, 0, 2]);
        assert_eq!(rare(&[list(40), list(30), list(20)], 500), [2, 1], "40 more are too many");
    }

    #[test]
    fn candidates_have_a_word_that_is_known_whole() {
        let lists = vec![vec![(3, true), (2, false)], vec![(9, true)], vec![(2, true)]];
        let lists = Lists { lists, whole: vec![true, false, true] };
        assert_eq!(lists.candidates(), [2, 3]);
        let many = (0..5_000).map(|seq| (seq, true)).collect();
        let lists = Lists { lists: vec![many], whole: vec![true] };
        assert_eq!(lists.candidates().len(), CANDIDATES);
    }
}

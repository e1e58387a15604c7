//! Search by words in PostgreSQL. A Room of up to [`MOST`](crate::talk::MOST) messages is searched in
//! memory. Of a larger one the newest are, which finds its common words; the index of words finds the
//! others. For an operator the newest rows are looked at one by one instead.
//!
//! The index of words knows places, but no order: of a word it gives every row of the place, and a
//! common word of a large Room has tens of thousands. So it is asked for rare words only. Rows of one
//! Room lie in as many pages of the table, so each row that is looked at costs some two microseconds.

use galatea_core::{Error, Result, RoomId, store::RecallQuery, visibility::View};
use sqlx::FromRow;

use super::{
    lookup::ASKED,
    rank::{self, Found, Listed},
    source::Search,
    view::{Builder, Dialect, limit, place_terms, wide},
};
use crate::{
    dialect::{Statement, Value},
    plan::{AFTER_WORDS_NEWEST, after_words},
    postgres::Postgres,
    talk::{Having, MOST, NEWEST},
    terms::Asked,
};

/// Rows that are looked at one by one for an operator.
const LOOKED_AT: usize = 2_000;
/// A word is common if one of so many of these has it.
const ONE_IN: usize = 20;
/// Messages that the index is expected to give for all words of a question: each costs a look at its row, some
/// microseconds.
const READ: usize = 3_000;

/// A question's words as the server's queries. Terms are letters and digits only.
struct Queries {
    /// Of each word: any of its forms, then its exact form.
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

    /// Any of the words.
    fn any(&self) -> String {
        let any: Vec<&str> = self.words.iter().map(|[any, _]| any.as_str()).collect();
        any.join(" | ")
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

/// The parts of a statement that compares rows `m` with each word.
struct Digits {
    /// The words as queries, each once, in a row `q` of its own: a text that becomes a query for
    /// every row is most of the time.
    asked: String,
    /// A digit for each word: 1 if the row has it, 2 if in its exact form.
    found: String,
}

impl Digits {
    fn new(builder: &mut Builder<'_>, queries: &Queries) -> Self {
        let mut asked = vec![format!("{}::tsquery AS a", builder.bind(queries.any()))];
        let mut digits = Vec::new();
        for (n, [any, exact]) in queries.words.iter().enumerate() {
            let (any, exact) = (builder.bind(any.as_str()), builder.bind(exact.as_str()));
            asked.push(format!("{any}::tsquery AS g{n}, {exact}::tsquery AS e{n}"));
            digits.push(format!(
                "CASE WHEN NOT m.words @@ q.g{n} THEN '0' WHEN m.words @@ q.e{n} THEN '2' ELSE '1' END"
            ));
        }
        Self { asked: asked.join(", "), found: format!("concat({})", digits.join(", ")) }
    }
}

/// One row: how many rows there are, and of those that have a word the numbers and the digits, the
/// newest first.
const TOGETHER: &str = "SELECT count(*) AS looked_at, coalesce(array_agg(r.seq ORDER BY r.seq DESC) FILTER (WHERE r.found IS NOT NULL), '{}') AS seqs, \
     coalesce(string_agg(r.found, '' ORDER BY r.seq DESC), '') AS found FROM r";

/// The newest of all that an operator may see; none if a query has conditions that leave most of them
/// out.
fn statement(query: &RecallQuery, queries: &Queries) -> Option<Statement> {
    let filters = query.room.is_some() || !query.people.is_empty() || query.since.is_some();
    if *query.visible.view() != View::Operator || filters {
        return None;
    }
    let mut builder = Builder::new(Dialect::Postgres, query);
    let most = builder.bind(limit(LOOKED_AT));
    let Digits { asked, found } = Digits::new(&mut builder, queries);
    let checked = checked(&mut builder);
    Some(builder.finish(format!(
        "WITH q AS MATERIALIZED (SELECT {asked}), r AS MATERIALIZED ( \
            SELECT m.seq, CASE WHEN m.words @@ q.a AND {checked} THEN {found} END AS found \
            FROM (SELECT m.seq, m.words, m.type, m.valid_until, m.room_id, m.entity_id, m.created_at, m.agent_id, m.scope, m.world_id \
               FROM memories m ORDER BY m.seq DESC LIMIT {most}) m CROSS JOIN q) {TOGETHER}"
    )))
}

/// The newest that have each of some words.
fn indexed(query: &RecallQuery, [any, exact]: [Vec<String>; 2]) -> Statement {
    let mut builder = Builder::new(Dialect::Postgres, query);
    let (any, exact) = (builder.bind(Value::Texts(any)), builder.bind(Value::Texts(exact)));
    let most = builder.bind(limit(NEWEST));
    let checked = checked(&mut builder);
    builder.finish(format!(
        "SELECT w.word, f.seq, f.exact FROM unnest({any}::tsquery[], {exact}::tsquery[]) WITH ORDINALITY w (any_form, exact, word) \
         CROSS JOIN LATERAL (SELECT m.seq, m.words @@ w.exact AS exact FROM memories m \
            WHERE m.words @@ w.any_form AND {checked} ORDER BY {AFTER_WORDS_NEWEST} LIMIT {most}) f"
    ))
}

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

    /// Of each word the memories that have it, the newest first, and whether in its exact form.
    fn lists(&self, words: usize) -> Vec<Vec<(i64, bool)>> {
        let mut lists: Vec<Vec<(i64, bool)>> = vec![Vec::new(); words];
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

/// What the newest have of each word, and the numbers of the words that fewer have than a common one.
fn sort_out(lists: Vec<Vec<(i64, bool)>>, whole: bool) -> (Vec<Found>, Vec<usize>) {
    let mut rare = Vec::new();
    let found = lists.into_iter().enumerate().map(|(n, mut list)| {
        if !whole && list.len() < LOOKED_AT / ONE_IN {
            rare.push(n);
        }
        list.truncate(NEWEST);
        // Of a common word the older ones are not counted.
        Found { with: if whole { list.len() } else { NEWEST }, rows: list }
    });
    (found.collect(), rare)
}

/// Of some words the rarest that the index is asked for, in a Room of so many messages. `seen` gives how
/// many of its newest have a word.
fn rarest(mut words: Vec<usize>, seen: impl Fn(usize) -> usize, messages: usize) -> Vec<usize> {
    words.sort_by_key(|word| seen(*word));
    let mut read = 0;
    words.retain(|word| {
        // One that none of the newest has may be in older ones: as often as if half of one had it.
        read += (2 * seen(*word)).max(1) * messages / (2 * MOST);
        read <= READ
    });
    words
}

fn size(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

impl Search<'_, '_> {
    /// The best by words before their lengths are known, of what is not in memory.
    pub(super) async fn listed_by_postgres(&self, postgres: &Postgres) -> Result<Vec<Listed>> {
        let queries = Queries::new(self.query, &self.question.asked);
        let words = queries.words.len();
        let (mut found, rare) = match statement(self.query, &queries) {
            Some(look) => {
                let looked = LookedAt::read(postgres, look).await?;
                sort_out(looked.lists(words), size(looked.looked_at) < LOOKED_AT)
            }
            None => (vec![Found::all(Vec::new()); words], (0..words).collect()),
        };
        for (word, having) in having(postgres, self.query, &queries, rare).await? {
            found[word] = Found::all(having);
        }
        Ok(rank::score(&found, usize::MAX, self.least_coverage()))
    }

    /// The newest messages of a Room with some words of the question, by the places of the words; not
    /// of all, if so many have them that reading them takes long. `seen` gives how many of the messages
    /// in memory have a word.
    pub(super) async fn indexed_in_postgres(
        &self,
        postgres: &Postgres,
        room: RoomId,
        words: Vec<usize>,
        seen: impl Fn(usize) -> usize,
    ) -> Result<Vec<(usize, Having)>> {
        let wide = wide(self.query);
        let queries = Queries::new(&wide, &self.question.asked);
        let words = rarest(words, seen, postgres.messages_in(room).await?);
        having(postgres, &wide, &queries, words).await
    }
}

/// Asks the index for the newest that have some words.
async fn having(
    postgres: &Postgres,
    query: &RecallQuery,
    queries: &Queries,
    words: Vec<usize>,
) -> Result<Vec<(usize, Having)>> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let mut lists: Vec<(usize, Having)> = words.iter().map(|word| (*word, Vec::new())).collect();
    for row in postgres.all::<Indexed>(indexed(query, queries.each(&words))).await? {
        if let Some((_, list)) = lists.get_mut(size(row.word - 1)) {
            list.push((row.seq, row.exact));
        }
    }
    Ok(lists)
}

/// All statements of a search by words that depend on the query.
#[cfg(test)]
pub(super) fn statements(query: &RecallQuery, asked: &[Asked]) -> Vec<Statement> {
    let queries = Queries::new(query, asked);
    let all: Vec<usize> = (0..queries.words.len()).collect();
    let indexed = indexed(query, queries.each(&all));
    statement(query, &queries).into_iter().chain([indexed]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(looked_at: usize, found: &[&str]) -> LookedAt {
        LookedAt {
            looked_at: i64::try_from(looked_at).unwrap(),
            seqs: (0..found.len()).map(|n| i64::try_from(10_000 - n).unwrap()).collect(),
            found: found.concat(),
        }
    }

    #[test]
    fn a_place_that_was_looked_at_whole_needs_no_index() {
        let (found, rare) = sort_out(looked(LOOKED_AT - 1, &["21", "01"]).lists(2), true);
        assert_eq!(found[0], Found::all(vec![(10_000, true)]));
        assert_eq!(found[1], Found::all(vec![(10_000, false), (9_999, false)]));
        assert!(rare.is_empty());
        let none = sort_out(looked(3, &[]).lists(1), true);
        assert_eq!(none, (vec![Found::all(Vec::new())], Vec::new()));
    }

    #[test]
    fn the_rarest_words_are_read_first_and_not_too_many_rows() {
        let seen = [10, 0, 22, 1];
        let rarest = |messages| rarest(vec![0, 1, 2, 3], |word| seen[word], messages);
        assert_eq!(rarest(5_400), [1, 3, 0, 2], "all, the rarest first");
        // A guess, 1 in 500 of 100,000, and 2,000 messages.
        assert_eq!(rarest(100_000), [1, 3, 0]);
        assert_eq!(rarest(1_000_000), [1, 3]);
        assert_eq!(rarest(10_000_000), Vec::<usize>::new());
    }

    #[test]
    fn the_index_is_asked_for_rare_words_of_a_large_place() {
        let mut found = vec!["11"; 99];
        found.extend(vec!["02"; 500]);
        let (lists, rare) = sort_out(looked(LOOKED_AT, &found).lists(2), false);
        assert_eq!(rare, [0]);
        assert_eq!((lists[1].rows.len(), lists[1].with), (NEWEST, NEWEST));
    }
}

//! Finds candidates by words, by meaning, or the newest.

use galatea_core::{
    EntityId, MemoryKind, Result,
    store::{Meaning, RecallQuery},
    visibility::View,
};
use std::collections::HashSet;

#[cfg(test)]
use super::postgres;
use super::{
    rank::{self, BySeq, Listed},
    scale::Scale,
    source::{Search, SeenRow, Source, VectorRow},
    sqlite,
    view::{Builder, Dialect, limit, owner_ids},
};
use crate::{
    convert,
    dialect::{Dialects, Statement, Value, bits},
    postgres::Postgres,
};

/// Embeddings of memories by number.
pub(crate) const MEANINGS: Dialects = Dialects {
    sqlite: "SELECT e.seq, e.vector FROM embeddings e WHERE e.seq IN (SELECT value FROM json_each($1)) AND e.model = $2 AND e.width = $3",
    postgres: "SELECT e.seq, e.vector FROM embeddings e WHERE e.seq = ANY ($1) AND e.model = $2 AND e.width = $3",
};

/// Memories listed by their words whose conditions are checked, where a query has some. PostgreSQL
/// lists none that does not meet them.
const CHECKED: usize = 4_000;
/// Messages that the prompt shows anyway, about: those that fit are listed too and left out by their
/// time.
const SHOWN: usize = 40;
/// Messages from the query's time on that are left out by their numbers: more than a prompt shows.
const LATER: usize = 128;
/// Vectors compared whole after the search by signs.
const SIGNS: usize = 300;
/// Reads of a place's cached signs per search: they are read again if many of the memories found were
/// deleted meanwhile, or their embeddings.
const READS: usize = 2;

/// What is known of a memory that the query may show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) person: EntityId,
    pub(super) at: i64,
    /// How long its text is: in characters, in PostgreSQL in terms.
    pub(super) long: i64,
}

/// What is known of memories, by their numbers.
pub(super) type Known = BySeq<Seen>;
/// Candidates with their scores, and what is known of them.
type Near = (Vec<(i64, f32)>, Known);

/// What a search by words found.
#[derive(Default)]
pub(super) struct ByWords {
    pub(super) listed: Vec<Listed>,
    pub(super) known: Known,
}

/// The newest of what may be seen.
fn newest(dialect: Dialect, query: &RecallQuery, most: usize) -> Statement {
    let mut builder = Builder::new(dialect, query);
    let parts = builder.conditions_by_place_and_sort();
    let most = builder.bind(limit(most));
    let parts: Vec<String> = parts
        .iter()
        .map(|part| {
            format!(
                "SELECT * FROM (SELECT m.seq, m.created_at FROM memories m WHERE {part} ORDER BY m.created_at DESC, m.seq DESC LIMIT +{most}) p"
            )
        })
        .collect();
    let text = format!(
        "SELECT n.seq FROM ({}) n ORDER BY n.created_at DESC, n.seq DESC LIMIT +{most}",
        parts.join(" UNION ALL ")
    );
    builder.finish(text)
}

/// Numbers of the Room's messages from the query's time on, which an index has.
fn later(query: &RecallQuery) -> Option<Statement> {
    let (View::Room { room, .. }, Some(before)) = (query.visible.view(), query.before) else {
        return None;
    };
    if query.sorts() != [MemoryKind::Messages] {
        return None;
    }
    let mut builder = Builder::new(Dialect::Sqlite, query);
    let (room, before) = (builder.bind(room.0), builder.bind(before.0));
    let most = builder.bind(limit(LATER));
    Some(builder.finish(format!(
        "SELECT m.seq FROM memories m WHERE m.room_id = {room} AND m.type = 'messages' AND m.created_at >= {before} LIMIT +{most}"
    )))
}

/// Those of these numbers that the query may show.
fn visible(dialect: Dialect, query: &RecallQuery, seqs: &[i64]) -> Statement {
    let mut builder = Builder::new(dialect, query);
    let seqs = builder.among(seqs);
    let parts: Vec<String> =
        builder.conditions_by_place().iter().map(|part| format!("({part})")).collect();
    let which = match dialect {
        // The numbers are few; no other index is better.
        Dialect::Sqlite => "memories m NOT INDEXED",
        Dialect::Postgres => "memories m",
    };
    let long = match dialect {
        Dialect::Sqlite => "length(m.content ->> '$.text')",
        // A text with U+0000 cannot be asked for.
        Dialect::Postgres => "length(m.words)::bigint",
    };
    let text = format!(
        "SELECT m.seq, m.entity_id, m.created_at, {long} AS long FROM {which} WHERE m.seq {seqs} AND ({})",
        parts.join(" OR ")
    );
    builder.finish(text)
}

/// Whether the place and the kind in the index of signs are all that a search by signs needs: the
/// messages of a Room, seen from there. Times are checked afterwards, because a look at each row of a
/// large Room costs more than the search.
fn in_order_of_place(query: &RecallQuery) -> bool {
    let View::Room { room, .. } = query.visible.view() else { return false };
    !sqlite::filters(query)
        && query.sorts() == [MemoryKind::Messages]
        && query.room.is_none_or(|asked| asked == *room)
}

/// Whether places and sorts are all that a search by signs needs.
fn by_place_alone(query: &RecallQuery) -> bool {
    let view_of_room = *query.visible.view() != View::Operator;
    let further = !query.people.is_empty()
        || query.room.is_some()
        || query.since.is_some()
        || query.before.is_some();
    view_of_room && (!further || in_order_of_place(query))
}

/// The nearest by signs, which an index keeps place by place. Rows of other models may be among
/// them; those of another width have no distance.
fn near(dialect: Dialect, query: &RecallQuery, meaning: &Meaning, most: usize) -> Statement {
    let mut builder = Builder::new(dialect, query);
    let asked = builder.bind(bits(meaning.embedding.numbers()));
    let mut conditions = vec![builder.sorts("e")];
    let mut further = if in_order_of_place(query) { Vec::new() } else { builder.further() };
    if *query.visible.view() == View::Operator {
        further.extend(builder.places());
    } else {
        let owners = builder.owned(owner_ids(query));
        conditions.push(format!("e.owner {owners}"));
    }
    // PostgreSQL reads the bits of the question once, not for every row.
    let (with, distance) = match dialect {
        Dialect::Sqlite => (String::new(), format!("galatea_distance(e.bits, {asked})")),
        Dialect::Postgres => (
            format!("WITH q AS MATERIALIZED (SELECT {asked}::text::bit varying AS bits) "),
            "CASE WHEN length(e.bits) = length(q.bits) THEN bit_count(e.bits # q.bits) END"
                .to_owned(),
        ),
    };
    let from = if further.is_empty() {
        "embeddings e"
    } else {
        "embeddings e JOIN memories m ON m.seq = e.seq"
    };
    let and = if dialect == Dialect::Postgres { " CROSS JOIN q" } else { "" };
    conditions.extend(further);
    let most = builder.bind(limit(most));
    let text = format!(
        "{with}SELECT n.seq FROM (SELECT e.seq, {distance} AS distance FROM {from}{and} WHERE {}) n \
         WHERE n.distance IS NOT NULL ORDER BY n.distance, n.seq DESC LIMIT +{most}",
        conditions.join(" AND ")
    );
    builder.finish(text)
}

impl Search<'_, '_> {
    /// Numbers of the newest.
    pub(super) async fn newest(&self, most: usize) -> Result<Vec<i64>> {
        self.source.numbers(newest(self.source.dialect(), self.query, most)).await
    }

    /// Those of these that the query may show.
    pub(super) async fn visible_of(&self, seqs: &[i64]) -> Result<Known> {
        if seqs.is_empty() {
            return Ok(Known::default());
        }
        let statement = visible(self.source.dialect(), self.query, seqs);
        let rows: Vec<SeenRow> = self.source.all(statement).await?;
        let seen = |row: SeenRow| {
            let (person, at) = (row.person(), row.created_at);
            (row.seq, Seen { person, at, long: row.long.unwrap_or(0) })
        };
        Ok(rows.into_iter().map(seen).collect())
    }

    /// The best by words, with their scores.
    pub(super) async fn by_words(&self, most: usize) -> Result<ByWords> {
        if self.asked.is_empty() {
            return Ok(ByWords::default());
        }
        let is_sqlite = self.source.dialect() == Dialect::Sqlite;
        let unchecked_times = self.query.before.is_some() && is_sqlite;
        let (mut listed, unchecked) = match &self.source {
            Source::Postgres(postgres) => (self.listed_by_postgres(postgres).await?, false),
            Source::Sqlite(..) => (self.listed().await?, sqlite::filters(self.query)),
        };
        if listed.is_empty() {
            return Ok(ByWords::default());
        }
        let later = match later(self.query) {
            Some(later) if unchecked_times => self.source.numbers(later).await?,
            _ => Vec::new(),
        };
        listed.retain(|of| !later.contains(&of.seq));
        let shown =
            if unchecked_times && (later.is_empty() || later.len() >= LATER) { SHOWN } else { 0 };
        listed = rank::best(listed, if unchecked { CHECKED } else { 2 * most + shown });
        // The index knows the place, and neither the agent nor the query's conditions. Most of what
        // it lists is visible, and each look at a row costs the reading of a page.
        let mut visible = Known::default();
        let mut looked = 0;
        while looked < listed.len() && visible.len() < most {
            let some = (most + shown).max(looked);
            let seqs: Vec<i64> = listed.iter().skip(looked).take(some).map(|of| of.seq).collect();
            looked += seqs.len();
            visible.extend(self.visible_of(&seqs).await?);
        }
        listed.truncate(looked);
        listed.retain(|of| visible.contains_key(&of.seq));
        listed.truncate(most);
        let lengths = visible.iter().map(|(seq, seen)| (*seq, seen.long)).collect::<BySeq<i64>>();
        rank::by_length(&mut listed, &lengths);
        Ok(ByWords { listed, known: visible })
    }

    /// The most similar, with their similarities: of several times as many nearest by signs.
    pub(super) async fn by_meaning(&self, meaning: &Meaning, most: usize) -> Result<Near> {
        let near = SIGNS.max(2 * most) + SHOWN;
        let (mut found, seen) = match &self.source {
            Source::Postgres(postgres) if by_place_alone(self.query) => {
                self.nearest_kept(postgres, meaning, near).await?
            }
            _ => self.nearest(meaning, near).await?,
        };
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        found.truncate(most);
        Ok((found, seen))
    }

    /// Those of the nearest by signs that the query may show, as the database compares them, with
    /// their similarities.
    async fn nearest(&self, meaning: &Meaning, most: usize) -> Result<Near> {
        let near = near(self.source.dialect(), self.query, meaning, most);
        let mut nearest = self.source.numbers(near).await?;
        let visible = self.visible_of(&nearest).await?;
        nearest.retain(|seq| visible.contains_key(seq));
        Ok((self.similarities(meaning, &nearest).await?, visible))
    }

    /// The same with the signs that this process keeps of the places. Memories may be gone
    /// meanwhile, and so may their embeddings alone.
    async fn nearest_kept(
        &self,
        postgres: &Postgres,
        meaning: &Meaning,
        most: usize,
    ) -> Result<Near> {
        let (owners, width) = (owner_ids(self.query), meaning.embedding.width());
        for _ in 0..READS {
            let Some(kept) = postgres.signs(&owners, self.query.sorts(), width).await? else {
                break;
            };
            let nearest = kept.nearest(meaning.embedding.numbers(), most);
            let visible = self.visible_of(&nearest).await?;
            let shown: Vec<i64> =
                nearest.iter().copied().filter(|seq| visible.contains_key(seq)).collect();
            let found = self.similarities(meaning, &shown).await?;
            let there: HashSet<i64> = found.iter().map(|(seq, _)| *seq).collect();
            let suspects: Vec<i64> =
                nearest.into_iter().filter(|seq| !there.contains(seq)).collect();
            if postgres.gone(&kept, &suspects, SHOWN).await?.len() <= SHOWN {
                return Ok((found, visible));
            }
        }
        self.nearest(meaning, most).await
    }

    /// Exact similarities of memories that have an embedding of this model.
    async fn similarities(&self, meaning: &Meaning, seqs: &[i64]) -> Result<Vec<(i64, f32)>> {
        if seqs.is_empty() {
            return Ok(Vec::new());
        }
        let values = vec![
            Value::Ints(seqs.to_vec()),
            meaning.model.as_str().into(),
            convert::width(meaning.embedding.width()).into(),
        ];
        let vectors: Vec<VectorRow> = self.source.all(MEANINGS.with(values)).await?;
        let similarity =
            |row: VectorRow| Some((row.seq, meaning.embedding.similarity(&row.vector)?));
        Ok(vectors.into_iter().filter_map(similarity).collect())
    }

    /// Adds the similarities of candidates that were found in another way.
    pub(super) async fn complete(
        &self,
        seqs: &[i64],
        scales: &[Scale],
        known: &mut BySeq<f32>,
    ) -> Result<()> {
        let missing: Vec<i64> =
            seqs.iter().copied().filter(|seq| !known.contains_key(seq)).collect();
        for (meaning, scale) in self.query.meanings.iter().zip(scales) {
            let found = self.similarities(meaning, &missing).await?;
            known.extend(found.into_iter().map(|(seq, similarity)| (seq, scale.of(similarity))));
        }
        Ok(())
    }
}

/// All statements of a query that every server takes.
#[cfg(test)]
pub(crate) fn statements(dialect: Dialect, query: &RecallQuery) -> Vec<String> {
    let mut out = vec![newest(dialect, query, 10), visible(dialect, query, &[1, 2])];
    match dialect {
        Dialect::Sqlite => out.extend(sqlite::statements(query).into_iter().chain(later(query))),
        Dialect::Postgres => out.extend(postgres::statements(query)),
    }
    for meaning in &query.meanings {
        out.push(near(dialect, query, meaning, 10));
    }
    out.into_iter()
        .map(|s| if dialect == Dialect::Sqlite { s.sqlite } else { s.postgres }.into_owned())
        .collect()
}

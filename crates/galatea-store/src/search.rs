//! Search of memories by words and by meaning: collects candidates of both, completes, fuses and reads
//! them.
//!
//! Words are looked up in the database's own index: FTS5 in SQLite (`sqlite.rs`), which is brought up
//! in the background (`index.rs`), and GIN in PostgreSQL (`postgres.rs`), which stores words with
//! their rows. `docs/search.md` describes a search.

mod candidates;
mod hits;
mod index;
mod mentions;
mod postgres;
mod question;
mod rank;
mod rows;
mod scale;
mod source;
mod sqlite;
mod view;

use async_trait::async_trait;
use futures::future::{try_join, try_join_all};
use galatea_core::{
    Result, Timestamp,
    fusion::{self, Candidate, Fused},
    store::{MOST_RECALLED, RecallQuery, RecallStore, Recalled},
};
use std::collections::HashMap;

use self::{
    candidates::ByWords,
    rank::{BySeq, Seqs},
    rows::Row,
    scale::{Range, Scale},
    source::{Search, Source, at_once},
};
use crate::{
    Backend, Database,
    sqlite::{Counts, raw::Raw},
};

#[cfg(test)]
pub(crate) use {
    candidates::{MEANINGS, statements},
    index::{INDEX_TERMS, TERMS_BEHIND, TERMS_PROGRESS},
    mentions::MENTIONS,
    rows::{BESIDE, BY_SEQ, FEW_BY_SEQ},
    sqlite::LIST,
    view::Dialect,
};

/// Candidates of each search, enough that a hit of one is usually scored by the other; and those whose
/// neighbours are looked at, behind which none reaches the first places. For up to half as many hits as
/// candidates the order is the same whatever the limit.
const BY_BOTH: (usize, usize) = (100, 40);
/// The same for a search by words alone, which no other search completes. Each candidate costs the
/// reading of a row.
const BY_WORDS: (usize, usize) = (40, 12);

#[async_trait]
impl RecallStore for Database {
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Recalled>> {
        match &self.0.backend {
            Backend::Postgres(postgres) => {
                let found = Search::new(Source::Postgres(postgres), query).find().await?;
                Source::Postgres(postgres).hits(query, found).await
            }
            Backend::Sqlite(sqlite) => {
                if sqlite.is_in_memory() {
                    // No task indexes it in the background.
                    while !sqlite.index_terms().await? {}
                }
                let query = query.clone();
                let search = move |raw: &mut Raw<'_>, counts: &Counts| {
                    let search = Search::new(Source::of_sqlite(raw, counts), &query);
                    let found = at_once(search.find())?;
                    at_once(search.source.hits(&query, found))
                };
                sqlite.search(search).await
            }
        }
    }

    async fn index_words(&self) -> Result<bool> {
        match &self.0.backend {
            // Words are stored with their rows.
            Backend::Postgres(_) => Ok(true),
            Backend::Sqlite(sqlite) => sqlite.index_terms().await,
        }
    }
}

impl Database {
    /// For each of these that is a message, the messages before and after it.
    pub(crate) async fn beside(&self, seqs: &[i64]) -> Result<HashMap<i64, [Option<i64>; 2]>> {
        match &self.0.backend {
            Backend::Postgres(postgres) => Source::Postgres(postgres).beside(seqs).await,
            Backend::Sqlite(sqlite) => {
                let seqs = seqs.to_vec();
                let read = move |raw: &mut Raw<'_>, counts: &Counts| {
                    at_once(Source::of_sqlite(raw, counts).beside(&seqs))
                };
                sqlite.search(read).await
            }
        }
    }

    /// Memories by number.
    pub(crate) async fn rows_of(&self, seqs: &[i64]) -> Result<HashMap<i64, Row>> {
        match &self.0.backend {
            Backend::Postgres(postgres) => Source::Postgres(postgres).rows_of(seqs).await,
            Backend::Sqlite(sqlite) => {
                let seqs = seqs.to_vec();
                let read = move |raw: &mut Raw<'_>, counts: &Counts| {
                    at_once(Source::of_sqlite(raw, counts).rows_of(&seqs))
                };
                sqlite.search(read).await
            }
        }
    }
}

/// The messages before and after messages.
type Links = BySeq<[Option<i64>; 2]>;
/// The share of the question's words that memories have.
type Coverage = BySeq<f32>;

/// What both searches found.
struct Scored {
    candidates: Vec<Candidate<i64>>,
    coverage: Coverage,
    /// Of the query's models, in their order.
    scales: Vec<Scale>,
}

/// What a search found, before it is read.
#[derive(Default)]
pub(crate) struct Selected {
    fused: Vec<Fused<i64>>,
    beside: Links,
    coverage: Coverage,
}

impl Search<'_, '_> {
    async fn find(&self) -> Result<Selected> {
        let query = self.query;
        let limit = usize::try_from(query.limit.min(MOST_RECALLED)).unwrap_or(0);
        if limit == 0 {
            return Ok(Selected::default());
        }
        if self.asked.is_empty() && query.meanings.is_empty() {
            // Such as an emoji, or a picture without words. The newest have no words of it.
            if self.least_coverage() > 0.0 {
                return Ok(Selected::default());
            }
            let newest = self.newest(limit).await?;
            let listed =
                newest.into_iter().map(|key| Fused { key, score: 0.0, words: None, meaning: None });
            return Ok(Selected { fused: listed.collect(), ..Selected::default() });
        }
        let usual = if query.meanings.is_empty() { BY_WORDS } else { BY_BOTH };
        // Scores depend on what else is looked at, so that is the same for all usual limits.
        let (most, spreading) = if 2 * limit <= usual.0 { usual } else { (2 * limit, limit) };
        let Scored { mut candidates, coverage, scales } = self.scored(most).await?;
        let mut beside = Links::default();
        let covers = |seq: i64| coverage.get(&seq).is_some_and(|of| *of >= query.coverage);
        let is_covered = |of: &Fused<i64>| query.coverage <= 0.0 || covers(of.key);
        let mut fused = fusion::fuse(&candidates, &query.fusion);
        fused.retain(is_covered);
        if query.fusion.neighbours > 0.0 && !fused.is_empty() {
            fused.truncate(spreading);
            let seqs: Vec<i64> = fused.iter().map(|fused| fused.key).collect();
            beside = self.spread(&mut candidates, &scales, &seqs).await?;
            fused = fusion::fuse(&candidates, &query.fusion);
        }
        fused.retain(is_covered);
        fused.truncate(limit);
        if query.neighbours {
            let all: Vec<i64> = fused.iter().map(|fused| fused.key).collect();
            let unknown: Vec<i64> =
                all.iter().copied().filter(|seq| !beside.contains_key(seq)).collect();
            beside.extend(self.source.beside(&unknown).await?);
        } else {
            beside.clear();
        }
        Ok(Selected { fused, beside, coverage })
    }

    /// The least coverage of a candidate. A search by words alone leaves out what the query's coverage
    /// forbids as a hit, and reads no row of it. In a search by meaning such candidates still count: the
    /// range of similarities depends on them.
    fn least_coverage(&self) -> f64 {
        if self.query.meanings.is_empty() { self.query.coverage.into() } else { 0.0 }
    }

    /// Candidates of both searches, each with both of its scores as far as it has them.
    async fn scored(&self, most: usize) -> Result<Scored> {
        let query = self.query;
        // Side by side: PostgreSQL uses a connection for each. SQLite waits for nothing.
        let near = query.meanings.iter().map(|meaning| self.by_meaning(meaning, most));
        let (ByWords { listed, mut known }, near) =
            try_join(self.by_words(most), try_join_all(near)).await?;
        let mut order: Vec<i64> = listed.iter().map(|of| of.seq).collect();
        let words: BySeq<f32> = listed.iter().map(|of| (of.seq, short(of.score))).collect();
        let coverage: Coverage = listed.iter().map(|of| (of.seq, short(of.coverage))).collect();
        let ranges: Vec<Range> = near.iter().map(|(near, _)| Range::of(near)).collect();
        let scales = Scale::to_first(&ranges);
        let mut meanings: BySeq<f32> = BySeq::default();
        for ((near, seen), scale) in near.into_iter().zip(&scales) {
            order.extend(near.iter().map(|(seq, _)| *seq));
            meanings.extend(near.into_iter().map(|(seq, similarity)| (seq, scale.of(similarity))));
            known.extend(seen);
        }
        let mut seen = Seqs::default();
        order.retain(|seq| seen.insert(*seq));
        self.complete(&order, &scales, &mut meanings).await?;
        let unknown: Vec<i64> =
            order.iter().copied().filter(|seq| !known.contains_key(seq)).collect();
        known.extend(self.visible_of(&unknown).await?);
        let naming = self.naming(&order, &known).await?;
        let candidates = order
            .into_iter()
            .map(|key| Candidate {
                key,
                words: words.get(&key).copied(),
                coverage: coverage.get(&key).copied().unwrap_or(0.0),
                meaning: meanings.get(&key).copied(),
                neighbours: [None, None],
                named: naming.contains(&key),
                age: known.get(&key).map_or(0, |seen| age(query.now, seen.at)),
            })
            .collect();
        Ok(Scored { candidates, coverage, scales })
    }

    /// Adds the neighbours of the best, which are candidates then too.
    async fn spread(
        &self,
        candidates: &mut Vec<Candidate<i64>>,
        scales: &[Scale],
        best: &[i64],
    ) -> Result<Links> {
        let query = self.query;
        let beside: Links = self.source.beside(best).await?.into_iter().collect();
        let mut all: Seqs = candidates.iter().map(|c| c.key).collect();
        let mut new: Vec<i64> = Vec::new();
        // A neighbour that is no candidate has too few words of the question to be a hit.
        if self.least_coverage() <= 0.0 {
            let neighbours = beside.values().flatten().flatten().copied();
            new.extend(neighbours.filter(|seq| all.insert(*seq)));
        }
        let known = self.visible_of(&new).await?;
        new.retain(|seq| known.contains_key(seq));
        let mut meanings = BySeq::default();
        self.complete(&new, scales, &mut meanings).await?;
        let naming = self.naming(&new, &known).await?;
        candidates.extend(new.into_iter().map(|key| Candidate {
            key,
            words: None,
            coverage: 0.0,
            meaning: meanings.get(&key).copied(),
            neighbours: [None, None],
            named: naming.contains(&key),
            age: known.get(&key).map_or(0, |seen| age(query.now, seen.at)),
        }));
        // Each is the neighbour of its neighbours.
        let mut links = Links::default();
        for (seq, [before, after]) in &beside {
            let (seq, before, after) = (*seq, *before, *after);
            links.insert(seq, [before, after]);
            if let Some(before) = before {
                links.entry(before).or_default()[1].get_or_insert(seq);
            }
            if let Some(after) = after {
                links.entry(after).or_default()[0].get_or_insert(seq);
            }
        }
        for candidate in candidates {
            candidate.neighbours = links.get(&candidate.key).copied().unwrap_or_default();
        }
        Ok(beside)
    }
}

#[allow(clippy::cast_possible_truncation, reason = "scores need no more than seven digits")]
fn short(number: f64) -> f32 {
    number as f32
}

fn age(now: Timestamp, at: i64) -> i64 {
    now.0.saturating_sub(at)
}

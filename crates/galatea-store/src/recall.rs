//! Recall: candidates by words and by meaning, completed, fused and read.

mod candidates;
mod rows;
mod view;
mod words;

use async_trait::async_trait;
use galatea_core::{
    Result, Timestamp,
    fusion::{self, Candidate, Fused},
    store::{MOST_RECALLED, RecallQuery, RecallStore, Recalled},
};
use std::collections::{HashMap, HashSet};

use self::candidates::Seen;
use crate::{Database, terms::Asked};

#[cfg(test)]
pub(crate) use {
    candidates::{MEANINGS, statements},
    rows::{BESIDE, BY_SEQ},
    view::Dialect,
};

/// Candidates of each search: enough that a hit of one is usually scored by the other.
const CANDIDATES: usize = 100;
/// Candidates whose neighbours are looked at: those behind cannot reach the first places.
const SPREADING: usize = 40;

#[async_trait]
impl RecallStore for Database {
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Recalled>> {
        let limit = usize::try_from(query.limit.min(MOST_RECALLED)).unwrap_or(0);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let names: Vec<&str> = query.names.iter().map(String::as_str).collect();
        let asked = crate::terms::of_question(&fusion::embedded_question(&query.text, &names));
        if asked.is_empty() && query.meanings.is_empty() {
            let newest = self.newest(query, limit).await?;
            let listed =
                newest.into_iter().map(|key| Fused { key, score: 0.0, words: None, meaning: None });
            return self.hits(query, listed.collect(), Links::new()).await;
        }
        let most = CANDIDATES.max(2 * limit);
        let mut candidates = self.scored(query, &asked, most).await?;
        let mut links = HashMap::new();
        let mut fused = fusion::fuse(&candidates, &query.fusion);
        if query.fusion.neighbours > 0.0 && !fused.is_empty() {
            fused.truncate(SPREADING.max(limit));
            let seqs: Vec<i64> = fused.iter().map(|fused| fused.key).collect();
            links = self.spread(query, &mut candidates, &seqs).await?;
            fused = fusion::fuse(&candidates, &query.fusion);
        }
        fused.truncate(limit);
        self.hits(query, fused, links).await
    }
}

/// The messages before and after messages.
type Links = HashMap<i64, [Option<i64>; 2]>;

impl Database {
    /// Candidates of both searches, each with both of its scores as far as it has them.
    async fn scored(
        &self,
        query: &RecallQuery,
        asked: &[Asked],
        most: usize,
    ) -> Result<Vec<Candidate<i64>>> {
        let mut known: HashMap<i64, Seen> = HashMap::new();
        let words = self.by_words(query, asked, most, &mut known).await?;
        let mut order: Vec<i64> = words.iter().map(|(seq, _)| *seq).collect();
        let words: HashMap<i64, f32> = words.into_iter().collect();
        let mut meanings: HashMap<i64, f32> = HashMap::new();
        for meaning in &query.meanings {
            let near = self.by_meaning(query, meaning, most, &mut known).await?;
            order.extend(near.iter().map(|(seq, _)| *seq));
            meanings.extend(near);
        }
        let mut seen = HashSet::new();
        order.retain(|seq| seen.insert(*seq));
        self.complete(query, &order, &mut meanings).await?;
        let unknown: Vec<i64> =
            order.iter().copied().filter(|seq| !known.contains_key(seq)).collect();
        known.extend(self.visible_of(query, &unknown).await?);
        Ok(order
            .into_iter()
            .map(|key| Candidate {
                key,
                words: words.get(&key).copied(),
                meaning: meanings.get(&key).copied(),
                neighbours: [None, None],
                named: known.get(&key).is_some_and(|seen| query.named.contains(&seen.person)),
                age: known.get(&key).map_or(0, |seen| age(query.now, seen.at)),
            })
            .collect())
    }

    /// Adds the neighbours of the best, which are candidates then too.
    async fn spread(
        &self,
        query: &RecallQuery,
        candidates: &mut Vec<Candidate<i64>>,
        best: &[i64],
    ) -> Result<Links> {
        let beside = self.beside(best).await?;
        let mut all: HashSet<i64> = candidates.iter().map(|c| c.key).collect();
        let mut new: Vec<i64> =
            beside.values().flatten().flatten().copied().filter(|seq| all.insert(*seq)).collect();
        let known = self.visible_of(query, &new).await?;
        new.retain(|seq| known.contains_key(seq));
        let mut meanings = HashMap::new();
        self.complete(query, &new, &mut meanings).await?;
        candidates.extend(new.into_iter().map(|key| Candidate {
            key,
            words: None,
            meaning: meanings.get(&key).copied(),
            neighbours: [None, None],
            named: known.get(&key).is_some_and(|seen| query.named.contains(&seen.person)),
            age: known.get(&key).map_or(0, |seen| age(query.now, seen.at)),
        }));
        // Each is the neighbour of its neighbours.
        let mut links = Links::new();
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

    /// Reads what was found; `beside` has the neighbours that are known already.
    async fn hits(
        &self,
        query: &RecallQuery,
        fused: Vec<Fused<i64>>,
        mut beside: Links,
    ) -> Result<Vec<Recalled>> {
        let mut all: Vec<i64> = fused.iter().map(|fused| fused.key).collect();
        if query.neighbours {
            let unknown: Vec<i64> =
                all.iter().copied().filter(|seq| !beside.contains_key(seq)).collect();
            beside.extend(self.beside(&unknown).await?);
        } else {
            beside.clear();
        }
        let near: Vec<i64> =
            all.iter().filter_map(|seq| beside.get(seq)).flatten().flatten().copied().collect();
        all.extend(near);
        let rows = self.rows_of(&all).await?;
        let memory = |seq: Option<i64>| rows.get(&seq?).map(|row| row.memory.clone());
        Ok(fused
            .into_iter()
            .filter_map(|fused| {
                let row = rows.get(&fused.key)?;
                // A row that was changed since the search is checked once more.
                if !query.visible.shows(&row.memory, row.scope) {
                    return None;
                }
                let [before, after] = beside.get(&fused.key).copied().unwrap_or_default();
                Some(Recalled {
                    memory: row.memory.clone(),
                    scope: row.scope,
                    valid_until: row.valid_until.map(Timestamp),
                    score: fused.score,
                    words: fused.words,
                    meaning: fused.meaning,
                    before: memory(before),
                    after: memory(after),
                })
            })
            .collect())
    }
}

fn age(now: Timestamp, at: i64) -> i64 {
    now.0.saturating_sub(at)
}

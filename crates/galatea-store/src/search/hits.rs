//! Reads the memories that a search found, with the messages beside them.

use galatea_core::{
    Result, Timestamp,
    store::{RecallQuery, Recalled},
};

use super::{Selected, source::Source};

impl Source<'_, '_> {
    /// Reads what was found.
    pub(super) async fn hits(&self, query: &RecallQuery, found: Selected) -> Result<Vec<Recalled>> {
        let Selected { fused, mut beside, coverage } = found;
        let mut all: Vec<i64> = fused.iter().map(|fused| fused.key).collect();
        if !query.neighbours {
            beside.clear();
        }
        let near: Vec<i64> =
            all.iter().filter_map(|seq| beside.get(seq)).flatten().flatten().copied().collect();
        all.extend(near);
        let mut rows = self.rows_of(&all).await?;
        // A row that was changed since the search is checked once more.
        rows.retain(|_, row| query.visible.shows(&row.memory, row.scope));
        // A row that is needed once is moved out; one that is needed again is cloned.
        let mut take = |seq: i64| match all.iter().filter(|other| **other == seq).count() {
            0 | 1 => rows.remove(&seq),
            _ => rows.get(&seq).cloned(),
        };
        let mut hits = Vec::with_capacity(fused.len());
        for fused in fused {
            let Some(row) = take(fused.key) else { continue };
            let [before, after] = beside.get(&fused.key).copied().unwrap_or_default();
            let mut memory = |seq: Option<i64>| take(seq?).map(|row| row.memory);
            hits.push(Recalled {
                scope: row.scope,
                valid_until: row.valid_until.map(Timestamp),
                memory: row.memory,
                score: fused.score,
                words: fused.words,
                coverage: coverage.get(&fused.key).copied().unwrap_or(0.0),
                meaning: fused.meaning,
                before: memory(before),
                after: memory(after),
            });
        }
        Ok(hits)
    }
}

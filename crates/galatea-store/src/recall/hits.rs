//! Reads the memories that a search found, with the messages beside them.

use galatea_core::{
    Result, Timestamp,
    store::{RecallQuery, Recalled},
};

use super::{Selected, rows::Row, source::Source};

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
        let rows = self.rows_of(&all).await?;
        // A row that was changed since the search is checked once more.
        let shows = |row: &&Row| query.visible.shows(&row.memory, row.scope);
        let memory = |seq: Option<i64>| rows.get(&seq?).filter(shows).map(|row| row.memory.clone());
        Ok(fused
            .into_iter()
            .filter_map(|fused| {
                let row = rows.get(&fused.key).filter(shows)?;
                let [before, after] = beside.get(&fused.key).copied().unwrap_or_default();
                Some(Recalled {
                    memory: row.memory.clone(),
                    scope: row.scope,
                    valid_until: row.valid_until.map(Timestamp),
                    score: fused.score,
                    words: fused.words,
                    coverage: coverage.get(&fused.key).copied().unwrap_or(0.0),
                    meaning: fused.meaning,
                    before: memory(before),
                    after: memory(after),
                })
            })
            .collect())
    }
}

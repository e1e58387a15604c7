//! The index of terms: brought up to date in the background, and by a search when it is far behind, so
//! that storing a message costs nothing for it.

use galatea_core::Result;

use super::Sqlite;
use crate::{
    change::{Change, Write},
    dialect::{Dialects, values},
};

/// The terms of the next so many memories, which the program makes of the texts, then how far the
/// index has come.
pub(crate) const INDEX_TERMS: Dialects = Dialects {
    sqlite: "INSERT INTO recall_terms (rowid, terms) SELECT seq, terms FROM memory_terms \
             WHERE seq > (SELECT seq FROM terms_progress) ORDER BY seq LIMIT +$1",
    postgres: "",
};
pub(crate) const TERMS_PROGRESS: Dialects = Dialects {
    sqlite: "UPDATE terms_progress SET seq = coalesce( \
             (SELECT max(seq) FROM (SELECT m.seq FROM memories m WHERE m.seq > terms_progress.seq ORDER BY m.seq LIMIT +$1)), seq)",
    postgres: "",
};
pub(crate) const TERMS_BEHIND: Dialects = Dialects {
    sqlite: "SELECT coalesce((SELECT max(seq) FROM memories), 0) - seq FROM terms_progress",
    postgres: "",
};

/// Rows of terms indexed in one commit: some 8 ms in which nothing else is stored. A process that is
/// killed again and again has to finish one.
const TERMS_STEP: u32 = 200;
/// Steps in a row in the background, and those for which a search waits: then some 0.3 s at most.
const IN_BACKGROUND: usize = 10;
const FOR_SEARCH: usize = 40;

impl Sqlite {
    /// Brings the index of terms up to what has been stored so far, or a good step towards it:
    /// false if rows are left.
    pub(crate) async fn index_terms(&self) -> Result<bool> {
        self.index(IN_BACKGROUND).await
    }

    /// The same for a search, which misses what is left.
    pub(crate) async fn index_for_search(&self) -> Result<()> {
        self.index(FOR_SEARCH).await.map(drop)
    }

    async fn index(&self, most: usize) -> Result<bool> {
        for _ in 0..most {
            let behind = self.fetch_one::<(i64,)>(TERMS_BEHIND.with(values![])).await?;
            let behind = behind.map_or(0, |(behind,)| behind);
            if behind == 0 {
                self.known.note_indexed();
                return Ok(true);
            }
            let statements =
                [INDEX_TERMS, TERMS_PROGRESS].map(|step| step.with(values![TERMS_STEP])).into();
            let mut change = Change::default();
            change.push(Write::Other { statements, counted: None })?;
            self.write(change).await?;
            // What came meanwhile is left for the next time: a step for a few rows costs as much as
            // one for hundreds.
            if behind <= i64::from(TERMS_STEP) {
                self.known.note_indexed();
                return Ok(true);
            }
        }
        Ok(false)
    }
}

//! SQLite's index of words, brought up in the background: storing a message costs nothing for it. The
//! writer asks for it when it pauses, and after many memories (`sqlite/known.rs`). Newer messages are
//! in the prompt as conversation, so no search waits for it.

use galatea_core::{Result, store::RecallStore as _};
use std::{sync::Arc, time::Duration};
use tokio::{runtime::Handle, time::timeout};

use crate::{
    Backend, Database,
    change::{Change, Write},
    dialect::{Dialects, values},
    sqlite::Sqlite,
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

/// Rows indexed in one commit: some 8 ms in which nothing else is stored. A process that is killed
/// again and again has to finish one.
const STEP: u32 = 200;
/// Most steps of one call.
const STEPS: usize = 10;
/// Wait of the first look, for what an earlier process left: a start has other work to do.
const FIRST: Duration = Duration::from_secs(2);
/// Wait between two looks, unless the writer asks before.
const PAUSE: Duration = Duration::from_secs(10);
/// Wait between two calls: other writes go first.
const BETWEEN: Duration = Duration::from_millis(50);

impl Sqlite {
    /// Indexes what has been stored so far, or some 2,000 memories of it. False if others are left.
    pub(crate) async fn index_terms(&self) -> Result<bool> {
        for _ in 0..STEPS {
            let behind = self.fetch_one::<(i64,)>(TERMS_BEHIND.with(values![])).await?;
            let behind = behind.map_or(0, |(behind,)| behind);
            if behind == 0 {
                return Ok(true);
            }
            self.known.note_indexed();
            let statements =
                [INDEX_TERMS, TERMS_PROGRESS].map(|step| step.with(values![STEP])).into();
            let mut change = Change::default();
            change.push(Write::Other { statements, counted: None })?;
            self.write(change).await?;
            // What came meanwhile is left for the next call: a step for a few rows costs as much as
            // one for hundreds.
            if behind <= i64::from(STEP) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Database {
    /// Indexes memories while nothing waits for it, until the last handle is gone.
    pub(crate) fn index_in_background(&self) {
        let (Backend::Sqlite(sqlite), Ok(runtime)) = (&self.0.backend, Handle::try_current())
        else {
            return;
        };
        let (wanted, store) = (Arc::clone(&sqlite.known.index_wanted), Arc::downgrade(&self.0));
        runtime.spawn(async move {
            let mut wait = FIRST;
            loop {
                // The time has passed, or the writer has asked: both are a reason to look.
                let _ = timeout(wait, wanted.notified()).await;
                let Some(inner) = store.upgrade() else { break };
                wait = match Self(inner).index_words().await {
                    Ok(true) => PAUSE,
                    Ok(false) => BETWEEN,
                    Err(failure) => {
                        tracing::debug!(error = %failure.report(), "failed to index memories; retrying in 10 s");
                        PAUSE
                    }
                };
            }
        });
    }
}

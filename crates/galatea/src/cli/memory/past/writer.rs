//! Stores the rows of a file, some in each commit, and tries those again that came too early.

use galatea_core::{AgentId, Store};

use super::{
    super::import::{Count, Import},
    batch::{Batch, Derivation, LeftOut},
};
use crate::failure::Result;

/// Most rows that wait for their sources. They take some 20 MB; what exceeds them is left out and
/// named.
const WAITING: usize = 20_000;

/// Stores the rows of a file for one agent.
pub(in super::super) struct Writer<'a> {
    store: &'a dyn Store,
    agent: AgentId,
    /// Rows are read and dropped.
    dry_run: bool,
    /// What was deleted is stored again.
    restore: bool,
    /// The rows of the next commit.
    pub(super) batch: Batch,
    /// What was made from memories that are not stored yet. A fact that was confirmed keeps its time,
    /// so the message that confirmed it comes later in an export.
    waiting: Vec<Derivation>,
    left_out: LeftOut,
}

impl<'a> Writer<'a> {
    pub(super) fn new(store: &'a dyn Store, agent: AgentId, wanted: &Import) -> Self {
        let Import { dry_run, deleted: restore, .. } = *wanted;
        let (batch, left_out) = (Batch::default(), LeftOut::default());
        Self { store, agent, dry_run, restore, batch, waiting: Vec::new(), left_out }
    }

    /// Stores the rows once there are as many as one commit takes; whether it did.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn advance(&mut self, count: &mut Count) -> Result<bool> {
        if !self.batch.is_full() {
            return Ok(false);
        }
        self.flush(count).await?;
        Ok(true)
    }

    /// Stores the rest at the end of the file.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn end(mut self, count: &mut Count) -> Result<()> {
        self.flush(count).await?;
        loop {
            let waiting = std::mem::take(&mut self.waiting);
            let before = waiting.len();
            for row in waiting {
                self.batch.add_derivation(row);
                self.advance(count).await?;
            }
            self.flush(count).await?;
            // One may have been made from another that waited, so as long as one is stored the others
            // are tried again.
            if self.waiting.len() == before {
                break;
            }
        }
        for row in self.waiting {
            count.refuse(row.line, &row.refusal(self.store, self.agent).await?);
        }
        Ok(())
    }

    async fn flush(&mut self, count: &mut Count) -> Result<()> {
        let mut batch = std::mem::take(&mut self.batch);
        if self.dry_run {
            return Ok(());
        }
        if !self.restore {
            let left_out = &mut self.left_out;
            batch.leave_out_deleted(self.store, self.agent, left_out, count).await?;
        }
        for row in batch.store(self.store, self.agent, count).await? {
            if self.waiting.len() < WAITING {
                self.waiting.push(row);
            } else {
                count.refuse(row.line, &row.refusal(self.store, self.agent).await?);
            }
        }
        Ok(())
    }
}

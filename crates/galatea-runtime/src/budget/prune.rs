//! Rows of the ledger that no cap and no report needs any more are deleted once a day.

use galatea_core::store::Day;
use std::sync::Arc;

use super::Budget;

/// Days of the ledger that are kept: the same month of the year before can be compared. Caps need
/// the present day only. A person who was not answered for so long counts as a stranger again.
const KEPT: i64 = 400;

impl Budget {
    /// Deletes old rows in the background, with the first turn of a day and after a start. A
    /// failure is tried again with the next turn.
    pub(super) fn prune_daily(self: &Arc<Self>) {
        let today = Day::of(self.clock.now());
        if self.pruned.lock().replace(today) == Some(today) {
            return;
        }
        let budget = Arc::clone(self);
        tokio::spawn(async move {
            match budget.store.prune_usage(budget.agent, Day(today.0 - KEPT)).await {
                Ok(0) => {}
                Ok(rows) => {
                    tracing::info!(agent = %budget.agent, rows, "deleted rows of the usage ledger that are older than {KEPT} days");
                }
                Err(error) => {
                    tracing::warn!(agent = %budget.agent, error = %error.report(), "failed to delete old rows of the usage ledger; the next turn tries again");
                    *budget.pruned.lock() = None;
                }
            }
        });
    }
}

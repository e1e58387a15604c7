//! TurnUsage: what model calls used and no commit has stored yet.

use crate::store::UsageRow;

/// Use of the model calls of a turn or of a service that no commit has stored yet. The engine
/// stores it with the turn and after the evaluators. Code that stores what a call returned stores
/// this in the same change, so that a crash does not lose the cost alone.
pub trait TurnUsage: Send + Sync {
    /// Takes the rows; the caller stores them, or returns them. Called by plugin code that commits
    /// something of its own, right before its commit.
    fn take(&self) -> Vec<UsageRow>;
    /// Returns rows that were not stored. Called when that commit failed.
    fn put_back(&self, rows: Vec<UsageRow>);
}

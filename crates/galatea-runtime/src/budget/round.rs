//! News of admissions and calls of this process for the others, until it is told.

use galatea_core::{Result, store::Holder};
use std::collections::BTreeMap;
use tokio::sync::oneshot;

use super::ledger::SharedPlace;

/// News that waits for the next statement.
#[derive(Default)]
pub(super) struct Round {
    pub(super) waiting: Vec<Wish>,
    /// A task works on them.
    pub(super) busy: bool,
}

/// News and question of one admission or call.
pub(super) struct Wish {
    /// By how much it moves the pace of each holder; nothing for most.
    pub(super) holders: BTreeMap<Holder, i64>,
    /// It counts an answer.
    pub(super) counts: bool,
    /// Absent if the caller does not wait.
    pub(super) reply: Option<oneshot::Sender<Result<BTreeMap<Holder, SharedPlace>>>>,
}

//! What admissions and calls of this process have to tell the others, until it is told.

use galatea_core::{Result, store::Holder};
use std::collections::BTreeMap;
use tokio::sync::oneshot;

use super::ledger::SharedPlace;

/// What waits for the next statement.
#[derive(Default)]
pub(super) struct Round {
    pub(super) waiting: Vec<Wish>,
    /// A task works on them.
    pub(super) busy: bool,
}

/// What one admission or call tells and asks.
pub(super) struct Wish {
    /// By how much it moves the pace of each holder; nothing for most.
    pub(super) holders: BTreeMap<Holder, i64>,
    /// It counts an answer.
    pub(super) counts: bool,
    /// None where nothing is waited for.
    pub(super) reply: Option<oneshot::Sender<Result<BTreeMap<Holder, SharedPlace>>>>,
}

//! The audit: what became of every message, counted from the rows themselves.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{InboxItem, OutboxItem};
use crate::{
    error::Result,
    gap::Gap,
    ids::{Account, Source},
};

/// Account of one source: `received` is counted apart from the others, and equals their sum (G5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditLine {
    /// The platform that the counts are of.
    pub source: Source,
    /// Messages that were stored.
    pub received: u64,
    /// Answered: every part of the answer was delivered, or the answer was to say nothing.
    pub answered: u64,
    /// Answered, and parts of it are still on their way.
    pub answering: u64,
    /// Answered, and a part of it was not delivered or has an unknown outcome.
    pub undelivered: u64,
    /// Not answered, for a stated reason.
    pub skipped: u64,
    /// Too old when their turn came.
    pub expired: u64,
    /// Messages that were given up.
    pub dead: u64,
    /// Messages without a verdict yet.
    pub pending: u64,
}

impl AuditLine {
    /// G5: nothing is missing and nothing is counted twice.
    pub fn balances(&self) -> bool {
        self.received
            == self.answered
                + self.answering
                + self.undelivered
                + self.skipped
                + self.expired
                + self.dead
                + self.pending
    }
}

/// Findings of an audit besides the counts, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exceptions {
    /// Messages given up, or too old when their turn came.
    pub messages: Vec<InboxItem>,
    /// Parts not delivered, or with an unknown outcome.
    pub parts: Vec<OutboxItem>,
    /// Messages finished without a stated reason. There must be none.
    pub unexplained: Vec<InboxItem>,
    /// True when there are more than were asked for.
    pub more: bool,
}

/// A gap, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The platform that lost messages.
    pub source: Source,
    /// Our login on the platform.
    pub account: Account,
    /// The missing messages, and the reason.
    #[serde(flatten)]
    pub gap: Gap,
}

/// Counting what became of every message.
#[async_trait]
pub trait AuditStore: Send + Sync {
    /// Returns one line per source, counted in one snapshot. Called by `galatea audit`.
    async fn audit(&self) -> Result<Vec<AuditLine>>;
    /// Messages and parts that need attention: at most `limit` of each kind. Called by `galatea
    /// audit` and status pages.
    async fn exceptions(&self, limit: u32) -> Result<Exceptions>;
    /// Gaps that cannot be read back any more, oldest first in each account.
    /// Called by `galatea audit` and status pages.
    async fn missing(&self) -> Result<Vec<Missing>>;
}

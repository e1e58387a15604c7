//! "Something new is stored", sent to other processes that share the store. A hint may get lost:
//! every process also polls the store, so a lost hint costs a pause and never a message.

use std::fmt;
use tokio::sync::watch;

/// The kind of rows that are new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hint {
    /// A message that another process answers.
    Inbox,
    /// A part of an answer that another process sends.
    Outbox,
    /// New words of a message that another process may be answering.
    Edits,
    /// An event for subscribers in other processes.
    Events,
    /// A process joins or leaves, or a lease becomes free.
    Members,
}

impl Hint {
    /// Every kind of hint, for a bus that subscribes to all.
    pub const ALL: [Self; 5] =
        [Self::Inbox, Self::Outbox, Self::Edits, Self::Events, Self::Members];

    /// Its name in a notification.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inbox => "inbox",
            Self::Outbox => "outbox",
            Self::Edits => "edits",
            Self::Events => "events",
            Self::Members => "members",
        }
    }

    /// The hint with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hint| hint.as_str() == name)
    }
}

/// A bus for hints. Delivery at most once is enough.
pub trait Hints: fmt::Debug + Send + Sync {
    /// True if hints arrive now; otherwise each process has to poll more often. Called before each
    /// pause of a poll.
    fn is_up(&self) -> bool;

    /// Tells the other processes. Returns at once, without a sign of whether it arrived; several
    /// may arrive as one. Called after each commit that another process may wait for.
    fn notify(&self, hint: Hint);

    /// Changes when another process has sent this hint, or may have sent it while the connection
    /// was down. Called once by each task that polls.
    fn heard(&self, hint: Hint) -> watch::Receiver<u64>;
}

/// A bus for a process that is alone: hints reach this process only.
#[derive(Debug, Default)]
pub struct NoHints(watch::Sender<u64>);

impl Hints for NoHints {
    fn is_up(&self) -> bool {
        false
    }

    fn notify(&self, _: Hint) {}

    fn heard(&self, _: Hint) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

//! State of a message in the inbox.

use serde::{Deserialize, Serialize};

/// State of an inbox row: `new` → one of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InboxState {
    /// No turn has finished it yet.
    New,
    /// A turn answered it.
    Done,
    /// Not answered, for a stated reason.
    Skipped,
    /// Too old when its turn came.
    Expired,
    /// Turns failed for it until it was given up.
    Dead,
}

impl InboxState {
    /// The spelling in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Done => "done",
            Self::Skipped => "skipped",
            Self::Expired => "expired",
            Self::Dead => "dead",
        }
    }
    /// Reads the stored spelling.
    pub fn from_stored(text: &str) -> Option<Self> {
        [Self::New, Self::Done, Self::Skipped, Self::Expired, Self::Dead]
            .into_iter()
            .find(|s| s.as_str() == text)
    }
}

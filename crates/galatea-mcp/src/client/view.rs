//! State of a server, for people.

use serde::{Deserialize, Serialize};

/// State of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerView {
    /// Its name in the configuration.
    pub name: String,
    /// The state it is in.
    pub phase: Phase,
    /// In words: why it is in this state, and what to do.
    pub detail: String,
    /// Number of tools that are offered.
    pub offered: usize,
    /// Number of tools that wait for its owner's approval.
    pub waiting: usize,
    /// What the kernel does not enforce of its limits; none if everything is, or it has no process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_enforced: Option<String>,
}

/// The state a server is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Its configuration says that it is not used.
    Disabled,
    /// Its owner has not agreed to its command or address.
    NeedsApproval,
    /// Its owner has to sign in.
    NeedsSignIn,
    /// It is being connected for the first time, or again.
    Starting,
    /// It is connected.
    Ready,
    /// It could not be connected, and is tried again.
    Down,
    /// It was stopped.
    Stopped,
}

impl Phase {
    /// For people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::NeedsApproval => "needs approval",
            Self::NeedsSignIn => "needs sign-in",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Down => "down",
            Self::Stopped => "stopped",
        }
    }
}

//! What `/readyz` and `galatea status` report about a process.

use galatea_core::breaker::BreakerState;
use serde::{Deserialize, Serialize};

/// Answer of `/readyz`: whether the process can work, and the problems that prevent it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Readiness {
    /// No problem was found.
    pub(crate) ready: bool,
    /// Problems, the most severe first.
    pub(crate) reasons: Vec<Reason>,
    /// Every agent with its connectors.
    pub(crate) agents: Vec<AgentState>,
    /// The processes that share the database; `None` for a single process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cluster: Option<ClusterState>,
    /// Findings made while models were in use: names the provider does not have, answers from
    /// another model.
    #[serde(default)]
    pub(crate) remarks: Vec<Reason>,
    /// States of the circuit breakers of accounts and models.
    #[serde(default)]
    pub(crate) breakers: Vec<BreakerState>,
    /// Caps of money or tokens that are almost used up today.
    #[serde(default)]
    pub(crate) budgets: Vec<galatea_runtime::BudgetState>,
    pub(crate) version: String,
    pub(crate) pid: u32,
    /// In seconds, since the process started.
    pub(crate) uptime: u64,
    /// SQL statements since the process started.
    #[serde(default)]
    pub(crate) statements: u64,
    /// Rows written since the process started; SQLite only.
    #[serde(default)]
    pub(crate) rows: Option<u64>,
}

/// The processes that share a database, as this process sees them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClusterState {
    /// Number of live processes.
    pub(crate) alive: usize,
    /// How far the database clock is ahead of this machine's clock, in milliseconds. Negative if it
    /// is behind.
    pub(crate) skew_millis: i64,
    /// Conditions to check although all work is done: clocks that differ, processes with another
    /// version or configuration.
    pub(crate) notes: Vec<Note>,
}

/// A condition to check that does not prevent work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// Stable code.
    pub(crate) code: String,
    /// One sentence.
    pub(crate) message: String,
}

/// A problem that prevents work.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Reason {
    /// Subject: `connector`, `model`, `storage`, `cluster` or `process`.
    pub(crate) subject: String,
    /// Name of the affected agent; `None` if the problem affects the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// One sentence.
    pub(crate) message: String,
    /// Stable code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// What was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<String>,
    /// Where the setting comes from.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<String>,
    /// The next action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fix: Option<String>,
}

/// An agent in [`Readiness`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentState {
    pub(crate) name: String,
    /// Its model, such as `openai gpt-6.1-terra`.
    pub(crate) model: String,
    pub(crate) connectors: Vec<ConnectorState>,
}

/// A connector in [`Readiness`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConnectorState {
    pub(crate) source: String,
    pub(crate) account: String,
    /// `starting`, `elsewhere`, `up`, `degraded`, `retrying` or `down`.
    pub(crate) state: String,
    /// Details for people.
    pub(crate) detail: String,
}

//! What `/readyz` and `galatea status` report about a process.

use galatea_core::breaker::BreakerState;
use serde::{Deserialize, Serialize};

/// Answer of `/readyz`: whether the process can work, and the problems that prevent it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    /// No problem was found.
    pub ready: bool,
    /// Problems, the most severe first.
    pub reasons: Vec<Reason>,
    /// Every agent with its connectors.
    pub agents: Vec<AgentState>,
    /// The processes that share the database; `None` for a single process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterState>,
    /// Findings made while models were in use: names the provider does not have, answers from
    /// another model.
    #[serde(default)]
    pub remarks: Vec<Reason>,
    /// States of the circuit breakers of accounts and models.
    #[serde(default)]
    pub breakers: Vec<BreakerState>,
    /// Caps of money or tokens that are almost used up today.
    #[serde(default)]
    pub budgets: Vec<galatea_runtime::BudgetState>,
    /// States of the MCP servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<galatea_mcp::ServerView>,
    /// Version of the program.
    pub version: String,
    /// Process id.
    pub pid: u32,
    /// In seconds, since the process started.
    pub uptime: u64,
    /// SQL statements since the process started.
    #[serde(default)]
    pub statements: u64,
    /// Rows written since the process started; SQLite only.
    #[serde(default)]
    pub rows: Option<u64>,
}

/// The processes that share a database, as this process sees them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterState {
    /// Number of live processes.
    pub alive: usize,
    /// How far the database clock is ahead of this machine's clock, in milliseconds. Negative if it
    /// is behind.
    pub skew_millis: i64,
    /// Conditions to check although all work is done: clocks that differ, processes with another
    /// version or configuration.
    pub notes: Vec<Note>,
}

/// A condition to check that does not prevent work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Stable code.
    pub code: String,
    /// One sentence.
    pub message: String,
}

/// A problem that prevents work.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reason {
    /// Subject: `connector`, `model`, `storage`, `cluster` or `process`.
    pub subject: String,
    /// Name of the affected agent; `None` if the problem affects the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// One sentence.
    pub message: String,
    /// Stable code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Where the setting comes from.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The next action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// An agent in [`Readiness`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentState {
    /// Name of the agent.
    pub name: String,
    /// Its model, such as `openai gpt-6.1-terra`.
    pub model: String,
    /// Its connectors.
    pub connectors: Vec<ConnectorState>,
    /// The services of its plugins.
    #[serde(default)]
    pub services: Vec<galatea_runtime::ServiceInfo>,
}

/// A connector in [`Readiness`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectorState {
    /// The platform.
    pub source: String,
    /// The account on the platform.
    pub account: String,
    /// `starting`, `elsewhere`, `up`, `degraded`, `retrying` or `down`.
    pub state: String,
    /// Details for people.
    pub detail: String,
}

//! Summary of an agent for people: its model, its platforms, and remarks about both.

use galatea_core::AgentId;

use crate::{models::watch::ModelHealth, report::Trouble};

/// Summary of one agent, for the banner and `/readyz`.
#[derive(Clone)]
pub struct AgentSummary {
    /// Id of the agent.
    pub id: AgentId,
    /// Name of its character.
    pub name: String,
    /// The model's name for people.
    pub model: String,
    /// Health of its models.
    pub health: ModelHealth,
    /// Remarks about its models and settings, for people.
    pub notes: Vec<String>,
    /// Title and state of each platform.
    pub platforms: Vec<(String, PlatformState)>,
    /// Why the agent does not answer on some platforms.
    pub no_answer: Option<Trouble>,
    /// What the character asks for and this program does not have.
    pub missing: Option<String>,
}

/// State of a platform for one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlatformState {
    /// Connected, and messages are answered.
    On,
    /// Connected, but messages are not answered.
    WithoutModel,
    /// Not connected, with the reason.
    Off(String),
}

//! Settings and characters that operators changed: they stand in the database, beside the files.

use async_trait::async_trait;
use serde_json::Value;

use crate::{clock::Timestamp, error::Result, ids::AgentId};

/// A setting that an operator set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSetting {
    /// Only of this agent; none for all agents.
    pub agent: Option<AgentId>,
    /// Its name.
    pub name: String,
    /// Its value; of a secret sealed.
    pub value: String,
    /// The value is sealed.
    pub sealed: bool,
    /// Time of its last change.
    pub at: Timestamp,
    /// Who changed it.
    pub by: String,
}

/// A version of a character.
#[derive(Debug, Clone, PartialEq)]
pub struct CharacterVersion {
    /// The agent.
    pub agent: AgentId,
    /// Its number, from 1.
    pub version: i64,
    /// Time at which it was stored.
    pub at: Timestamp,
    /// Who stored it.
    pub by: String,
    /// It was read from the character's file at a start.
    pub from_file: bool,
    /// Digest of the file as it was then; none for an agent without a file.
    pub file: Option<String>,
    /// The character, without secrets.
    pub body: Value,
}

/// Settings and characters in the database. Called by the control plane, its commands, and at the start.
#[async_trait]
pub trait SettingStore: Send + Sync {
    /// Every stored setting, by agent and name.
    async fn stored_settings(&self) -> Result<Vec<StoredSetting>>;
    /// Adds a setting, or replaces the one of the same agent and name.
    async fn save_setting(&self, setting: &StoredSetting) -> Result<()>;
    /// Removes a setting: those of the other sources count again. False if there was none.
    async fn remove_setting(&self, agent: Option<AgentId>, name: &str) -> Result<bool>;
    /// Versions of a character before a number, newest first.
    async fn character_versions(
        &self,
        agent: AgentId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<CharacterVersion>>;
    /// Adds the version after the newest one. False if another process stored that number meanwhile.
    async fn add_character_version(&self, version: &CharacterVersion) -> Result<bool>;
    /// Agents that were created by operators and have no file, in the order of their ids.
    async fn created_agents(&self) -> Result<Vec<AgentId>>;
    /// Notes that an agent was created by an operator, or is not there any more.
    async fn set_created(&self, agent: AgentId, created: bool) -> Result<()>;
}

//! A stored message, fact or document.

pub mod derived;
pub mod fact;
pub mod visibility;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    clock::Timestamp,
    content::Content,
    ids::{AgentId, EntityId, MemoryId, RoomId, WorldId},
};

/// A stored message, fact or document. JSON names are elizaOS's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// For platform messages derived from the platform's id, else fresh.
    pub id: MemoryId,
    /// The table of elizaOS that it belongs to.
    #[serde(rename = "type")]
    pub kind: MemoryKind,
    /// The agent that remembers it; other agents never see it.
    pub agent_id: AgentId,
    /// Author: a person, or the agent itself.
    pub entity_id: EntityId,
    /// The Room it belongs to.
    pub room_id: RoomId,
    /// The World of the Room; none for elizaOS's memories without one.
    pub world_id: Option<WorldId>,
    /// Text, attachments and what it answers.
    pub content: Content,
    /// Free keys; `trust`, `sourceId`, `tags`, …
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// Time it was said, by the platform's clock, in milliseconds since 1970. An answer of the
    /// agent has the time of the newest message that it answers. Messages of a Room with equal
    /// times are in the order of their commits.
    pub created_at: Timestamp,
}

/// Sort of a memory (the memory tables of elizaOS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryKind {
    /// A message, ours or theirs.
    Messages,
    /// Result of an action of the agent.
    ActionResult,
    /// A statement that an evaluator learnt from messages.
    Facts,
    /// A document of the agent's knowledge: its title and record, without its text.
    Documents,
    /// A piece of a document, which is what searches find.
    Fragments,
    /// Summary of a room.
    Summaries,
    /// Profile of a person in a World.
    Profiles,
    /// Whatever plugins keep; the engine does not read it.
    Custom,
}

impl MemoryKind {
    /// The spelling in the database and in exports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::ActionResult => "action_result",
            Self::Facts => "facts",
            Self::Documents => "documents",
            Self::Fragments => "fragments",
            Self::Summaries => "summaries",
            Self::Profiles => "profiles",
            Self::Custom => "custom",
        }
    }

    /// Reads the stored spelling; unknown ones are `Custom`.
    pub fn from_stored(text: &str) -> Self {
        match text {
            "messages" => Self::Messages,
            "action_result" => Self::ActionResult,
            "facts" => Self::Facts,
            "documents" => Self::Documents,
            "fragments" => Self::Fragments,
            "summaries" => Self::Summaries,
            "profiles" => Self::Profiles,
            _ => Self::Custom,
        }
    }
}

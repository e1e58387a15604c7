//! How two entities are connected.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    clock::Timestamp,
    ids::{AgentId, EntityId, RelationshipId},
};

/// A directed tie between two entities; unique per (agent, source, target).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Relationship {
    /// Its id.
    pub id: RelationshipId,
    /// Who knows of it.
    pub agent_id: AgentId,
    /// From whom.
    pub source_entity_id: EntityId,
    /// The person at the other end.
    pub target_entity_id: EntityId,
    /// Words for it, such as `friend`.
    pub tags: Vec<String>,
    /// Free keys; `interactions` counts.
    pub metadata: Map<String, Value>,
}

/// Two entities that are one person for an agent: the person said so on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdentityLink {
    /// One of them.
    pub entity_id: EntityId,
    /// The other.
    pub linked_id: EntityId,
    /// Since when.
    pub linked_at: Timestamp,
}

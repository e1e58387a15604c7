//! Connection of two entities.

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
    /// Id of the row.
    pub id: RelationshipId,
    /// Audience.
    pub agent_id: AgentId,
    /// The person at whom the tie begins.
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
    /// First of the two linked people.
    pub entity_id: EntityId,
    /// The other one.
    pub linked_id: EntityId,
    /// Time at which both sides had confirmed.
    pub linked_at: Timestamp,
}

//! World: a server, workspace or chat container.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use crate::ids::{AgentId, EntityId, RemoteId, Source, WorldId};

/// A server, workspace or chat container as one agent sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct World {
    /// Derived from the platform's id.
    pub id: WorldId,
    /// The agent it belongs to.
    pub agent_id: AgentId,
    /// Platform.
    pub source: Source,
    /// The platform's id of it.
    pub remote: RemoteId,
    /// Its name there.
    pub name: String,
    /// Owner, roles and the rest.
    pub metadata: WorldMetadata,
}

impl World {
    /// elizaOS `messageServerId`: the plain, unswizzled hash of the platform's id.
    pub fn message_server_id(&self) -> uuid::Uuid {
        crate::ids::uuid_of(self.remote.as_str())
    }
}

/// elizaOS world metadata: `ownership.ownerId`, `roles`, and free keys.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WorldMetadata {
    /// Who owns it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ownership: Option<Ownership>,
    /// Roles of entities that have one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<EntityId, Role>,
    /// Anything else.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// elizaOS `ownership`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ownership {
    /// The owner.
    pub owner_id: EntityId,
}

/// A right within a World, from most to least.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Role {
    /// No special right.
    None,
    /// May change settings and mute.
    Admin,
    /// Owns the place.
    Owner,
}

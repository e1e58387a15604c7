//! Entity and Participant: anyone who speaks, and an entity in a room.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{AgentId, EntityId, RoomId};

/// Anyone who speaks, as one agent knows them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entity {
    /// Derived from the platform's id.
    pub id: EntityId,
    /// The agent that knows them.
    pub agent_id: AgentId,
    /// Display name first, then handle and older names.
    pub names: Vec<String>,
    /// Per platform: `{"telegram": {"id", "name", "userName"}}`, and free keys.
    pub metadata: Map<String, Value>,
}

impl Entity {
    /// The name to show: the first known, or a short form of the id.
    pub fn display_name(&self) -> String {
        self.names
            .iter()
            .find(|n| !n.is_empty())
            .cloned()
            .unwrap_or_else(|| format!("someone-{}", &self.id.to_string()[..8]))
    }

    /// The names by which others ask for it now: what is shown, and the handle. Older names are left
    /// out, since another person may have them by now.
    pub fn called(&self) -> impl Iterator<Item = (EntityId, &str)> {
        self.names.iter().take(2).map(|name| (self.id, name.as_str()))
    }
}

/// An entity in a room. Unique per (entity, room).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Participant {
    /// The person who takes part.
    pub entity_id: EntityId,
    /// The Room they take part in.
    pub room_id: RoomId,
    /// Followed or muted; the agent's own participant carries the room's switch.
    pub state: Option<ParticipantState>,
}

/// Whether the agent follows a Room or is muted there (elizaOS participant state).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum ParticipantState {
    /// The agent answers here without being addressed.
    Followed,
    /// The agent is silent here.
    Muted,
}

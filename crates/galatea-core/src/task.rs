//! Work to be done later or again and again.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    clock::Timestamp,
    ids::{AgentId, EntityId, RoomId, TaskId, WorldId},
};

/// elizaOS task: tag `queue` is picked up by the task worker, `repeat` with `updateInterval`
/// recurs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// The agent that has to do it.
    pub agent_id: AgentId,
    /// Which worker runs it.
    pub name: String,
    /// What is to be done, in words for people.
    pub description: String,
    /// Room it concerns.
    pub room_id: Option<RoomId>,
    /// World it concerns.
    pub world_id: Option<WorldId>,
    /// Entity it concerns.
    pub entity_id: Option<EntityId>,
    /// Labels.
    pub tags: Vec<String>,
    /// Free keys; `updateInterval` in milliseconds.
    pub metadata: Map<String, Value>,
    /// Not before.
    pub due: Timestamp,
}

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
    /// Id of the row.
    pub id: TaskId,
    /// The agent that has to do it.
    pub agent_id: AgentId,
    /// Worker that runs it.
    pub name: String,
    /// The work, in words for people.
    pub description: String,
    /// The Room it concerns; none for a task without a place.
    pub room_id: Option<RoomId>,
    /// The World it concerns; none for a task without a place.
    pub world_id: Option<WorldId>,
    /// The person it concerns; none for a task without one.
    pub entity_id: Option<EntityId>,
    /// Labels by which plugins find their tasks.
    pub tags: Vec<String>,
    /// Free keys; `updateInterval` in milliseconds.
    pub metadata: Map<String, Value>,
    /// Earliest time at which it is done.
    pub due: Timestamp,
}

//! The small store traits and their sum. Stores take whole changes, so a transaction never leaks out of them.

use async_trait::async_trait;
use serde_json::Value;

use crate::{
    clock::Timestamp,
    entity::{Entity, Participant, ParticipantState},
    error::Result,
    ids::{AgentId, EntityId, RoomId, TaskId, WorldId},
    relationship::Relationship,
    room::Room,
    task::Task,
    world::World,
};

mod audit;
mod change;
mod embedding;
mod event;
mod inbox;
mod lease;
mod memory;
mod outbox;
mod step;
mod turn;

pub use audit::{AuditLine, AuditStore, Exceptions, Missing};
pub use change::{ConnectionChange, Effect, EntityChange, RoomChange, WorldChange};
pub use embedding::{EmbeddingStore, LikenessQuery};
pub use event::{EventPosition, EventStore};
pub use inbox::{Envelope, InHand, InboxEntry, InboxItem, InboxState, InboxStore, Ingest};
pub use lease::{Fence, Group, Lease, LeaseStatus, LeaseStore, Member, Membership, Part, ROOM_PARTS, Role, fair_share, room_part};
pub use memory::{MemoryQuery, MemoryStore};
pub use outbox::{OutboxItem, OutboxQuery, OutboxState, OutboxStore, Resolution, Settlement};
pub use step::{Step, StepStore};
pub use turn::{FinishedMessage, NewDelivery, TurnRecord};

/// Everything a store can do. Blanket implementation; no methods of its own.
pub trait Store:
    AgentStore
    + WorldStore
    + RoomStore
    + EntityStore
    + MemoryStore
    + EmbeddingStore
    + RelationshipStore
    + TaskStore
    + CacheStore
    + InboxStore
    + OutboxStore
    + StepStore
    + AuditStore
    + LeaseStore
    + EventStore
{
}
impl<T> Store for T where
    T: AgentStore
        + WorldStore
        + RoomStore
        + EntityStore
        + MemoryStore
        + EmbeddingStore
        + RelationshipStore
        + TaskStore
        + CacheStore
        + InboxStore
        + OutboxStore
        + StepStore
        + AuditStore
        + LeaseStore
        + EventStore
{
}

/// Agents.
#[async_trait]
pub trait AgentStore: Send + Sync {
    /// Inserts or replaces an agent. Secrets are not part of the serialised character.
    async fn save_agent(&self, id: AgentId, character: &crate::character::Character) -> Result<()>;
    /// Every agent ever saved: id and name.
    async fn agents(&self) -> Result<Vec<(AgentId, String)>>;
}

/// Worlds.
#[async_trait]
pub trait WorldStore: Send + Sync {
    /// One World.
    async fn world(&self, id: WorldId) -> Result<Option<World>>;
    /// Every World of an agent, by name.
    async fn worlds(&self, agent: AgentId) -> Result<Vec<World>>;
    /// Inserts or replaces.
    async fn save_world(&self, world: &World) -> Result<()>;
}

/// Rooms and who is in them.
#[async_trait]
pub trait RoomStore: Send + Sync {
    /// One Room.
    async fn room(&self, id: RoomId) -> Result<Option<Room>>;
    /// Every Room of a World.
    async fn rooms(&self, world: WorldId) -> Result<Vec<Room>>;
    /// Inserts or replaces.
    async fn save_room(&self, room: &Room) -> Result<()>;
    /// Who is in a Room.
    async fn participants(&self, room: RoomId) -> Result<Vec<Participant>>;
    /// State of an entity in a room; none if it is not a participant or has no state.
    async fn participant_state(&self, room: RoomId, entity: EntityId) -> Result<Option<ParticipantState>>;
    /// Sets or clears a state; inserts the participant if missing.
    async fn set_participant_state(&self, room: RoomId, entity: EntityId, state: Option<ParticipantState>) -> Result<()>;
    /// Removes participants.
    async fn remove_participants(&self, room: RoomId, entities: &[EntityId]) -> Result<()>;
}

/// Entities.
#[async_trait]
pub trait EntityStore: Send + Sync {
    /// Those of `ids` that exist.
    async fn entities(&self, ids: &[EntityId]) -> Result<Vec<Entity>>;
    /// Every entity in a room.
    async fn entities_in_room(&self, room: RoomId) -> Result<Vec<Entity>>;
    /// Inserts or replaces.
    async fn save_entity(&self, entity: &Entity) -> Result<()>;
}

/// Relationships.
#[async_trait]
pub trait RelationshipStore: Send + Sync {
    /// Inserts, or replaces the one of the same (agent, source, target).
    async fn save_relationship(&self, relationship: &Relationship) -> Result<()>;
    /// Those from or to an entity.
    async fn relationships(&self, agent: AgentId, entity: EntityId) -> Result<Vec<Relationship>>;
}

/// Tasks.
#[async_trait]
pub trait TaskStore: Send + Sync {
    /// Inserts or replaces.
    async fn save_task(&self, task: &Task) -> Result<()>;
    /// Tasks of an agent due at or before `now`, oldest first.
    async fn due_tasks(&self, agent: AgentId, now: Timestamp) -> Result<Vec<Task>>;
    /// Tasks of an agent carrying every one of these tags.
    async fn tasks(&self, agent: AgentId, tags: &[String]) -> Result<Vec<Task>>;
    /// Removes a task; false when there was none.
    async fn delete_task(&self, agent: AgentId, id: TaskId) -> Result<bool>;
}

/// Small values by key, per agent.
#[async_trait]
pub trait CacheStore: Send + Sync {
    /// A value that has not expired.
    async fn cached(&self, agent: AgentId, key: &str, now: Timestamp) -> Result<Option<Value>>;
    /// Sets a value.
    async fn cache(&self, agent: AgentId, key: &str, value: &Value, expires: Option<Timestamp>) -> Result<()>;
    /// Removes a value.
    async fn forget(&self, agent: AgentId, key: &str) -> Result<()>;
}

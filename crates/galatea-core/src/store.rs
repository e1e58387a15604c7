//! The small store traits and their sum. Stores take whole changes, so a transaction never leaks
//! out of them.

use async_trait::async_trait;
use serde_json::Value;

use crate::{
    clock::Timestamp,
    entity::{Entity, Participant, ParticipantState},
    error::{Error, ErrorKind, Result},
    ids::{AgentId, EntityId, RoomId, TaskId, WorldId},
    relationship::Relationship,
    room::Room,
    task::Task,
    world::World,
};

mod about;
mod audit;
mod change;
mod derived;
mod embedding;
mod event;
mod inbox;
mod inbox_state;
mod lease;
mod link;
mod memory;
mod outbox;
mod partition;
mod recall;
mod step;
mod turn;
mod usage;

pub use about::{About, AboutAgent, digest};
pub use audit::{AuditLine, AuditStore, Exceptions, Missing};
pub use change::{ConnectionChange, EntityChange, RequestedChange, RoomChange, WorldChange};
pub use derived::{DerivedChange, DerivedStore, Superseded};
pub use embedding::{EmbeddingClaim, EmbeddingStore, NewEmbedding, Unembedded};
pub use event::{EventPosition, EventStore};
pub use inbox::{
    ConnectorState, Envelope, InFlightRows, InboxEntry, InboxItem, InboxStore, Ingest, Ingested,
    Mutation,
};
pub use inbox_state::InboxState;
pub use lease::{
    Fence, Group, Lease, LeaseStatus, LeaseStore, Member, Membership, ProcessRole, Pulse,
    fair_share,
};
pub use link::LinkStore;
pub use memory::{MemoryQuery, MemoryStore};
pub use outbox::{OutboxItem, OutboxQuery, OutboxState, OutboxStore, Resolution, Settlement};
pub use partition::{Partition, ROOM_PARTITIONS, room_partition};
pub use recall::{MOST_RECALLED, Meaning, RecallQuery, RecallStore, Recalled};
pub use step::{Step, StepStore};
pub use turn::{FinishedMessage, NewDelivery, TurnRecord};
pub use usage::{
    Amount, Block, BlockKind, BlockStore, Day, Holder, Standing, UsageRow, UsageStore,
};

/// The part of a store that plugin code sees: memories, people and places, relationships, tasks,
/// and small values of its own. Queues, leases, the ledger and the journal are the engine's: plugin
/// code can neither settle a delivery nor claim a lease. Blanket implementation.
pub trait PluginStore:
    WorldStore
    + RoomStore
    + EntityStore
    + MemoryStore
    + EmbeddingStore
    + DerivedStore
    + RecallStore
    + RelationshipStore
    + TaskStore
    + PluginCache
{
}
impl<T> PluginStore for T where
    T: WorldStore
        + RoomStore
        + EntityStore
        + MemoryStore
        + EmbeddingStore
        + DerivedStore
        + RecallStore
        + RelationshipStore
        + TaskStore
        + PluginCache
{
}

/// Keys of [`CacheStore`] under which the engine keeps decisions of its own, such as who was
/// approved; each ends at a colon.
const ENGINE_KEYS: [&str; 8] =
    ["budget", "export", "first-account", "link", "pairing", "pause", "readiness", "window"];

/// Small values that plugin code keeps for an agent, by keys of its own.
#[async_trait]
pub trait PluginCache: Send + Sync {
    /// A value that has not expired.
    ///
    /// # Errors
    /// `Forbidden` for a key of the engine.
    async fn noted(&self, agent: AgentId, key: &str, now: Timestamp) -> Result<Option<Value>>;
    /// Sets a value.
    ///
    /// # Errors
    /// `Forbidden` for a key of the engine.
    async fn note(
        &self,
        agent: AgentId,
        key: &str,
        value: &Value,
        expires: Option<Timestamp>,
    ) -> Result<()>;
}

#[async_trait]
impl<T: CacheStore> PluginCache for T {
    async fn noted(&self, agent: AgentId, key: &str, now: Timestamp) -> Result<Option<Value>> {
        check_plugin_key(key)?;
        self.cached(agent, key, now).await
    }
    async fn note(
        &self,
        agent: AgentId,
        key: &str,
        value: &Value,
        expires: Option<Timestamp>,
    ) -> Result<()> {
        check_plugin_key(key)?;
        self.cache(agent, key, value, expires).await
    }
}

fn check_plugin_key(key: &str) -> Result<()> {
    let scope = key.split(':').next().unwrap_or_default();
    if !ENGINE_KEYS.contains(&scope) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Forbidden, "this key belongs to the engine")
        .with("key", key)
        .with_fix("begin the plugin's keys with the plugin's name"))
}

/// Everything a store can do. Blanket implementation; no methods of its own.
pub trait Store:
    PluginStore
    + AgentStore
    + CacheStore
    + InboxStore
    + OutboxStore
    + StepStore
    + AuditStore
    + LeaseStore
    + EventStore
    + LinkStore
    + UsageStore
    + BlockStore
{
}
impl<T> Store for T where
    T: PluginStore
        + AgentStore
        + CacheStore
        + InboxStore
        + OutboxStore
        + StepStore
        + AuditStore
        + LeaseStore
        + EventStore
        + LinkStore
        + UsageStore
        + BlockStore
{
}

/// Stores agents.
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
}

/// Rooms and who is in them.
#[async_trait]
pub trait RoomStore: Send + Sync {
    /// One Room.
    async fn room(&self, id: RoomId) -> Result<Option<Room>>;
    /// Every Room of a World.
    async fn rooms(&self, world: WorldId) -> Result<Vec<Room>>;
    /// Private Rooms that an agent has with a person, in the order of their ids. Called rarely: it
    /// may read every participant.
    async fn private_rooms(&self, agent: AgentId, person: EntityId) -> Result<Vec<Room>>;
    /// Who is in a Room.
    async fn participants(&self, room: RoomId) -> Result<Vec<Participant>>;
    /// State of an entity in a room; none if it is not a participant or has no state.
    async fn participant_state(
        &self,
        room: RoomId,
        entity: EntityId,
    ) -> Result<Option<ParticipantState>>;
    /// Sets or clears a state; inserts the participant if missing.
    async fn set_participant_state(
        &self,
        room: RoomId,
        entity: EntityId,
        state: Option<ParticipantState>,
    ) -> Result<()>;
}

/// Entities.
#[async_trait]
pub trait EntityStore: Send + Sync {
    /// Those of `ids` that exist.
    async fn entities(&self, ids: &[EntityId]) -> Result<Vec<Entity>>;
    /// Every entity in a room.
    async fn entities_in_room(&self, room: RoomId) -> Result<Vec<Entity>>;
}

/// Most entities of one person: an account on each platform, and some to spare.
pub const MOST_LINKED: usize = 6;

/// Relationships, and which entities are one person.
#[async_trait]
pub trait RelationshipStore: Send + Sync {
    /// Inserts, or replaces the one of the same (agent, source, target).
    async fn save_relationship(&self, relationship: &Relationship) -> Result<()>;
    /// Those from or to an entity.
    async fn relationships(&self, agent: AgentId, entity: EntityId) -> Result<Vec<Relationship>>;
    /// The other entities that are the same person for this agent, in the order of their ids: those
    /// that the person linked on both sides. Read afresh where it decides what may be seen, since
    /// the person may end the link at any moment, in another process too.
    async fn linked(&self, agent: AgentId, entity: EntityId) -> Result<Vec<EntityId>>;
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
    async fn cache(
        &self,
        agent: AgentId,
        key: &str,
        value: &Value,
        expires: Option<Timestamp>,
    ) -> Result<()>;
    /// Removes a value.
    async fn forget(&self, agent: AgentId, key: &str) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_cannot_touch_the_engines_keys() {
        for key in ["pairing:approved:1", "pause:x", "window:m", "budget:warned:a", "pairing"] {
            assert_eq!(check_plugin_key(key).unwrap_err().kind(), ErrorKind::Forbidden, "{key}");
        }
        for key in ["relationships", "reflection:1", "pairings:1", "my-plugin:pairing:1", ""] {
            check_plugin_key(key).unwrap();
        }
    }
}

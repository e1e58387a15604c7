//! The small store traits and their sum. Stores take whole changes, so a transaction never leaks
//! out of them.

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

mod about;
mod audit;
mod change;
mod channel;
mod chat;
mod console;
mod derived;
mod embedding;
mod event;
#[doc(hidden)]
pub mod export;
mod forget;
mod grant;
#[doc(hidden)]
pub mod hint;
mod house;
mod inbox;
mod inbox_state;
mod lease;
mod link;
mod live;
mod memory;
pub mod mentioned;
mod outbox;
mod partition;
mod plugin_cache;
#[doc(hidden)]
pub mod question_models;
mod recall;
mod record;
#[doc(hidden)]
pub mod shared_breaker;
mod step;
mod stored_setting;
pub mod task;
mod task_queue;
mod trace;
mod turn;
mod usage;
mod webhook;

pub use change::RequestedChange;
pub use derived::{DerivedChange, DerivedStore, Superseded};
pub use embedding::{EmbeddingClaim, EmbeddingStore, NewEmbedding, OlderEmbeddings, Unembedded};
pub use inbox::Envelope;
pub use memory::{MemoryQuery, MemoryStore};
pub use plugin_cache::PluginCache;
pub use recall::{MOST_RECALLED, Meaning, RecallQuery, RecallStore, Recalled};
pub use task::{TaskQuery, TaskRun, TaskState};
pub use usage::{Amount, Day, UsageRow};

// Only the engine and the stores use these: connectors and plugins cannot reach them.
#[doc(hidden)]
pub use self::{
    about::{About, AboutAgent, digest},
    audit::{AuditLine, AuditStore, Exceptions, Missing},
    change::{ConnectionChange, EntityChange, RoomChange, WorldChange},
    channel::{CHANNELS_LISTED, Channel, ChannelMessage, ChannelServer, ChannelStore},
    chat::{ChatSession, ChatStore, Job, JobCount, JobState, SessionTimeout},
    console::{
        ConsoleStore, Counts, DeliveriesQuery, ListedRoom, MemoriesOf, Page, Place, TurnsQuery,
    },
    event::{EventPosition, EventStore},
    forget::ForgetStore,
    grant::GrantStore,
    house::{Credential, CredentialKind, HouseStore, OperatorRole, SecretDigest, User},
    inbox::{
        ConnectorState, InFlightRows, InboxEntry, InboxItem, InboxStore, Ingest, Ingested, Mutation,
    },
    inbox_state::InboxState,
    lease::{
        Fence, Group, Lease, LeaseStatus, LeaseStore, Member, Membership, ProcessRole, Pulse,
        fair_share,
    },
    link::LinkStore,
    live::{LIVE_KEPT, LiveEvent, LiveStore, MESSAGE_DECIDED, MESSAGE_SENT},
    outbox::{
        OpenAccount, OutboxItem, OutboxQuery, OutboxState, OutboxStore, Resolution, Settlement,
    },
    partition::{Partition, ROOM_PARTITIONS, room_partition},
    record::{KeptAnswer, RecordStore, RecordedChange},
    step::{JournalStep, StepStore},
    stored_setting::{CharacterVersion, SettingStore, StoredSetting},
    task_queue::{TaskCommit, TaskQueue},
    trace::{PromptBlock, StepKind, StepTexts, StepUse, Trace, TraceBounds, TraceStep, TraceStore},
    turn::{FinishedMessage, NewDelivery, TurnRecord},
    usage::{
        Block, BlockKind, BlockStore, Holder, SharedSum, SharedTotal, SharedUse, UsageStore,
        UsageTotal,
    },
    webhook::{Webhook, WebhookStore},
};

/// The part of a store that plugin code sees: memories, people and places, relationships and tasks.
/// Its small values are in [`PluginCache`]. Queues, leases, the ledger and the journal are the
/// engine's: plugin code can neither settle a delivery nor claim a lease. Blanket implementation.
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
{
}

/// Everything a store can do. Blanket implementation; no methods of its own.
#[doc(hidden)]
pub trait Store:
    PluginStore
    + AgentStore
    + CacheStore
    + InboxStore
    + OutboxStore
    + StepStore
    + TaskQueue
    + AuditStore
    + LeaseStore
    + EventStore
    + LinkStore
    + ForgetStore
    + UsageStore
    + BlockStore
    + GrantStore
    + ConsoleStore
    + HouseStore
    + RecordStore
    + LiveStore
    + ChannelStore
    + ChatStore
    + SettingStore
    + WebhookStore
    + TraceStore
{
}
impl<T> Store for T where
    T: PluginStore
        + AgentStore
        + CacheStore
        + InboxStore
        + OutboxStore
        + StepStore
        + TaskQueue
        + TaskQueue
        + AuditStore
        + LeaseStore
        + EventStore
        + LinkStore
        + ForgetStore
        + UsageStore
        + BlockStore
        + GrantStore
        + ConsoleStore
        + HouseStore
        + RecordStore
        + LiveStore
        + ChannelStore
        + ChatStore
        + SettingStore
        + WebhookStore
        + TraceStore
{
}

/// The agents that have used this store.
#[doc(hidden)]
#[async_trait]
pub trait AgentStore: Send + Sync {
    /// Inserts or replaces an agent. Secrets are not part of the serialised character. Called when
    /// an agent is created, before it starts.
    async fn save_agent(&self, id: AgentId, character: &crate::character::Character) -> Result<()>;
    /// Every agent ever saved: id and name. Called by commands and status pages.
    async fn agents(&self) -> Result<Vec<(AgentId, String)>>;
    /// The agents with a World that does not keep its messages for ever. Called by the hourly pass that
    /// deletes old messages.
    async fn agents_with_retention(&self) -> Result<Vec<AgentId>>;
    /// Deletes what an agent remembers: memories with what was made of them, people, places, links,
    /// tasks, small values, and what waits in its queues. What it spent, who is blocked and how far
    /// its accounts were read stay, unless it is erased as a `whole`. Gives how many memories were
    /// deleted. Called while the agent does not run, by a reset and for an ephemeral agent.
    async fn clear_agent(&self, id: AgentId, whole: bool) -> Result<u64>;
}

/// Reads Worlds. They are written with a batch ([`ConnectionChange`]) or a turn.
#[async_trait]
pub trait WorldStore: Send + Sync {
    /// The World of this id; none if no message came from there yet. Called when a Room is read
    /// that is not in memory.
    async fn world(&self, id: WorldId) -> Result<Option<World>>;
    /// Every World of an agent, by name. Called by commands, exports and retention.
    async fn worlds(&self, agent: AgentId) -> Result<Vec<World>>;
}

/// Reads Rooms and who is in them.
#[async_trait]
pub trait RoomStore: Send + Sync {
    /// The Room of this id; none if no message came from there yet. Called for a message of a Room
    /// that is not in memory.
    async fn room(&self, id: RoomId) -> Result<Option<Room>>;
    /// Every Room of a World. Called by commands, exports and plugins.
    async fn rooms(&self, world: WorldId) -> Result<Vec<Room>>;
    /// Rooms of an agent in which a person takes part, in the order of their ids. Called rarely, by
    /// commands and warnings: it may read every participant.
    async fn rooms_of(&self, agent: AgentId, person: EntityId) -> Result<Vec<Room>>;
    /// People who have spoken in a Room or joined it, as far as the platform says so. Called to
    /// find out whether a person may see a memory.
    async fn participants(&self, room: RoomId) -> Result<Vec<Participant>>;
    /// State of an entity in a room; none if it is not a participant or has no state. Called when a
    /// Room is read that is not in memory.
    async fn participant_state(
        &self,
        room: RoomId,
        entity: EntityId,
    ) -> Result<Option<ParticipantState>>;
}

/// Reads the people and bots that an agent has met.
#[async_trait]
pub trait EntityStore: Send + Sync {
    /// Entities of `ids` that exist; unknown ids are left out. Called by providers and commands.
    async fn entities(&self, ids: &[EntityId]) -> Result<Vec<Entity>>;
    /// Every participant of a Room, with names and metadata. Called by the provider that lists the
    /// people of a Room.
    async fn entities_in_room(&self, room: RoomId) -> Result<Vec<Entity>>;
    /// Participants of the Rooms of a World, each once, with names and metadata, at most `limit`. Called
    /// where a name is to mean a person ([`crate::mentioned`]).
    async fn entities_in_world(&self, world: WorldId, limit: u32) -> Result<Vec<Entity>>;
}

/// Most entities of one person: an account on each platform, and some to spare.
pub const MOST_LINKED: usize = 6;

/// Relationships, and which entities are one person.
#[async_trait]
pub trait RelationshipStore: Send + Sync {
    /// Inserts, or replaces the one of the same (agent, source, target). Called by evaluators.
    async fn save_relationship(&self, relationship: &Relationship) -> Result<()>;
    /// The agent's relationships that begin or end at an entity. Called by providers and exports.
    async fn relationships(&self, agent: AgentId, entity: EntityId) -> Result<Vec<Relationship>>;
    /// The other entities that are the same person for this agent, in the order of their ids: those
    /// that the person linked on both sides. Read afresh where it decides what may be seen, since
    /// the person may end the link at any moment, in another process too. Called for each search in
    /// a direct Room.
    async fn linked(&self, agent: AgentId, entity: EntityId) -> Result<Vec<EntityId>>;
}

/// Tasks: work that waits for a time, or for a person's choice.
#[async_trait]
pub trait TaskStore: Send + Sync {
    /// Inserts a task, or replaces the one of the same id. Called when a pairing code is made, and
    /// by plugins; other tasks are stored with a turn.
    async fn save_task(&self, task: &Task) -> Result<()>;
    /// Tasks of an agent carrying every one of these tags, the one due first before the others.
    /// Called when an action waits for a confirmation, when one is answered, and by plugins.
    async fn tasks(&self, agent: AgentId, tags: &[String]) -> Result<Vec<Task>>;
    /// A task by its id; none if it does not exist. Called by commands and by plugins.
    async fn task(&self, agent: AgentId, id: TaskId) -> Result<Option<Task>> {
        Ok(self.tasks(agent, &[]).await?.into_iter().find(|task| task.id == id))
    }
    /// Tasks of an agent that run by themselves, the one due first before the others, at most `limit`.
    /// Called by lists of reminders, and where their number is limited.
    async fn scheduled(&self, agent: AgentId, query: TaskQuery, limit: u32) -> Result<Vec<Task>> {
        let mut tasks = self.tasks(agent, &[]).await?;
        tasks.retain(|task| task.run.is_some() && query.selects(task));
        tasks.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(tasks)
    }
    /// Removes a task; false when there was none. Called when a code is used, and by plugins.
    async fn delete_task(&self, agent: AgentId, id: TaskId) -> Result<bool>;
}

/// Small values by key, per agent.
#[doc(hidden)]
#[async_trait]
pub trait CacheStore: Send + Sync {
    /// A value that has not expired. Called by the runtime, and by plugins through [`PluginCache`].
    async fn cached(&self, agent: AgentId, key: &str, now: Timestamp) -> Result<Option<Value>>;
    /// The same of several agents: those that have one. Called by the keeper of leases.
    async fn cached_of(
        &self,
        agents: &[AgentId],
        key: &str,
        now: Timestamp,
    ) -> Result<Vec<(AgentId, Value)>> {
        let mut found = Vec::new();
        for agent in agents {
            if let Some(value) = self.cached(*agent, key, now).await? {
                found.push((*agent, value));
            }
        }
        Ok(found)
    }
    /// Stores a value until `expires`, or until it is forgotten. The key is unique per agent.
    /// Called by the runtime, and by plugins through [`PluginCache`].
    async fn cache(
        &self,
        agent: AgentId,
        key: &str,
        value: &Value,
        expires: Option<Timestamp>,
    ) -> Result<()>;
    /// Replaces a value that is `seen`, or stores the first one if that is `None`; the new value lasts
    /// until it is forgotten. False, with nothing stored, if another process changed it meanwhile.
    /// Called by plugins through [`PluginCache`].
    async fn swap(
        &self,
        agent: AgentId,
        key: &str,
        seen: Option<&Value>,
        value: &Value,
    ) -> Result<bool>;
    /// Removes a value. Succeeds if it does not exist. Called by the runtime, and by plugins
    /// through [`PluginCache`].
    async fn forget(&self, agent: AgentId, key: &str) -> Result<()>;
}

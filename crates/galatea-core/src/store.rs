//! The small store traits and their sum. Stores take whole changes, so a transaction never leaks out of them.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    clock::Timestamp,
    content::Content,
    entity::{Entity, Participant, ParticipantState},
    error::Result,
    ids::{Account, AgentId, DeliveryId, EntityId, MemoryId, RemoteId, RoomId, Source, TaskId, TurnId, WorldId},
    memory::{Memory, MemoryKind},
    message::{Cursor, Delivery, Trail},
    relationship::Relationship,
    room::Room,
    task::Task,
    verdict::Verdict,
    world::World,
};

/// Everything a store can do. Blanket implementation; no methods of its own.
pub trait Store:
    AgentStore + WorldStore + RoomStore + EntityStore + MemoryStore + RelationshipStore + TaskStore + CacheStore + InboxStore + OutboxStore
{
}
impl<T> Store for T where
    T: AgentStore + WorldStore + RoomStore + EntityStore + MemoryStore + RelationshipStore + TaskStore + CacheStore + InboxStore + OutboxStore
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

/// Memories.
#[async_trait]
pub trait MemoryStore: Send + Sync {
    /// One memory.
    async fn memory(&self, id: MemoryId) -> Result<Option<Memory>>;
    /// Memories that match, newest first.
    async fn memories(&self, query: &MemoryQuery) -> Result<Vec<Memory>>;
    /// How many match (limit ignored).
    async fn count_memories(&self, query: &MemoryQuery) -> Result<u64>;
    /// Inserts; an id that exists is left as it is.
    async fn save_memories(&self, memories: &[Memory]) -> Result<()>;
    /// Replaces the content of a memory of this agent; false when there is none.
    async fn update_content(&self, agent: AgentId, id: MemoryId, content: &Content) -> Result<bool>;
    /// Removes memories of this agent; how many were there.
    async fn delete_memories(&self, agent: AgentId, ids: &[MemoryId]) -> Result<u64>;
}

/// Selects memories. Every query is scoped by agent.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryQuery {
    /// Whose.
    pub agent: AgentId,
    /// Sorts; all when empty.
    pub kinds: Vec<MemoryKind>,
    /// Where.
    pub room: Option<RoomId>,
    /// In which World.
    pub world: Option<WorldId>,
    /// By whom.
    pub entity: Option<EntityId>,
    /// At or after.
    pub since: Option<Timestamp>,
    /// Before.
    pub before: Option<Timestamp>,
    /// Words that must occur in the text (full-text, ranked by relevance instead of time).
    pub matching: Option<String>,
    /// At most this many.
    pub limit: u32,
}

impl MemoryQuery {
    /// Everything of an agent, at most `limit`.
    pub fn new(agent: AgentId, limit: u32) -> Self {
        Self { agent, kinds: Vec::new(), room: None, world: None, entity: None, since: None, before: None, matching: None, limit }
    }
    /// Of this sort.
    #[must_use]
    pub fn kind(mut self, kind: MemoryKind) -> Self {
        self.kinds.push(kind);
        self
    }
    /// In this room.
    #[must_use]
    pub fn room(mut self, room: RoomId) -> Self {
        self.room = Some(room);
        self
    }
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

/// Connections to set up or update: only what is new or changed. Applied in one transaction, rows merged field by field:
/// a name given replaces, a name missing keeps; metadata keys are merged; owner and roles are merged; participants are inserted if absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConnectionChange {
    /// Worlds.
    pub worlds: Vec<WorldChange>,
    /// Rooms.
    pub rooms: Vec<RoomChange>,
    /// Entities.
    pub entities: Vec<EntityChange>,
    /// Participants to insert if absent.
    pub participants: Vec<(EntityId, RoomId)>,
}

impl ConnectionChange {
    /// True when there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.worlds.is_empty() && self.rooms.is_empty() && self.entities.is_empty() && self.participants.is_empty()
    }

    /// Adds another change after this one.
    pub fn extend(&mut self, other: Self) {
        self.worlds.extend(other.worlds);
        self.rooms.extend(other.rooms);
        self.entities.extend(other.entities);
        self.participants.extend(other.participants);
    }
}

/// A World to insert or merge. `name: None` inserts the remote id as name and keeps a known one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorldChange {
    /// Id.
    pub id: WorldId,
    /// Agent.
    pub agent: AgentId,
    /// Platform.
    pub source: Source,
    /// Platform id.
    pub remote: RemoteId,
    /// Name, if told.
    pub name: Option<String>,
    /// Merged key by key (objects one level deep: `roles`, `ownership`).
    pub metadata: Map<String, Value>,
}

/// A Room to insert or merge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoomChange {
    /// Id.
    pub id: RoomId,
    /// Agent.
    pub agent: AgentId,
    /// World.
    pub world: WorldId,
    /// Parent, if told; a known one is kept.
    pub parent: Option<RoomId>,
    /// Platform.
    pub source: Source,
    /// Login.
    pub account: Account,
    /// Platform id.
    pub remote: RemoteId,
    /// Kind; replaces.
    pub kind: crate::room::ChannelType,
    /// Name, if told.
    pub name: Option<String>,
    /// Merged key by key.
    pub metadata: Map<String, Value>,
}

/// An Entity to insert or merge: names are put in front of those known, without repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntityChange {
    /// Id.
    pub id: EntityId,
    /// Agent.
    pub agent: AgentId,
    /// Newest names, display name first.
    pub names: Vec<String>,
    /// Merged key by key (objects one level deep).
    pub metadata: Map<String, Value>,
}

/// T1: what one batch of a connector writes, in one commit.
#[derive(Debug, Clone, Default)]
pub struct Ingest {
    /// Connections first.
    pub connections: ConnectionChange,
    /// Messages to store, each with its inbox row.
    pub messages: Vec<InboxEntry>,
    /// Other memories (joins, reactions) to store without a turn.
    pub memories: Vec<Memory>,
    /// The cursor, by (agent, source, account).
    pub cursor: Option<(AgentId, Source, Account, Cursor)>,
}

/// One message on its way into the inbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxEntry {
    /// The message; its id is the dedup key.
    pub memory: Memory,
    /// The id elizaOS would have given it: a memory of that id in the same room counts as the same message.
    pub legacy_id: Option<MemoryId>,
    /// Platform.
    pub source: Source,
    /// Login.
    pub account: Account,
    /// Platform id of the room.
    pub room_remote: RemoteId,
    /// Platform id of the message.
    pub remote: RemoteId,
    /// Everything the gate needs.
    pub envelope: Envelope,
}

/// What the gate needs to know of a message besides its memory; stored with the inbox row so that a restart decides the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Envelope {
    /// Addressed how.
    pub addressed: crate::message::Addressed,
    /// The speaker is a bot.
    pub from_bot: bool,
    /// The speaker is this account.
    pub from_self: bool,
    /// A command, if it is one.
    pub command: Option<crate::message::Command>,
    /// A pressed button's data, if it is one.
    pub pressed: Option<String>,
    /// Platform id of the speaker.
    pub entity_remote: Option<RemoteId>,
    /// Handle of the speaker.
    pub user_name: Option<String>,
    /// Platform id of the message replied to.
    pub reply_to: Option<RemoteId>,
}

/// An inbox row as read back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxItem {
    /// The entry.
    #[serde(flatten)]
    pub entry: InboxEntry,
    /// Its state.
    pub state: InboxState,
    /// Turns begun for it so far.
    pub attempts: u32,
    /// The turn that finished it.
    pub turn: Option<TurnId>,
    /// Why, once decided.
    pub verdict: Option<Verdict>,
    /// When it was stored.
    pub received_at: Timestamp,
    /// When it was finished.
    pub finished_at: Option<Timestamp>,
}

/// State of an inbox row: `new` → one of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InboxState {
    /// Not finished.
    New,
    /// Answered.
    Done,
    /// Not answered, for a stated reason.
    Skipped,
    /// Too old when its turn came.
    Expired,
    /// Given up.
    Dead,
}

impl InboxState {
    /// The stored spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Done => "done",
            Self::Skipped => "skipped",
            Self::Expired => "expired",
            Self::Dead => "dead",
        }
    }
    /// Reads the stored spelling.
    pub fn from_stored(text: &str) -> Option<Self> {
        [Self::New, Self::Done, Self::Skipped, Self::Expired, Self::Dead].into_iter().find(|s| s.as_str() == text)
    }
}

/// T2: everything a finished turn writes, in one commit.
#[derive(Debug, Clone)]
pub struct TurnRecord {
    /// The turn.
    pub turn: TurnId,
    /// Its agent.
    pub agent: AgentId,
    /// Its room.
    pub room: RoomId,
    /// Replies and action results to remember.
    pub memories: Vec<Memory>,
    /// Parts to send, in order.
    pub deliveries: Vec<NewDelivery>,
    /// Inbox rows this turn finishes.
    pub finished: Vec<FinishedMessage>,
    /// Changes actions asked for.
    pub effects: Vec<Effect>,
    /// Now.
    pub at: Timestamp,
}

/// An inbox row finished by a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedMessage {
    /// Which.
    pub id: MemoryId,
    /// How it ended.
    pub state: InboxState,
    /// Why.
    pub verdict: Verdict,
}

/// An outbox row to insert.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDelivery {
    /// What goes out.
    pub delivery: Delivery,
    /// The memory it shows.
    pub memory: Option<MemoryId>,
    /// Inserted as `sending` because its worker is about to send it; otherwise `pending`.
    pub sending: bool,
    /// Not sent after this time.
    pub expires: Option<Timestamp>,
}

/// A change an action or command asks for, applied in T2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Sets or clears a participant's state.
    SetParticipantState {
        /// Where.
        room: RoomId,
        /// Whose.
        entity: EntityId,
        /// To what.
        state: Option<ParticipantState>,
    },
    /// Merges keys into a room's metadata.
    MergeRoomMetadata {
        /// Which room.
        room: RoomId,
        /// Keys; null removes.
        metadata: Map<String, Value>,
    },
    /// Merges keys into an entity's metadata.
    MergeEntityMetadata {
        /// Whose.
        entity: EntityId,
        /// Keys; null removes.
        metadata: Map<String, Value>,
    },
    /// Sets a role in a World.
    SetRole {
        /// Where.
        world: WorldId,
        /// Whose.
        entity: EntityId,
        /// To what.
        role: crate::world::Role,
    },
}

/// The durable queue in, and turns.
#[async_trait]
pub trait InboxStore: Send + Sync {
    /// Sets up or updates connections.
    async fn connect(&self, change: ConnectionChange) -> Result<()>;
    /// T1. Returns for each message whether it is new; Ok means committed.
    async fn ingest(&self, ingest: Ingest) -> Result<Vec<bool>>;
    /// Messages not finished, oldest first, of one agent's account.
    async fn unfinished(&self, agent: AgentId, source: &Source, account: &Account, limit: u32) -> Result<Vec<InboxItem>>;
    /// Messages of one Room not finished, in the order they were stored: read back when a lane had to spill.
    async fn unfinished_in_room(&self, room: RoomId, limit: u32) -> Result<Vec<InboxItem>>;
    /// Counts a begun turn on these rows, so that a message that kills the process is given up in the end.
    async fn begin_turn(&self, ids: &[MemoryId]) -> Result<()>;
    /// T2. A turn is committed exactly once: rows finished already make it fail with `Conflict` and write nothing.
    async fn finish_turn(&self, record: TurnRecord) -> Result<()>;
    /// One inbox row.
    async fn inbox_item(&self, id: MemoryId) -> Result<Option<InboxItem>>;
    /// Rows by platform ids: the message's, and the room's when given. Newest first.
    async fn inbox_by_remote(&self, source: &Source, room: Option<&RemoteId>, message: &RemoteId) -> Result<Vec<InboxItem>>;
    /// How many rows are in each state, per source.
    async fn inbox_counts(&self) -> Result<Vec<(Source, InboxState, u64)>>;
    /// A stored cursor.
    async fn cursor(&self, agent: AgentId, source: &Source, account: &Account, stream: &str) -> Result<Option<Cursor>>;
}

/// An outbox row as read back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutboxItem {
    /// What goes out.
    pub delivery: Delivery,
    /// The memory it shows.
    pub memory: Option<MemoryId>,
    /// Its state.
    pub state: OutboxState,
    /// Not before.
    pub not_before: Timestamp,
    /// Not after.
    pub expires: Option<Timestamp>,
    /// The platform's id once sent.
    pub remote: Option<RemoteId>,
    /// Last failure, for people.
    pub error: Option<String>,
}

/// State of an outbox row: `pending` → `sending` → one of the others; back to `pending` for a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutboxState {
    /// Waits.
    Pending,
    /// Handed to the platform; after a crash its outcome is unknown.
    Sending,
    /// Delivered.
    Sent,
    /// Outcome unknown for good.
    Ambiguous,
    /// Too old to send.
    Expired,
    /// Given up.
    Dead,
}

impl OutboxState {
    /// The stored spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Ambiguous => "ambiguous",
            Self::Expired => "expired",
            Self::Dead => "dead",
        }
    }
    /// Reads the stored spelling.
    pub fn from_stored(text: &str) -> Option<Self> {
        [Self::Pending, Self::Sending, Self::Sent, Self::Ambiguous, Self::Expired, Self::Dead].into_iter().find(|s| s.as_str() == text)
    }
}

/// T4: what became of one delivery.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// Which row.
    pub id: DeliveryId,
    /// Its new state.
    pub state: OutboxState,
    /// Attempts made so far.
    pub attempt: u32,
    /// Not before, for a retry.
    pub not_before: Timestamp,
    /// The platform's id once sent.
    pub remote: Option<RemoteId>,
    /// Failure, for people.
    pub error: Option<String>,
}

/// The durable queue out.
#[async_trait]
pub trait OutboxStore: Send + Sync {
    /// Inserts parts that belong to no turn of the inbox (`send_message_to_target`, scheduled posts).
    async fn enqueue(&self, deliveries: Vec<NewDelivery>, memories: Vec<Memory>) -> Result<()>;
    /// T3 and T4 in groups.
    async fn settle(&self, settlements: Vec<Settlement>) -> Result<()>;
    /// Rows `pending` or `sending` of one agent's account, in order of commit.
    async fn unsettled(&self, agent: AgentId, source: &Source, account: &Account, limit: u32) -> Result<Vec<OutboxItem>>;
    /// Parts of one turn, in order.
    async fn deliveries_of(&self, turn: TurnId) -> Result<Vec<OutboxItem>>;
    /// One row.
    async fn outbox_item(&self, id: DeliveryId) -> Result<Option<OutboxItem>>;
    /// What is stored around a row, for the read-back of its outcome.
    async fn trail(&self, delivery: &Delivery) -> Result<Trail>;
    /// How many rows are in each state, per source.
    async fn outbox_counts(&self) -> Result<Vec<(Source, OutboxState, u64)>>;
    /// Moves a Room and its outbox to a new platform id, in one commit.
    async fn move_room(&self, room: RoomId, to_room: RoomId, to_remote: &RemoteId) -> Result<()>;
}

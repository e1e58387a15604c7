//! The durable queue in: what one batch stores (T1), and what a row reads like.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{ConnectionChange, Fence, InboxState, TurnRecord};
use crate::{
    clock::Timestamp,
    content::Content,
    error::Result,
    ids::{Account, AgentId, EntityId, MemoryId, RemoteId, RoomId, Source, TurnId},
    memory::Memory,
    message::{Addressed, Cursor},
    verdict::Verdict,
};

/// T1: what one batch of a connector writes, in one commit.
#[derive(Debug, Clone, Default)]
pub struct Ingest {
    /// Worlds, Rooms and people, stored before the messages that name them.
    pub connections: ConnectionChange,
    /// Messages to store, each with its inbox row.
    pub messages: Vec<InboxEntry>,
    /// Other memories (joins, reactions) to store without a turn.
    pub memories: Vec<Memory>,
    /// Changes of what is stored already, applied after the messages, in this order.
    pub mutations: Vec<Mutation>,
    /// The cursor, by (agent, source, account).
    pub cursor: Option<(AgentId, Source, Account, Cursor)>,
    /// Values of connectors' state.
    pub state: Vec<ConnectorState>,
    /// The lease under which the account is read, where several processes share the store: a
    /// process that lost it moves no cursor.
    pub fence: Option<Fence>,
}

/// A value of a connector's state.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectorState {
    /// The agent that has the account.
    pub agent: AgentId,
    /// The platform that the stream is of.
    pub source: Source,
    /// Our login on the platform.
    pub account: Account,
    /// The connector's own name for the value.
    pub key: String,
    /// The value; null removes the row.
    pub value: serde_json::Value,
}

/// A change of what is stored already, as a platform reports it in a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum Mutation {
    /// Replaces the content of a memory, as [`super::MemoryStore::update_content`] does.
    Edit {
        /// The agent that stored it.
        agent: AgentId,
        /// Our id of the edited message.
        memory: MemoryId,
        /// The whole content after the edit.
        content: Box<Content>,
    },
    /// Removes memories, as [`super::MemoryStore::delete_memories`] does.
    Delete {
        /// The agent that stored them.
        agent: AgentId,
        /// Our ids of the deleted messages.
        memories: Vec<MemoryId>,
    },
    /// Adds people to a Room.
    Join(ConnectionChange),
    /// Removes participants from a Room.
    Leave {
        /// The Room they left.
        room: RoomId,
        /// The people who are no longer in the Room.
        entities: Vec<EntityId>,
    },
    /// Moves a Room and its queues to a new platform id, as [`super::OutboxStore::move_room`] does.
    MoveRoom {
        /// The Room as it was.
        room: RoomId,
        /// The Room it becomes.
        to_room: RoomId,
        /// Its new platform id.
        to_remote: RemoteId,
    },
}

/// Changes of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ingested {
    /// For each message whether it is new.
    pub new: Vec<bool>,
    /// For each mutation whether it found a memory to change; true for those that change no memory.
    pub changed: Vec<bool>,
}

/// Rows in flight in a worker, which it does not ask for again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InFlightRows {
    /// These messages, each of them in a lane or a turn.
    pub messages: Vec<MemoryId>,
    /// Everything in these Rooms: more than memory holds. The process that owns the Room reads it
    /// back in its order.
    pub rooms: Vec<RoomId>,
}

/// A message on its way into the inbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxEntry {
    /// The message; its id is the dedup key.
    pub memory: Memory,
    /// The id elizaOS would have given it: a memory of that id in the same room counts as the same
    /// message.
    pub legacy_id: Option<MemoryId>,
    /// The platform that the message came from.
    pub source: Source,
    /// The login through which it came, and through which it is answered.
    pub account: Account,
    /// Platform id of the room.
    pub room_remote: RemoteId,
    /// Platform id of the message.
    pub remote: RemoteId,
    /// Everything the gate needs.
    pub envelope: Envelope,
}

/// Facts for the gate about a message besides its memory; stored with the inbox row so that a
/// restart decides the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Envelope {
    /// Mention of the agent, or reply to it.
    #[serde(skip_serializing_if = "Addressed::is_unaddressed")]
    pub addressed: Addressed,
    /// The speaker is a bot.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_bot: bool,
    /// The speaker is this account.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_self: bool,
    /// A command, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<crate::command::Command>,
    /// A pressed button's data, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressed: Option<String>,
    /// Platform id of the speaker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_remote: Option<RemoteId>,
    /// Handle of the speaker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_name: Option<String>,
    /// Platform id of the message replied to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<RemoteId>,
    /// The platform shows the speaker that an answer is coming.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub awaited: bool,
    /// The message whose edit asked this; the edit is skipped when that message was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit_of: Option<MemoryId>,
}

/// An inbox row as read back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxItem {
    /// The message and how it came.
    #[serde(flatten)]
    pub entry: InboxEntry,
    /// State of its processing.
    pub state: InboxState,
    /// Turns begun for it so far.
    pub attempts: u32,
    /// The turn that finished it.
    pub turn: Option<TurnId>,
    /// Why it was answered or not; none until the gate has decided.
    pub verdict: Option<Verdict>,
    /// Time of its storage.
    pub received_at: Timestamp,
    /// Time of its end.
    pub finished_at: Option<Timestamp>,
}

/// The durable queue in, and turns.
#[async_trait]
pub trait InboxStore: Send + Sync {
    /// Sets up or updates connections. Called for places without a message.
    async fn connect(&self, change: ConnectionChange) -> Result<()>;
    /// T1. Ok means committed. With a fence that no longer holds it fails with `Conflict` and
    /// writes nothing. Called for each batch of a connector.
    async fn ingest(&self, ingest: Ingest) -> Result<Ingested>;
    /// Messages not finished, oldest first, of one agent's account. Called when an account comes to
    /// this process, after a failed commit, and now and then while it is here.
    async fn unfinished(
        &self,
        agent: AgentId,
        source: &Source,
        account: &Account,
        limit: u32,
    ) -> Result<Vec<InboxItem>>;
    /// Every account with messages not finished, of all agents. One call of a process tells which of
    /// its agents have something to do. Called by each poll.
    async fn waiting_accounts(&self) -> Result<Vec<(AgentId, Source, Account)>>;
    /// Messages of one Room not finished, in the order they were stored: read back when a lane had
    /// to spill. Called by that lane.
    async fn unfinished_in_room(&self, room: RoomId, limit: u32) -> Result<Vec<InboxItem>>;
    /// Messages not finished of an agent's Rooms in these parts ([`super::room_partition`]) on
    /// these platforms, besides what is in flight, in the order they were stored: what a worker
    /// claims. Called after a hint, and by each poll.
    async fn unfinished_in_parts(
        &self,
        agent: AgentId,
        parts: &[u16],
        sources: &[Source],
        besides: &InFlightRows,
        limit: u32,
    ) -> Result<Vec<InboxItem>>;
    /// Storage time of the oldest message for which no turn has begun: how far the work is behind.
    /// Called by `galatea cluster`.
    async fn oldest_unstarted(&self) -> Result<Option<Timestamp>>;
    /// Counts a begun turn on these rows, so that a message that kills the process is given up in
    /// the end. Called for messages that were read back from the store.
    async fn begin_turn(&self, ids: &[MemoryId]) -> Result<()>;
    /// T2. A turn is committed exactly once: rows finished already, or a fence that no longer
    /// holds, make it fail with `Conflict` and write nothing. Called once per turn.
    async fn finish_turn(&self, record: TurnRecord) -> Result<()>;
    /// Returns an inbox row; none for an id that is not there. Called after a commit of unknown
    /// outcome, before a message is taken that may be finished, and by commands.
    async fn inbox_item(&self, id: MemoryId) -> Result<Option<InboxItem>>;
    /// Rows by platform ids: the message's, and the room's when given. Newest first. Called by
    /// `galatea explain`, and by `/block` in a reply.
    async fn inbox_by_remote(
        &self,
        source: &Source,
        room: Option<&RemoteId>,
        message: &RemoteId,
    ) -> Result<Vec<InboxItem>>;
    /// Rows that were finished in one turn, newest first. Called by `galatea explain`.
    async fn inbox_of_turn(&self, turn: TurnId) -> Result<Vec<InboxItem>>;
    /// Returns the read position of an account's stream; none before the first batch. Called when a
    /// connector starts.
    async fn cursor(
        &self,
        agent: AgentId,
        source: &Source,
        account: &Account,
        stream: &str,
    ) -> Result<Option<Cursor>>;
    /// A stored value of a connector's state. Called when a connector starts.
    async fn connector_state(
        &self,
        agent: AgentId,
        source: &Source,
        account: &Account,
        key: &str,
    ) -> Result<Option<serde_json::Value>>;
}

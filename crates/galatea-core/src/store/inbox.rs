//! The durable queue in: what one batch stores (T1), and what a row reads like.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{ConnectionChange, Fence, TurnRecord};
use crate::{
    clock::Timestamp,
    error::Result,
    ids::{Account, AgentId, MemoryId, RemoteId, RoomId, Source, TurnId},
    memory::Memory,
    message::Cursor,
    verdict::Verdict,
};

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
    /// The lease under which the account is read, where several processes share the store: whoever lost it moves no cursor.
    pub fence: Option<Fence>,
}

/// What a worker has in hand already and does not look for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InHand {
    /// These messages.
    pub messages: Vec<MemoryId>,
    /// Everything in these Rooms: more than memory holds, and read back in its order by whoever works there.
    pub rooms: Vec<RoomId>,
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
    pub command: Option<crate::command::Command>,
    /// A pressed button's data, if it is one.
    pub pressed: Option<String>,
    /// Platform id of the speaker.
    pub entity_remote: Option<RemoteId>,
    /// Handle of the speaker.
    pub user_name: Option<String>,
    /// Platform id of the message replied to.
    pub reply_to: Option<RemoteId>,
    /// The platform shows the speaker that an answer is coming.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub awaited: bool,
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

/// The durable queue in, and turns.
#[async_trait]
pub trait InboxStore: Send + Sync {
    /// Sets up or updates connections.
    async fn connect(&self, change: ConnectionChange) -> Result<()>;
    /// T1. Returns for each message whether it is new; Ok means committed. With a fence that no longer holds it fails with `Conflict`.
    async fn ingest(&self, ingest: Ingest) -> Result<Vec<bool>>;
    /// Messages not finished, oldest first, of one agent's account.
    async fn unfinished(&self, agent: AgentId, source: &Source, account: &Account, limit: u32) -> Result<Vec<InboxItem>>;
    /// Messages of one Room not finished, in the order they were stored: read back when a lane had to spill.
    async fn unfinished_in_room(&self, room: RoomId, limit: u32) -> Result<Vec<InboxItem>>;
    /// Messages not finished of an agent's Rooms in these parts ([`super::room_part`]) on these platforms, besides what is in hand, in the order
    /// they were stored: what a worker takes up.
    async fn unfinished_in_parts(&self, agent: AgentId, parts: &[u16], sources: &[Source], besides: &InHand, limit: u32) -> Result<Vec<InboxItem>>;
    /// When the oldest message was stored for which no turn has begun: how far the work is behind.
    async fn oldest_unstarted(&self) -> Result<Option<Timestamp>>;
    /// Counts a begun turn on these rows, so that a message that kills the process is given up in the end.
    async fn begin_turn(&self, ids: &[MemoryId]) -> Result<()>;
    /// T2. A turn is committed exactly once: rows finished already, or a fence that no longer
    /// holds, make it fail with `Conflict` and write nothing.
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

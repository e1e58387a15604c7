//! The durable queue out: rows, their states, and what became of them (T3, T4).

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{Fence, NewDelivery};
use crate::{
    clock::Timestamp,
    error::Result,
    ids::{Account, AgentId, DeliveryId, MemoryId, RemoteId, RoomId, Source, TurnId},
    memory::Memory,
    message::{Delivery, ReadBackContext},
};

/// An outbox row as read back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutboxItem {
    /// The call to make, in the platform's terms.
    pub delivery: Delivery,
    /// The memory it shows.
    pub memory: Option<MemoryId>,
    /// State of its delivery.
    pub state: OutboxState,
    /// Earliest time of the next attempt; for `sending`, when it began.
    pub not_before: Timestamp,
    /// Latest time of a new attempt; none for rows that never expire.
    pub expires: Option<Timestamp>,
    /// The platform's id once sent.
    pub remote: Option<RemoteId>,
    /// Last failure, for people.
    pub error: Option<String>,
    /// An earlier attempt may have arrived, and no read-back could confirm or rule it out.
    #[serde(default)]
    pub outcome_unknown: bool,
}

/// State of an outbox row: `pending` → `sending` → one of the others; back to `pending` for a
/// retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutboxState {
    /// Waits for its next attempt.
    Pending,
    /// Handed to the platform; after a crash its outcome is unknown.
    Sending,
    /// The platform has it.
    Sent,
    /// Outcome unknown for good.
    Ambiguous,
    /// Too old to send.
    Expired,
    /// Refused for good, or given up.
    Dead,
}

impl OutboxState {
    /// The spelling in the database.
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
    /// True if another attempt or read-back may follow.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Sending)
    }
    /// All of them, in the order of a row's life.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Sending, Self::Sent, Self::Ambiguous, Self::Expired, Self::Dead];

    /// Reads the stored spelling.
    pub fn from_stored(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == text)
    }
}

/// T4: what became of one delivery.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The row that changes.
    pub id: DeliveryId,
    /// The row's state from now on.
    pub state: OutboxState,
    /// Attempts made so far.
    pub attempt: u32,
    /// Not before, for a retry.
    pub not_before: Timestamp,
    /// The platform's id once sent.
    pub remote: Option<RemoteId>,
    /// Why the last attempt failed, for people.
    pub error: Option<String>,
    /// An earlier attempt may have arrived, and no read-back could confirm or rule it out.
    pub outcome_unknown: bool,
    /// The lease under which it was sent, where several processes share the store. A process
    /// that lost it changes nothing any more, except that a successful send is always recorded.
    pub fence: Option<Fence>,
}

/// An account with rows that are `pending` or `sending`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAccount {
    /// The agent whose account it is.
    pub agent: AgentId,
    /// The platform.
    pub source: Source,
    /// Our login on the platform.
    pub account: Account,
    /// The first time at which a `pending` row ends; none if none ends.
    pub ends: Option<Timestamp>,
}

/// Selects outbox rows, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutboxQuery {
    /// In one of these states; any when empty.
    pub states: Vec<OutboxState>,
    /// At most this many.
    pub limit: u32,
}

/// Decision of an operator about a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// Send it (again): `ambiguous`, `expired` and `dead` become `pending`, with all attempts
    /// before them and without an end.
    Retry,
    /// Never send it: `pending` and `ambiguous` become `dead`.
    Drop,
}

impl Resolution {
    /// True if a row in this state can be decided so.
    pub fn fits(self, state: OutboxState) -> bool {
        match self {
            Self::Retry => {
                matches!(state, OutboxState::Ambiguous | OutboxState::Expired | OutboxState::Dead)
            }
            Self::Drop => matches!(state, OutboxState::Pending | OutboxState::Ambiguous),
        }
    }
}

/// The durable queue out.
#[async_trait]
pub trait OutboxStore: Send + Sync {
    /// Inserts parts that belong to no turn of the inbox (`send_message_to_target`, scheduled
    /// posts). Called for each message that an action or a service sends by itself.
    async fn enqueue(&self, deliveries: Vec<NewDelivery>, memories: Vec<Memory>) -> Result<()>;
    /// T3 and T4 in groups. Returns those that were refused: another process has the account, an
    /// operator has ended the part, or it does not exist. A successful send is never refused.
    /// Called before and after every attempt.
    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<DeliveryId>>;
    /// Every account with rows `pending` or `sending`, of all agents. One call of a process tells
    /// which of its accounts have something to do. Called by each poll.
    async fn open_accounts(&self) -> Result<Vec<OpenAccount>>;
    /// Rows `pending` or `sending` of one agent's account besides those named, in order of commit.
    /// Called when an account comes to this process, and then by each poll.
    async fn unsettled(
        &self,
        agent: AgentId,
        source: &Source,
        account: &Account,
        besides: &[DeliveryId],
        limit: u32,
    ) -> Result<Vec<OutboxItem>>;
    /// Rows `pending` or `sending` of one Room besides those named, in order of commit: read back
    /// when a lane had to spill. Called by that lane.
    async fn unsettled_in_room(
        &self,
        room: RoomId,
        besides: &[DeliveryId],
        limit: u32,
    ) -> Result<Vec<OutboxItem>>;
    /// Rows `pending` of one agent whose end lies before `end` and whose account is none of `served`, in
    /// order of commit. Called now and then by each process that runs the agent.
    async fn overdue(
        &self,
        agent: AgentId,
        served: &[(Source, Account)],
        end: Timestamp,
    ) -> Result<Vec<OutboxItem>>;
    /// Parts of one turn, in order. Called before a part whose predecessors this process did not
    /// send, and by `galatea explain`.
    async fn deliveries_of(&self, turn: TurnId) -> Result<Vec<OutboxItem>>;
    /// Rows that were sent as this message, newest first. Called by `galatea explain`.
    async fn sent_as(
        &self,
        source: &Source,
        room: Option<&RemoteId>,
        message: &RemoteId,
    ) -> Result<Vec<OutboxItem>>;
    /// Returns an outbox row; none for an id that is not there. Called before a row is sent that
    /// was read a while ago, and by commands.
    async fn outbox_item(&self, id: DeliveryId) -> Result<Option<OutboxItem>>;
    /// Returns the stored surroundings of a row, for the read-back of its outcome. Called before
    /// each read-back.
    async fn read_back_context(&self, delivery: &Delivery) -> Result<ReadBackContext>;
    /// Rows that fit a query, for commands and status pages. Called by `galatea outbox`.
    async fn outbox(&self, query: &OutboxQuery) -> Result<Vec<OutboxItem>>;
    /// Applies an operator's decision. False when the row is in no state that it fits, or is not
    /// there. Called by `galatea outbox retry` and `drop`.
    async fn resolve(&self, id: DeliveryId, resolution: Resolution, at: Timestamp) -> Result<bool>;
    /// Moves a Room and its outbox to a new platform id, in one commit. Called when the platform
    /// answers a send with the Room's new id.
    async fn move_room(&self, room: RoomId, to_room: RoomId, to_remote: &RemoteId) -> Result<()>;
}

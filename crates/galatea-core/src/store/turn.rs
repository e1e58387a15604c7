//! T2: what a finished turn writes.

use super::{Fence, InboxState, LiveEvent, RequestedChange, UsageRow};
use crate::{
    clock::Timestamp,
    ids::{AgentId, MemoryId, RoomId, TurnId},
    memory::Memory,
    message::Delivery,
    verdict::Verdict,
};

/// T2: everything a finished turn writes, in one commit.
#[derive(Debug, Clone)]
pub struct TurnRecord {
    /// Links deliveries and memories to each other; one turn commits once.
    pub turn: TurnId,
    /// The agent that answered; the turn changes nothing of another one.
    pub agent: AgentId,
    /// The Room whose messages it finishes.
    pub room: RoomId,
    /// Replies and action results to remember.
    pub memories: Vec<Memory>,
    /// Parts to send, in order.
    pub deliveries: Vec<NewDelivery>,
    /// Inbox rows this turn finishes.
    pub finished: Vec<FinishedMessage>,
    /// Changes that actions and commands asked for, applied in this order.
    pub effects: Vec<RequestedChange>,
    /// Cost, added to the ledger.
    pub usage: Vec<UsageRow>,
    /// Events that followers of a conversation must not miss: they appear with the commit.
    pub told: Vec<LiveEvent>,
    /// Time of the commit, by the turn's clock.
    pub at: Timestamp,
    /// The lease under which its Room was worked on, where several processes share the store.
    pub fence: Option<Fence>,
}

/// An inbox row finished by a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedMessage {
    /// The memory of the message.
    pub id: MemoryId,
    /// End of the message.
    pub state: InboxState,
    /// The decision, with its reasons.
    pub verdict: Verdict,
}

/// An outbox row to insert.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDelivery {
    /// The encoded part with its address.
    pub delivery: Delivery,
    /// The memory it shows.
    pub memory: Option<MemoryId>,
    /// Inserted as `sending` because its worker is about to send it; otherwise `pending`.
    pub sending: bool,
    /// Inserted as `sent`: its readers find it in the store, so the commit is the delivery. Each gets an
    /// event of the kind [`MESSAGE_SENT`](super::MESSAGE_SENT) in the same commit.
    pub delivered: bool,
    /// Not sent after this time.
    pub expires: Option<Timestamp>,
}

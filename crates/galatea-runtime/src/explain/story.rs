//! A question about a message, and its story.

use galatea_core::{
    DeliveryId, MemoryId, RemoteId, Source,
    store::{InboxState, OutboxItem, OutboxState},
    verdict::{Change, Step},
};
use serde::Serialize;

/// The message to explain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExplainQuery {
    /// The message of this id, as `galatea` prints it.
    Memory(MemoryId),
    /// By the platform's ids.
    Remote {
        /// The platform of the message.
        source: Source,
        /// Room, where the message's id alone is not enough.
        room: Option<RemoteId>,
        /// The platform's id of the message.
        message: RemoteId,
    },
}

/// The whole story of one message. Holds no message text.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Our id of it.
    pub memory: MemoryId,
    /// The platform's id of it.
    pub remote: RemoteId,
    /// The platform's id of its room.
    pub room: RemoteId,
    /// The platform of the message.
    pub source: Source,
    /// Its state: it waits, or how it ended.
    pub state: InboxState,
    /// The event, in a sentence.
    pub summary: String,
    /// Time of storage, in milliseconds.
    pub received_at: galatea_core::Timestamp,
    /// Time of its turn's end.
    pub finished_at: Option<galatea_core::Timestamp>,
    /// Rules of the gate and steps of the turn, in order.
    pub steps: Vec<Step>,
    /// The one setting that would have changed the outcome.
    pub change: Option<Change>,
    /// Its place among what waits in its room; none once it is finished.
    pub lane: Option<Lane>,
    /// The parts of the answer.
    pub deliveries: Vec<ExplainedDelivery>,
}

/// Position of a message that is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lane {
    /// Messages of its room before it; counted up to 1,000.
    pub ahead: usize,
    /// Turns begun for it in earlier runs of the program.
    pub begun: u32,
}

/// A part of the answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedDelivery {
    /// Its id in the outbox.
    pub id: DeliveryId,
    /// Number of the part within its answer, counted from 0.
    pub part: u32,
    /// Its state: it waits, or how it ended.
    pub state: OutboxState,
    /// Attempts so far; rate limits do not count.
    pub attempts: u32,
    /// The platform's id once sent.
    pub remote: Option<RemoteId>,
    /// Why the last attempt failed; none if none did.
    pub error: Option<String>,
    /// Not sent before then, as the platform or the pause between attempts wants it; none once it
    /// is settled.
    pub waits_until: Option<galatea_core::Timestamp>,
}

pub(super) fn explained(d: OutboxItem) -> ExplainedDelivery {
    ExplainedDelivery {
        id: d.delivery.id,
        part: d.delivery.part,
        waits_until: Some(d.not_before)
            .filter(|at| d.state == OutboxState::Pending && *at > d.delivery.created_at),
        state: d.state,
        attempts: d.delivery.attempt,
        remote: d.remote,
        error: d.error,
    }
}

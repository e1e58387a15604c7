//! Events for other processes: what happened here, sent to those that share the store. A lost
//! event changes nothing that is stored.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{error::Result, event::Event, ids::MemberId};

/// Read position of the stream. Opaque; it grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EventPosition(pub u64, pub u64);

/// The stream of events between processes. Kept for some minutes.
#[async_trait]
pub trait EventStore: Send + Sync {
    /// Adds events of one process. Called some times a second, while there are events.
    async fn publish_events(&self, member: MemberId, events: &[Event]) -> Result<()>;
    /// The next events of all other processes after a position, at most `limit`, in order, and the
    /// position after them. Without a position: no events, and the present end of the stream.
    /// Called after a hint, and by each poll.
    async fn events_after(
        &self,
        member: MemberId,
        after: Option<EventPosition>,
        limit: u32,
    ) -> Result<(EventPosition, Vec<Event>)>;
}

//! Events for dashboards, numbered and kept for a while, so that who was away misses none.

use async_trait::async_trait;
use serde_json::Value;

use crate::{clock::Timestamp, error::Result, ids::AgentId};

/// Events that are kept. At 1,000 turns a minute they reach back ten minutes; a dashboard that was away
/// longer reads its lists again.
pub const LIVE_KEPT: i64 = 50_000;

/// Kind of the event that comes with the commit of a part which the commit delivers.
pub const MESSAGE_SENT: &str = "message_sent";
/// Kind of the event that comes with the decision about a message of such a platform.
pub const MESSAGE_DECIDED: &str = "message_decided";

/// An event for dashboards.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveEvent {
    /// Its number; it grows by commits, so nothing appears before a number that was seen.
    pub seq: i64,
    /// Its time.
    pub at: Timestamp,
    /// Whose it is; none for the process.
    pub agent: Option<AgentId>,
    /// Kind, such as `turn_finished`.
    pub kind: String,
    /// Ids and figures. Never text of messages, never secrets.
    pub data: Value,
}

/// Keeps events for dashboards. Called by the control plane only.
#[async_trait]
pub trait LiveStore: Send + Sync {
    /// Adds events in their order and forgets the oldest; their `seq` is ignored.
    async fn add_live(&self, events: &[LiveEvent]) -> Result<()>;
    /// Events after a number, oldest first.
    async fn live_after(&self, seq: i64, limit: u32) -> Result<Vec<LiveEvent>>;
    /// The numbers of the oldest and the newest event that are kept; none if there is none.
    async fn live_bounds(&self) -> Result<Option<(i64, i64)>>;
}

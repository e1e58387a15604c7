//! The way of plugin code to Rooms.

use crate::{
    error::Result,
    message::{Address, Outgoing},
};

/// Sends to any room from any other: elizaOS `sendMessageToTarget`. For what a service or evaluator
/// says by itself. An action returns what it says in `elsewhere`, which is judged; one that calls
/// this declares `SIDE_EFFECT` and [`crate::rights::Scope::Elsewhere`].
#[async_trait::async_trait]
pub trait Outbound: Send + Sync {
    /// Puts it into the outbox; Ok means durable. Called by actions and services, at any time while
    /// the agent runs.
    async fn send_message_to_target(&self, address: &Address, outgoing: Outgoing) -> Result<()>;
}

//! Code of a plugin that follows events.

use async_trait::async_trait;

use crate::{error::Result, event::Event, plugin::context::PluginContext};

/// Follows the events of its agent. Handlers run beside turns and delay none: one that is slow misses
/// events, and the log says how many.
#[async_trait]
pub trait EventHandler: Send + Sync {
    /// For logs.
    fn name(&self) -> &str;
    /// True for an event to be handled. Called for each event of the agent; no I/O.
    fn wants(&self, event: &Event) -> bool;
    /// Called for each wanted event, one at a time, in order; at most 30 seconds. A failure is
    /// logged.
    async fn handle(&self, context: &PluginContext, event: &Event) -> Result<()>;
}

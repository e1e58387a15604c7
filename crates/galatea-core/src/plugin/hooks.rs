//! The beginning and the end of a plugin.

use async_trait::async_trait;

use crate::{error::Result, plugin::context::PluginContext};

/// Code at the beginning and the end of a plugin's use by one agent (elizaOS `init`).
#[async_trait]
pub trait PluginHooks: Send + Sync {
    /// Called before the first turn with the plugin, when the agent is assembled or the plugin is
    /// added, enabled or reconfigured; at most 30 seconds. An error keeps the plugin out: an agent
    /// that is being created is refused, a running one goes on as before.
    async fn init(&self, _context: &PluginContext) -> Result<()> {
        Ok(())
    }
    /// Called after the last turn with the plugin, when it was disabled, removed or reconfigured, or
    /// when the agent stops; at most 10 seconds. A failure is logged.
    async fn close(&self, _context: &PluginContext) -> Result<()> {
        Ok(())
    }
}

//! Parts of its agent that a plugin may use outside of a turn.

use std::sync::Arc;

use crate::{
    clock::Clock,
    plugin::{
        agent_view::AgentView, event_handle::EventHandle, outbound::Outbound,
        setting::PluginSettings,
    },
    service::Services,
    store::{PluginCache, PluginStore},
};

/// Parts of its agent that a plugin may use outside of a turn: in its hooks, its routes and its
/// handlers of events.
#[derive(Clone)]
pub struct PluginContext {
    /// Name of the plugin.
    pub plugin: Arc<str>,
    /// The agent, as it was when the plugin was loaded.
    pub agent: Arc<AgentView>,
    /// The settings that the plugin declares, and no others.
    pub settings: PluginSettings,
    /// Memories, people and places, relationships and tasks of this agent.
    pub store: Arc<dyn PluginStore>,
    /// Small values of the plugin's own.
    pub cache: PluginCache,
    /// The services of the agent.
    pub services: Services,
    /// Way to Rooms of the agent.
    pub outbound: Arc<dyn Outbound>,
    /// Publishes events of the plugin's own.
    pub events: EventHandle,
    /// The runtime's clock, which tests set by hand.
    pub clock: Arc<dyn Clock>,
}

//! The way of plugin code to events: it listens to all of its agent, and publishes its own only.

use serde_json::Value;
use std::sync::Arc;

use crate::{
    event::{Event, EventBus},
    ids::AgentId,
};

/// Publishes events of one plugin for one agent. Each is an [`Event::Custom`] under the plugin's
/// name, so a plugin can forge neither an event of the engine nor one of another plugin.
#[derive(Clone)]
pub struct EventHandle {
    bus: EventBus,
    agent: AgentId,
    plugin: Arc<str>,
}

impl EventHandle {
    /// The handle of a plugin. The engine makes it.
    pub fn new(bus: EventBus, agent: AgentId, plugin: impl Into<Arc<str>>) -> Self {
        Self { bus, agent, plugin: plugin.into() }
    }

    /// Publishes an event. Never waits. `data` holds ids and numbers: message text and secrets do not
    /// travel in events.
    pub fn publish(&self, name: &str, data: Value) {
        self.bus.publish(Event::Custom {
            agent: self.agent,
            plugin: self.plugin.to_string(),
            name: name.to_owned(),
            data,
        });
    }
}

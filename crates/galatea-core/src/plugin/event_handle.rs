//! The way of plugin code to events: it listens to all of its agent, and publishes its own only.

use serde_json::Value;
use std::{sync::Arc, time::Duration};

use crate::{
    event::{Draft, Event, EventBus, EventReceiver},
    ids::{AgentId, RoomId, TurnId},
    model::Usage,
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

    /// Listens from now on to what is about the plugin's agent, or about the process.
    pub fn subscribe(&self) -> EventReceiver {
        self.bus.subscribe_to(self.agent)
    }

    /// Says that code of the plugin asked a model in a turn, for what a turn cost and how long it took.
    pub fn model_used(
        &self,
        turn: TurnId,
        provider: &str,
        model: &str,
        usage: Usage,
        took: Duration,
    ) {
        self.bus.publish(Event::ModelUsed {
            agent: self.agent,
            turn: Some(turn),
            provider: provider.to_owned(),
            model: model.to_owned(),
            usage,
            millis: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
    }

    /// Shows the words of an answer so far ([`Draft`]). The engine calls it.
    #[doc(hidden)]
    pub fn draft(&self, room: RoomId, turn: TurnId, text: &str) {
        self.bus.publish_draft(Draft { agent: self.agent, room, turn, text: text.into() });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_plugin_publishes_under_its_own_name_only() {
        let (bus, agent) = (EventBus::default(), AgentId::fresh());
        let mut heard = bus.subscribe();
        let handle = EventHandle::new(bus, agent, "poll");
        handle.publish("agent_stopped", serde_json::json!({ "event": "agent_stopped" }));
        let Event::Custom { agent: of, plugin, name, .. } = heard.recv().await.unwrap() else {
            panic!("a plugin forged an event")
        };
        assert_eq!((of, plugin.as_str(), name.as_str()), (agent, "poll", "agent_stopped"));
    }
}

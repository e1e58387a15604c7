//! Events for subscribers. Subscribers never block a turn.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::broadcast;

use crate::{
    breaker::Phase,
    gap::Gap,
    gateway::Health,
    ids::{Account, AgentId, DeliveryId, EntityId, MemoryId, RoomId, Source, TurnId, WorldId},
    model::Usage,
    verdict::Decision,
};

/// An event. Ids only: message text and secrets never travel here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The agent runs: its services and connectors are starting.
    AgentStarted {
        /// The agent that runs now.
        agent: AgentId,
    },
    /// The agent has stopped; nothing of it runs any more.
    AgentStopped {
        /// The agent that ran.
        agent: AgentId,
    },
    /// A connector reported how it is doing.
    ConnectorHealth {
        /// The agent that the connector serves.
        agent: AgentId,
        /// The platform.
        source: Source,
        /// Our login on the platform.
        account: Account,
        /// Its health from now on.
        health: Health,
    },
    /// A connector found messages that it cannot read any more.
    MessagesMissing {
        /// The agent that the connector serves.
        agent: AgentId,
        /// The platform.
        source: Source,
        /// Our login on the platform.
        account: Account,
        /// The missing messages, and the reason.
        gap: Gap,
    },
    /// The agent was added to a World, or may manage it now.
    WorldJoined {
        /// The agent that takes part.
        agent: AgentId,
        /// The World.
        world: WorldId,
    },
    /// The agent was removed from a World, or left it.
    WorldLeft {
        /// The agent that took part.
        agent: AgentId,
        /// The World, whose rows stay.
        world: WorldId,
    },
    /// A person joined a Room.
    EntityJoined {
        /// The agent that takes part.
        agent: AgentId,
        /// The Room.
        room: RoomId,
        /// The person.
        entity: EntityId,
    },
    /// A person left a Room.
    EntityLeft {
        /// The agent that takes part.
        agent: AgentId,
        /// The Room.
        room: RoomId,
        /// The person.
        entity: EntityId,
    },
    /// A new message is stored.
    MessageReceived {
        /// The agent that received it.
        agent: AgentId,
        /// The Room.
        room: RoomId,
        /// The message.
        memory: MemoryId,
    },
    /// The new content of a message is stored.
    MessageEdited {
        /// The agent that received it.
        agent: AgentId,
        /// The Room.
        room: RoomId,
        /// The message.
        memory: MemoryId,
    },
    /// A message was deleted on its platform, and here.
    MessageDeleted {
        /// The agent that received it.
        agent: AgentId,
        /// The Room.
        room: RoomId,
        /// The message that was deleted.
        memory: MemoryId,
    },
    /// The reactions to a message changed.
    ReactionReceived {
        /// The agent that received it.
        agent: AgentId,
        /// The Room.
        room: RoomId,
        /// The message that was reacted to.
        memory: MemoryId,
    },
    /// A turn began: the message passed the gate.
    TurnStarted {
        /// The agent that answers.
        agent: AgentId,
        /// The Room.
        room: RoomId,
        /// The turn.
        turn: TurnId,
    },
    /// It is stored what happens to a message.
    TurnDecided {
        /// The agent that decided.
        agent: AgentId,
        /// The Room.
        room: RoomId,
        /// The turn that decided; several messages may share it.
        turn: TurnId,
        /// The message.
        memory: MemoryId,
        /// Decision about the message.
        decision: Decision,
    },
    /// An action of a plan begins.
    ActionStarted {
        /// The agent that answers.
        agent: AgentId,
        /// The turn.
        turn: TurnId,
        /// Name of the action.
        action: String,
    },
    /// An action of a plan ended.
    ActionCompleted {
        /// The agent that answers.
        agent: AgentId,
        /// The turn.
        turn: TurnId,
        /// Name of the action.
        action: String,
        /// True if it did what it was called for.
        success: bool,
    },
    /// An evaluator ended.
    EvaluatorCompleted {
        /// The agent that answered.
        agent: AgentId,
        /// The turn that it looked at.
        turn: TurnId,
        /// Name of the evaluator.
        evaluator: String,
        /// False if it failed, crashed or took too long.
        success: bool,
    },
    /// A model answered.
    ModelUsed {
        /// The agent that asked.
        agent: AgentId,
        /// The turn that asked; none for services.
        turn: Option<TurnId>,
        /// The provider that answered, such as `openai`.
        provider: String,
        /// The model that answered, by the provider's name.
        model: String,
        /// Tokens of the call.
        usage: Usage,
        /// Duration of the call, in milliseconds, with retries and fallbacks.
        millis: u64,
    },
    /// A turn is committed, and its parts are about to be sent; none where it says nothing.
    TurnFinished {
        /// The agent that answers.
        agent: AgentId,
        /// The Room.
        room: RoomId,
        /// The turn.
        turn: TurnId,
        /// From the start of the turn, in milliseconds.
        millis: u64,
        /// Messages of the answer, before they are split for the platform.
        parts: u32,
    },
    /// No answer could be made.
    TurnFailed {
        /// The agent that should answer.
        agent: AgentId,
        /// The Room.
        room: RoomId,
        /// The turn.
        turn: TurnId,
        /// The failure, in words for people.
        reason: String,
    },
    /// The platform has a part of an answer.
    DeliverySent {
        /// The agent that sends.
        agent: AgentId,
        /// The Room.
        room: RoomId,
        /// The outbox row.
        delivery: DeliveryId,
        /// Attempts that it took.
        attempt: u32,
    },
    /// An attempt to send a part failed; another one follows.
    DeliveryRetrying {
        /// The agent that sends.
        agent: AgentId,
        /// The Room.
        room: RoomId,
        /// The outbox row.
        delivery: DeliveryId,
        /// Attempts so far.
        attempt: u32,
        /// The failure, in words for people.
        reason: String,
        /// Pause before the next attempt, in milliseconds.
        millis: u64,
    },
    /// A part ended without a confirmed delivery.
    DeliveryFailed {
        /// The agent that sends.
        agent: AgentId,
        /// The Room.
        room: RoomId,
        /// The outbox row.
        delivery: DeliveryId,
        /// The failure, in words for people.
        reason: String,
    },
    /// A circuit breaker opened, probes or closed.
    BreakerChanged {
        /// Dependency that it guards, such as `telegram:default` or a model.
        name: String,
        /// Its state from now on.
        state: Phase,
        /// The failure that opened it, in words for people.
        cause: Option<String>,
    },
    /// An event of a plugin. Only [`crate::EventHandle`] makes it, under the plugin's own name.
    Custom {
        /// The agent that the plugin works for.
        agent: AgentId,
        /// The plugin.
        plugin: String,
        /// Name of the event, of the plugin's own choice.
        name: String,
        /// Ids and numbers; no message text.
        data: Value,
    },
}

/// Publishes events to any number of listeners; slow listeners miss some, turns never wait.
#[derive(Clone)]
pub struct EventBus(broadcast::Sender<Event>);

impl Default for EventBus {
    fn default() -> Self {
        Self(broadcast::channel(1024).0)
    }
}

impl EventBus {
    /// Sends an event to all subscribers. Never waits; without subscribers it is dropped.
    pub fn publish(&self, event: Event) {
        let _ = self.0.send(event);
    }
    /// Listens from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.0.subscribe()
    }
}

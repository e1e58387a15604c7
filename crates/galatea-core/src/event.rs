//! What happened, for subscribers. Subscribers never block a turn.

use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use crate::{
    breaker::Phase,
    gap::Gap,
    gateway::Health,
    ids::{Account, AgentId, DeliveryId, EntityId, MemoryId, RoomId, Source, TurnId, WorldId},
    model::Usage,
    verdict::Decision,
};

/// What happened. Ids only: message text and secrets never travel here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Event {
    AgentStarted {
        agent: AgentId,
    },
    AgentStopped {
        agent: AgentId,
    },
    ConnectorHealth {
        agent: AgentId,
        source: Source,
        account: Account,
        health: Health,
    },
    MessagesMissing {
        agent: AgentId,
        source: Source,
        account: Account,
        gap: Gap,
    },
    WorldJoined {
        agent: AgentId,
        world: WorldId,
    },
    WorldLeft {
        agent: AgentId,
        world: WorldId,
    },
    EntityJoined {
        agent: AgentId,
        room: RoomId,
        entity: EntityId,
    },
    EntityLeft {
        agent: AgentId,
        room: RoomId,
        entity: EntityId,
    },
    MessageReceived {
        agent: AgentId,
        room: RoomId,
        memory: MemoryId,
    },
    MessageEdited {
        agent: AgentId,
        room: RoomId,
        memory: MemoryId,
    },
    MessageDeleted {
        agent: AgentId,
        room: RoomId,
        memory: MemoryId,
    },
    ReactionReceived {
        agent: AgentId,
        room: RoomId,
        memory: MemoryId,
    },
    TurnStarted {
        agent: AgentId,
        room: RoomId,
        turn: TurnId,
    },
    TurnDecided {
        agent: AgentId,
        room: RoomId,
        turn: TurnId,
        memory: MemoryId,
        decision: Decision,
    },
    ActionStarted {
        agent: AgentId,
        turn: TurnId,
        action: String,
    },
    ActionCompleted {
        agent: AgentId,
        turn: TurnId,
        action: String,
        success: bool,
    },
    EvaluatorCompleted {
        agent: AgentId,
        turn: TurnId,
        evaluator: String,
        success: bool,
    },
    ModelUsed {
        agent: AgentId,
        turn: Option<TurnId>,
        provider: String,
        model: String,
        usage: Usage,
        millis: u64,
    },
    TurnFinished {
        agent: AgentId,
        room: RoomId,
        turn: TurnId,
        millis: u64,
        parts: u32,
    },
    TurnFailed {
        agent: AgentId,
        room: RoomId,
        turn: TurnId,
        reason: String,
    },
    DeliverySent {
        agent: AgentId,
        room: RoomId,
        delivery: DeliveryId,
        attempt: u32,
    },
    DeliveryRetrying {
        agent: AgentId,
        room: RoomId,
        delivery: DeliveryId,
        attempt: u32,
        reason: String,
        millis: u64,
    },
    DeliveryFailed {
        agent: AgentId,
        room: RoomId,
        delivery: DeliveryId,
        reason: String,
    },
    BreakerChanged {
        name: String,
        state: Phase,
        cause: Option<String>,
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
    /// Publishes.
    pub fn publish(&self, event: Event) {
        let _ = self.0.send(event);
    }
    /// Listens from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.0.subscribe()
    }
}

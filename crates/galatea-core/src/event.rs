//! Events for subscribers. Subscribers never block a turn.

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt, sync::Arc};
use tokio::sync::broadcast::{
    self,
    error::{RecvError, TryRecvError},
};

use crate::{
    breaker::Phase,
    clock::{Clock, SystemClock, Timestamp},
    gap::Gap,
    gateway::Health,
    ids::{Account, AgentId, DeliveryId, EntityId, MemoryId, RoomId, Source, TurnId, WorldId},
    model::Usage,
    verdict::Decision,
};

/// An event. Ids only: message text and secrets never travel here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The process began to run agents.
    SystemStarted,
    /// All agents of the process have stopped.
    SystemStopped,
    /// More messages wait in a Room than are kept in memory; the rest waits in the store.
    SystemOverloaded {
        /// The agent whose messages wait.
        agent: AgentId,
        /// The Room.
        room: RoomId,
    },
    /// The conversation of a Room begins afresh: what was said before is not shown any more.
    RoomCleared {
        /// The agent that talks there.
        agent: AgentId,
        /// The Room.
        room: RoomId,
    },
    /// The stored names or details of a person are new or changed.
    EntityUpdated {
        /// The agent that knows the person.
        agent: AgentId,
        /// The person.
        entity: EntityId,
    },
    /// An agent was created. It does not run yet.
    AgentCreated {
        /// The agent.
        agent: AgentId,
    },
    /// The character or the settings of an agent were replaced.
    AgentUpdated {
        /// The agent.
        agent: AgentId,
    },
    /// An agent was removed; what is stored of it stays.
    AgentRemoved {
        /// The agent.
        agent: AgentId,
    },
    /// An agent could not be made anew.
    AgentFailed {
        /// The agent.
        agent: AgentId,
        /// The failure, in words for people.
        reason: String,
    },
    /// A plugin takes part in the turns of an agent from now on.
    PluginLoaded {
        /// The agent.
        agent: AgentId,
        /// The plugin.
        plugin: String,
        /// Its version.
        version: String,
    },
    /// A plugin takes part in no further turns of an agent.
    PluginUnloaded {
        /// The agent.
        agent: AgentId,
        /// The plugin.
        plugin: String,
    },
    /// A service is doing otherwise than before.
    ServiceChanged {
        /// The agent.
        agent: AgentId,
        /// The plugin that has it.
        plugin: String,
        /// Its type name.
        service: String,
        /// How it is doing.
        state: ServiceState,
    },
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
    /// An evaluator begins.
    EvaluatorStarted {
        /// The agent that answered.
        agent: AgentId,
        /// The turn that it looks at.
        turn: TurnId,
        /// Name of the evaluator.
        evaluator: String,
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

impl Event {
    /// Name of the kind, as it is written in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SystemStarted => "system_started",
            Self::SystemStopped => "system_stopped",
            Self::SystemOverloaded { .. } => "system_overloaded",
            Self::RoomCleared { .. } => "room_cleared",
            Self::EntityUpdated { .. } => "entity_updated",
            Self::AgentCreated { .. } => "agent_created",
            Self::AgentUpdated { .. } => "agent_updated",
            Self::AgentRemoved { .. } => "agent_removed",
            Self::AgentFailed { .. } => "agent_failed",
            Self::PluginLoaded { .. } => "plugin_loaded",
            Self::PluginUnloaded { .. } => "plugin_unloaded",
            Self::ServiceChanged { .. } => "service_changed",
            Self::AgentStarted { .. } => "agent_started",
            Self::AgentStopped { .. } => "agent_stopped",
            Self::ConnectorHealth { .. } => "connector_health",
            Self::MessagesMissing { .. } => "messages_missing",
            Self::WorldJoined { .. } => "world_joined",
            Self::WorldLeft { .. } => "world_left",
            Self::EntityJoined { .. } => "entity_joined",
            Self::EntityLeft { .. } => "entity_left",
            Self::MessageReceived { .. } => "message_received",
            Self::MessageEdited { .. } => "message_edited",
            Self::MessageDeleted { .. } => "message_deleted",
            Self::ReactionReceived { .. } => "reaction_received",
            Self::TurnStarted { .. } => "turn_started",
            Self::TurnDecided { .. } => "turn_decided",
            Self::ActionStarted { .. } => "action_started",
            Self::ActionCompleted { .. } => "action_completed",
            Self::EvaluatorCompleted { .. } => "evaluator_completed",
            Self::EvaluatorStarted { .. } => "evaluator_started",
            Self::ModelUsed { .. } => "model_used",
            Self::TurnFinished { .. } => "turn_finished",
            Self::TurnFailed { .. } => "turn_failed",
            Self::DeliverySent { .. } => "delivery_sent",
            Self::DeliveryRetrying { .. } => "delivery_retrying",
            Self::DeliveryFailed { .. } => "delivery_failed",
            Self::BreakerChanged { .. } => "breaker_changed",
            Self::Custom { .. } => "custom",
        }
    }

    /// The agent that it is about; none if it is about the process.
    pub fn agent(&self) -> Option<AgentId> {
        match self {
            Self::SystemStarted | Self::SystemStopped | Self::BreakerChanged { .. } => None,
            Self::SystemOverloaded { agent, .. }
            | Self::RoomCleared { agent, .. }
            | Self::EntityUpdated { agent, .. }
            | Self::AgentCreated { agent, .. }
            | Self::AgentUpdated { agent, .. }
            | Self::AgentRemoved { agent, .. }
            | Self::AgentFailed { agent, .. }
            | Self::PluginLoaded { agent, .. }
            | Self::PluginUnloaded { agent, .. }
            | Self::ServiceChanged { agent, .. }
            | Self::AgentStarted { agent, .. }
            | Self::AgentStopped { agent, .. }
            | Self::ConnectorHealth { agent, .. }
            | Self::MessagesMissing { agent, .. }
            | Self::WorldJoined { agent, .. }
            | Self::WorldLeft { agent, .. }
            | Self::EntityJoined { agent, .. }
            | Self::EntityLeft { agent, .. }
            | Self::MessageReceived { agent, .. }
            | Self::MessageEdited { agent, .. }
            | Self::MessageDeleted { agent, .. }
            | Self::ReactionReceived { agent, .. }
            | Self::TurnStarted { agent, .. }
            | Self::TurnDecided { agent, .. }
            | Self::ActionStarted { agent, .. }
            | Self::ActionCompleted { agent, .. }
            | Self::EvaluatorCompleted { agent, .. }
            | Self::EvaluatorStarted { agent, .. }
            | Self::ModelUsed { agent, .. }
            | Self::TurnFinished { agent, .. }
            | Self::TurnFailed { agent, .. }
            | Self::DeliverySent { agent, .. }
            | Self::DeliveryRetrying { agent, .. }
            | Self::DeliveryFailed { agent, .. }
            | Self::Custom { agent, .. } => Some(*agent),
        }
    }
}

/// How a service is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state", content = "reason")]
pub enum ServiceState {
    /// It has not started. Another process may run it.
    Idle,
    /// It waits for services that it needs.
    Waiting(String),
    /// It is starting.
    Starting,
    /// It runs.
    Ready,
    /// It runs, and says that it does not work as it should.
    Degraded(String),
    /// It failed, and is started again after a pause.
    Retrying(String),
    /// It failed, and is not started again before a person repairs the cause.
    Failed(String),
    /// It was stopped.
    Stopped,
}

impl fmt::Display for ServiceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => f.write_str("not started"),
            Self::Waiting(need) => write!(f, "waits for {need}"),
            Self::Starting => f.write_str("starting"),
            Self::Ready => f.write_str("ready"),
            Self::Degraded(why) => write!(f, "degraded: {why}"),
            Self::Retrying(why) => write!(f, "retrying: {why}"),
            Self::Failed(why) => write!(f, "failed: {why}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl ServiceState {
    /// True if others may use it.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready | Self::Degraded(_))
    }
}

/// Names of elizaOS's events and the kind that says the same here ([`Event::kind`]).
pub const ELIZAOS_NAMES: &[(&str, &str)] = &[
    ("system:started", "system_started"),
    ("system:stopped", "system_stopped"),
    ("system:error", "breaker_changed"),
    ("system:overloaded", "system_overloaded"),
    ("agent:created", "agent_created"),
    ("agent:added", "agent_created"),
    ("agents:added", "agent_created"),
    ("agent:registered", "agent_created"),
    ("agent:started", "agent_started"),
    ("agents:started", "agent_started"),
    ("agent:stopped", "agent_stopped"),
    ("agents:stopped", "agent_stopped"),
    ("agent:removed", "agent_removed"),
    ("agent:deleted", "agent_removed"),
    ("agents:deleted", "agent_removed"),
    ("agent:updated", "agent_updated"),
    ("mode:editable", "agent_updated"),
    ("agent:error", "agent_failed"),
    ("plugin:registered", "plugin_loaded"),
    ("plugin:unregistered", "plugin_unloaded"),
    ("service:registered", "service_changed"),
    ("service:unregistered", "service_changed"),
    ("service:error", "service_changed"),
    ("message:sent", "delivery_sent"),
    ("messages:sent", "delivery_sent"),
    ("WORLD_JOINED", "world_joined"),
    ("WORLD_CONNECTED", "connector_health"),
    ("WORLD_LEFT", "world_left"),
    ("ENTITY_JOINED", "entity_joined"),
    ("ENTITY_LEFT", "entity_left"),
    ("ENTITY_UPDATED", "entity_updated"),
    ("CHANNEL_CLEARED", "room_cleared"),
    ("EMBEDDING_GENERATION_REQUESTED", "message_received"),
    ("EMBEDDING_GENERATION_COMPLETED", "custom"),
    ("EMBEDDING_GENERATION_FAILED", "custom"),
    ("CONTROL_MESSAGE", "custom"),
    ("ROOM_JOINED", "entity_joined"),
    ("ROOM_LEFT", "entity_left"),
    ("MESSAGE_RECEIVED", "message_received"),
    ("MESSAGE_SENT", "delivery_sent"),
    ("MESSAGE_DELETED", "message_deleted"),
    ("VOICE_MESSAGE_RECEIVED", "message_received"),
    ("VOICE_MESSAGE_SENT", "delivery_sent"),
    ("REACTION_RECEIVED", "reaction_received"),
    ("INTERACTION_RECEIVED", "message_received"),
    ("POST_GENERATED", "turn_finished"),
    ("RUN_STARTED", "turn_started"),
    ("RUN_ENDED", "turn_finished"),
    ("RUN_TIMEOUT", "turn_failed"),
    ("ACTION_STARTED", "action_started"),
    ("ACTION_COMPLETED", "action_completed"),
    ("EVALUATOR_STARTED", "evaluator_started"),
    ("EVALUATOR_COMPLETED", "evaluator_completed"),
    ("MODEL_USED", "model_used"),
    ("CUSTOM_EVENT", "custom"),
];

/// An event with its place among all events of this process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventRecord {
    /// Number of the event: one more than that of the event before it in this process.
    pub seq: u64,
    /// Time at which it was published.
    pub at: Timestamp,
    /// The agent that it is about; none if it is about the process.
    pub agent: Option<AgentId>,
    /// What happened.
    pub kind: Event,
}

/// Drafts that a reader may be behind before it misses some.
const DRAFTS: usize = 256;

/// The visible words of an answer while its model writes them. A later one of the same turn replaces it; the
/// committed answer replaces all. Drafts stay in this process, and none is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The agent that answers.
    pub agent: AgentId,
    /// The Room of the answer.
    pub room: RoomId,
    /// The turn.
    pub turn: TurnId,
    /// All words so far, as Markdown.
    pub text: Arc<str>,
}

/// Publishes events to any number of listeners; slow listeners miss some, turns never wait.
#[derive(Clone)]
pub struct EventBus {
    sender: broadcast::Sender<EventRecord>,
    drafts: broadcast::Sender<Draft>,
    /// Number of the next event. Held while it is sent, so that listeners see numbers in order.
    next: Arc<Mutex<u64>>,
    clock: Arc<dyn Clock>,
}

impl Default for EventBus {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock))
    }
}

impl EventBus {
    /// A bus whose events have the times of this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let (sender, drafts) = (broadcast::channel(1024).0, broadcast::channel(DRAFTS).0);
        Self { sender, drafts, next: Arc::default(), clock }
    }
    /// Shows the words of an answer so far. Never waits; without readers it is dropped.
    pub fn publish_draft(&self, draft: Draft) {
        let _ = self.drafts.send(draft);
    }
    /// True if somebody reads drafts. Making one costs time.
    pub fn wants_drafts(&self) -> bool {
        self.drafts.receiver_count() > 0
    }
    /// Reads drafts from now on. A slow reader misses some, which later ones replace.
    pub fn drafts(&self) -> broadcast::Receiver<Draft> {
        self.drafts.subscribe()
    }
    /// Sends an event to all subscribers. Never waits; without subscribers it is dropped.
    pub fn publish(&self, event: Event) {
        let at = self.clock.now();
        let mut next = self.next.lock();
        let record = EventRecord { seq: *next, at, agent: event.agent(), kind: event };
        *next += 1;
        let _ = self.sender.send(record);
    }
    /// Listens from now on.
    pub fn subscribe(&self) -> EventReceiver {
        EventReceiver { events: self.sender.subscribe(), agent: None }
    }
    /// Listens from now on to what is about this agent, or about the process.
    pub fn subscribe_to(&self, agent: AgentId) -> EventReceiver {
        EventReceiver { events: self.sender.subscribe(), agent: Some(agent) }
    }
}

/// Receives events, in order. One that is slower than 1,024 events misses the oldest.
pub struct EventReceiver {
    events: broadcast::Receiver<EventRecord>,
    /// Only events about this agent, and about the process.
    agent: Option<AgentId>,
}

impl EventReceiver {
    /// True if no event waits.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
    /// The next event, with its number and time.
    ///
    /// # Errors
    /// `Lagged` with the number of events that were missed; `Closed` when no bus is left.
    pub async fn next(&mut self) -> std::result::Result<EventRecord, RecvError> {
        loop {
            let record = self.events.recv().await?;
            if self.is_wanted(&record) {
                return Ok(record);
            }
        }
    }
    /// The next event.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub async fn recv(&mut self) -> std::result::Result<Event, RecvError> {
        self.next().await.map(|record| record.kind)
    }
    /// The next event, if there is one already.
    ///
    /// # Errors
    /// `Empty` if there is none; otherwise as [`Self::next`].
    pub fn try_recv(&mut self) -> std::result::Result<Event, TryRecvError> {
        loop {
            let record = self.events.try_recv()?;
            if self.is_wanted(&record) {
                return Ok(record.kind);
            }
        }
    }

    fn is_wanted(&self, record: &EventRecord) -> bool {
        self.agent.is_none_or(|agent| record.agent.is_none_or(|of| of == agent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_have_numbers_in_order_and_the_agent_that_they_are_about() {
        let (bus, agent) = (EventBus::default(), AgentId::fresh());
        let mut heard = bus.subscribe();
        let writers: Vec<_> = (0..8)
            .map(|_| {
                let bus = bus.clone();
                std::thread::spawn(move || {
                    (0..50).for_each(|_| bus.publish(Event::AgentStarted { agent }));
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        for seq in 0..400 {
            let record = heard.next().await.unwrap();
            assert_eq!((record.seq, record.agent), (seq, Some(agent)));
        }
        let json = serde_json::to_value(EventRecord {
            seq: 7,
            at: Timestamp(5),
            agent: Some(agent),
            kind: Event::AgentStopped { agent },
        });
        let json = json.unwrap();
        assert_eq!((&json["seq"], &json["kind"]["event"]), (&7.into(), &"agent_stopped".into()));
    }

    #[test]
    fn names_of_elizaos_are_kinds_that_json_has() {
        let agent = AgentId::fresh();
        let known = ["system_started", "agent_started", "custom"];
        let events = [
            Event::SystemStarted,
            Event::AgentStarted { agent },
            Event::Custom { agent, plugin: "p".into(), name: "n".into(), data: Value::Null },
        ];
        for (event, kind) in events.iter().zip(known) {
            assert_eq!(event.kind(), kind);
            assert_eq!(serde_json::to_value(event).unwrap()["event"], kind);
            assert!(ELIZAOS_NAMES.iter().any(|(_, ours)| *ours == kind), "{kind}");
        }
    }
}

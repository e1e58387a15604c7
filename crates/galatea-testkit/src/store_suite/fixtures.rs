//! Test values of the suite: one agent with its rooms, people and messages.

use galatea_core::{
    Account, Address, AgentId, ChannelType, Content, Delivery, DeliveryId, Encoded, EntityId,
    Memory, MemoryId, MemoryKind, ParticipantState, RemoteId, Room, RoomId, Source, StepOutcome,
    Store, Timestamp, TurnId, Verdict, Visibility, WorldId,
    store::{
        ConnectionChange, EntityChange, Envelope, FinishedMessage, InboxEntry, InboxState, Ingest,
        NewDelivery, OutboxState, RecallQuery, Recalled, RequestedChange, RoomChange, Settlement,
        TurnRecord, WorldChange,
    },
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Source of a platform that does not exist.
pub const SOURCE: Source = Source::new("suite");

/// The account used by every test.
pub fn account() -> Account {
    Account("7".to_owned())
}

/// The hits of a search that misses nothing: all that is stored is indexed before.
pub async fn searched(store: &Arc<dyn Store>, query: &RecallQuery) -> Vec<Recalled> {
    while !store.index_words().await.unwrap() {}
    store.recall(query).await.unwrap()
}

/// A room of one agent, with one person in it.
#[derive(Debug, Clone, Copy)]
pub struct Scene {
    /// The agent.
    pub agent: AgentId,
    /// The World of the room.
    pub world: WorldId,
    /// The room.
    pub room: RoomId,
    /// The person who speaks.
    pub person: EntityId,
}

impl Scene {
    /// A new agent in a new room.
    pub fn new() -> Self {
        Self {
            agent: AgentId::fresh(),
            world: WorldId::fresh(),
            room: RoomId::fresh(),
            person: EntityId::fresh(),
        }
    }

    /// This agent and person in another room.
    #[must_use]
    pub fn other_room(self) -> Self {
        Self { room: RoomId::fresh(), ..self }
    }

    /// The agent's own entity.
    pub fn itself(self) -> EntityId {
        EntityId(self.agent.0)
    }

    /// Platform id of the room.
    pub fn room_remote(self) -> RemoteId {
        RemoteId::new(format!("room-{}", self.room))
    }

    /// The World as its first event reports it.
    pub fn world_change(self) -> WorldChange {
        WorldChange {
            id: self.world,
            agent: self.agent,
            source: SOURCE,
            remote: RemoteId::new("w1"),
            name: None,
            metadata: Map::new(),
        }
    }

    /// The Room as its first event reports it.
    pub fn room_change(self) -> RoomChange {
        RoomChange {
            id: self.room,
            agent: self.agent,
            world: self.world,
            parent: None,
            source: SOURCE,
            account: account(),
            remote: self.room_remote(),
            kind: ChannelType::Group,
            name: None,
            metadata: Map::new(),
        }
    }

    /// The Room itself, as a place of this kind.
    pub fn as_room(self, kind: ChannelType) -> Room {
        Room {
            id: self.room,
            agent_id: self.agent,
            world_id: self.world,
            parent_id: None,
            source: SOURCE,
            account: account(),
            remote: self.room_remote(),
            kind,
            name: "stage".to_owned(),
            metadata: Map::new(),
        }
    }

    /// The view of a group in this room.
    pub fn visible(self) -> Visibility {
        Visibility::in_room(&self.as_room(ChannelType::Group), &[])
    }

    /// The person's view in a direct room.
    pub fn visible_alone(self) -> Visibility {
        Visibility::in_room(&self.as_room(ChannelType::Dm), &[self.person])
    }

    /// An entity with these names.
    pub fn entity_change(self, id: EntityId, names: &[&str]) -> EntityChange {
        EntityChange {
            id,
            agent: self.agent,
            names: names.iter().map(|n| (*n).to_owned()).collect(),
            metadata: Map::new(),
        }
    }

    /// World, Room, entities and participants together.
    pub fn connections(self) -> ConnectionChange {
        ConnectionChange {
            worlds: vec![self.world_change()],
            rooms: vec![self.room_change()],
            entities: vec![
                self.entity_change(self.itself(), &["Galatea"]),
                self.entity_change(self.person, &["Pygmalion"]),
            ],
            participants: vec![(self.itself(), self.room), (self.person, self.room)],
            past: false,
        }
    }

    /// A memory of a message the person sent at `at`, in milliseconds.
    pub fn memory(self, text: &str, at: i64) -> Memory {
        Memory {
            id: MemoryId::fresh(),
            kind: MemoryKind::Messages,
            agent_id: self.agent,
            entity_id: self.person,
            room_id: self.room,
            world_id: Some(self.world),
            content: Content { source: Some("suite".to_owned()), ..Content::text(text) },
            metadata: object(json!({"trust": "stranger"})),
            created_at: Timestamp(at),
        }
    }

    /// This message as an inbox entry.
    pub fn message(self, text: &str, at: i64) -> InboxEntry {
        let memory = self.memory(text, at);
        let remote = RemoteId::new(format!("message-{}", memory.id));
        InboxEntry {
            memory,
            legacy_id: None,
            source: SOURCE,
            account: account(),
            room_remote: self.room_remote(),
            remote,
            envelope: Envelope::default(),
        }
    }

    /// A batch of messages without a cursor.
    pub fn batch(messages: &[InboxEntry]) -> Ingest {
        Ingest { messages: messages.to_vec(), ..Ingest::default() }
    }

    /// Part number `part` of an answer.
    pub fn delivery(self, turn: TurnId, part: u32) -> NewDelivery {
        let address = Address {
            source: SOURCE,
            account: account(),
            room: self.room,
            remote: self.room_remote(),
        };
        let delivery = Delivery {
            id: DeliveryId::fresh(),
            agent: self.agent,
            turn,
            part,
            address,
            key: format!("key{part}"),
            body: Encoded(json!({"text": "answer", "n": [1, 2.5, null]})),
            attempt: 0,
            created_at: Timestamp(900),
            previous: None,
        };
        let expires = Some(Timestamp(5_000));
        NewDelivery { delivery, memory: None, sending: false, delivered: false, expires }
    }

    /// A turn that answers `messages` with one memory and one delivery.
    pub fn turn(self, messages: &[&InboxEntry]) -> TurnRecord {
        let turn = TurnId::fresh();
        let reply = Memory { entity_id: self.itself(), ..self.memory("answer", 800) };
        let delivery = NewDelivery { memory: Some(reply.id), ..self.delivery(turn, 0) };
        TurnRecord {
            turn,
            agent: self.agent,
            room: self.room,
            memories: vec![reply],
            deliveries: vec![delivery],
            finished: messages.iter().map(|m| finished(m.memory.id, InboxState::Done)).collect(),
            effects: Vec::new(),
            usage: Vec::new(),
            told: Vec::new(),
            at: Timestamp(1_000),
            fence: None,
        }
    }
}

/// Sets a participant's state, as a command does.
pub async fn set_participant_state(
    store: &dyn Store,
    agent: AgentId,
    room: RoomId,
    entity: EntityId,
    state: Option<ParticipantState>,
) {
    let effect = RequestedChange::SetParticipantState { room, entity, state };
    let turn = TurnRecord {
        memories: Vec::new(),
        deliveries: Vec::new(),
        effects: vec![effect],
        ..Scene { agent, room, ..Scene::new() }.turn(&[])
    };
    store.finish_turn(turn).await.unwrap();
}

impl Default for Scene {
    fn default() -> Self {
        Self::new()
    }
}

/// A message finished in `state`, with a verdict of one step.
pub fn finished(id: MemoryId, state: InboxState) -> FinishedMessage {
    let mut verdict = Verdict::default();
    verdict.step("mention", StepOutcome::Answer, "it was \"mentioned\"");
    FinishedMessage { id, state, verdict }
}

/// A settlement that puts a delivery in `state`.
pub fn settlement(id: DeliveryId, state: OutboxState) -> Settlement {
    Settlement {
        id,
        state,
        attempt: 1,
        not_before: Timestamp(0),
        remote: None,
        error: None,
        outcome_unknown: false,
        fence: None,
    }
}

/// A JSON object as a map; anything else becomes an empty map.
pub fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

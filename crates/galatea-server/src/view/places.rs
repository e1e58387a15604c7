//! Worlds, rooms, people and memories.

use galatea_core::{Entity, Memory, Participant, Room, World, store::ListedRoom};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{list, word};

/// A World.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct WorldView {
    id: Uuid,
    agent: Uuid,
    /// The platform.
    source: String,
    name: String,
}

impl From<World> for WorldView {
    fn from(world: World) -> Self {
        Self {
            id: world.id.0,
            agent: world.agent_id.0,
            source: world.source.as_str().to_owned(),
            name: world.name,
        }
    }
}

list!(/// Worlds.
    WorldList of WorldView);

/// A Room.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoomView {
    id: Uuid,
    agent: Uuid,
    world: Uuid,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Uuid>,
    /// The platform.
    source: String,
    /// Our login on it.
    account: String,
    /// `DM`, `GROUP`, …
    kind: String,
    name: String,
    /// Time of its newest message.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_at: Option<i64>,
}

impl From<Room> for RoomView {
    fn from(room: Room) -> Self {
        Self {
            id: room.id.0,
            agent: room.agent_id.0,
            world: room.world_id.0,
            parent: room.parent_id.map(|id| id.0),
            source: room.source.as_str().to_owned(),
            account: room.account.0,
            kind: word(&room.kind),
            name: room.name,
            last_at: None,
        }
    }
}

impl From<ListedRoom> for RoomView {
    fn from(listed: ListedRoom) -> Self {
        Self { last_at: listed.last_at.map(|at| at.0), ..listed.room.into() }
    }
}

list!(/// Rooms.
    RoomList of RoomView);

/// A Room with who is in it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct RoomDetail {
    room: RoomView,
    /// Ids of the people in it.
    people: Vec<Uuid>,
}

impl RoomDetail {
    pub(crate) fn of(room: Room, people: &[Participant]) -> Self {
        Self { room: room.into(), people: people.iter().map(|p| p.entity_id.0).collect() }
    }
}

/// A person, or a bot.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct PersonView {
    id: Uuid,
    agent: Uuid,
    /// Names, the newest first.
    names: Vec<String>,
    /// What the platform says about them.
    #[schema(value_type = Object)]
    metadata: Value,
}

impl From<Entity> for PersonView {
    fn from(entity: Entity) -> Self {
        Self {
            id: entity.id.0,
            agent: entity.agent_id.0,
            names: entity.names.clone(),
            metadata: serde_json::to_value(&entity.metadata).unwrap_or_default(),
        }
    }
}

list!(/// People.
    PersonList of PersonView);

/// A memory: a message, a fact, a summary, …
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemoryView {
    id: Uuid,
    /// `messages`, `facts`, `summaries`, `profiles`, …
    kind: String,
    agent: Uuid,
    room: Uuid,
    /// Its author.
    author: Uuid,
    /// The agent itself wrote it.
    own: bool,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_reply_to: Option<Uuid>,
    /// Number of files and pictures.
    attachments: usize,
    at: i64,
    /// Free keys, such as the confidence of a fact.
    #[schema(value_type = Object)]
    metadata: Value,
}

impl From<Memory> for MemoryView {
    fn from(memory: Memory) -> Self {
        Self {
            id: memory.id.0,
            kind: memory.kind.as_str().to_owned(),
            agent: memory.agent_id.0,
            room: memory.room_id.0,
            author: memory.entity_id.0,
            own: memory.entity_id.0 == memory.agent_id.0,
            in_reply_to: memory.content.in_reply_to.map(|id| id.0),
            attachments: memory.content.attachments.len(),
            text: memory.content.text,
            at: memory.created_at.0,
            metadata: Value::Object(memory.metadata),
        }
    }
}

list!(/// Memories.
    MemoryList of MemoryView);

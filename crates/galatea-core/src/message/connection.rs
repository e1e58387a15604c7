//! Place and speaker of a message, in the platform's ids and in ours.

use serde_json::{Map, Value};

use crate::{
    ids::{EntityId, RemoteId, RoomId, WorldId},
    room::ChannelType,
    world::Role,
};

/// Place of a message: everything `ensure_connection` needs. Ids are the platform's; the
/// runtime derives ours.
///
/// Field names of elizaOS: `world.remote` is `messageServerId` before hashing, `room.remote` is
/// `channelId`, `entity.remote` is `userId`.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    /// The server, workspace or group that the Room belongs to.
    pub world: WorldRef,
    /// The channel, chat or thread.
    pub room: RoomRef,
    /// The speaker; none for events without one.
    pub entity: Option<EntityRef>,
}

/// A World as the platform describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct WorldRef {
    /// The platform's id of the World.
    pub remote: RemoteId,
    /// Name; `None` when this event does not tell (a known name is kept).
    pub name: Option<String>,
    /// Owner, if the platform names one.
    pub owner: Option<RemoteId>,
    /// Roles, if the platform lists them; merged into those known.
    pub roles: Vec<(RemoteId, Role)>,
    /// Free keys, merged into those known.
    pub metadata: Map<String, Value>,
}

/// A Room as the platform describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct RoomRef {
    /// Platform id; with threads it includes the parent's (`-100123-42`).
    pub remote: RemoteId,
    /// Name, if the platform gives one.
    pub name: Option<String>,
    /// Decides which policy of the gate holds: direct messages or groups.
    pub kind: ChannelType,
    /// The Room this is a thread or topic of.
    pub parent: Option<RemoteId>,
    /// Free keys, merged into those known.
    pub metadata: Map<String, Value>,
}

/// A speaker as the platform describes them.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityRef {
    /// The platform's id of the person.
    pub remote: RemoteId,
    /// The name that people see; none when the platform does not send it.
    pub name: Option<String>,
    /// The unique name on the platform, without `@`.
    pub user_name: Option<String>,
    /// True for bots and webhooks.
    pub is_bot: bool,
    /// Free keys, merged into those known.
    pub metadata: Map<String, Value>,
}

impl WorldRef {
    /// A World of which only the id and a name are known.
    pub fn new(remote: RemoteId, name: Option<String>) -> Self {
        Self { remote, name, owner: None, roles: Vec::new(), metadata: Map::new() }
    }
}

impl RoomRef {
    /// A Room without a parent.
    pub fn new(remote: RemoteId, name: Option<String>, kind: ChannelType) -> Self {
        Self { remote, name, kind, parent: None, metadata: Map::new() }
    }
}

impl EntityRef {
    /// A person or bot as the platform describes them.
    pub fn new(remote: RemoteId, name: Option<String>, user_name: Option<String>) -> Self {
        Self { remote, name, user_name, is_bot: false, metadata: Map::new() }
    }
}

/// Our ids of a [`Connection`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionIds {
    /// Our id of the World, which is stored now.
    pub world: WorldId,
    /// Our id of the Room, which is stored now.
    pub room: RoomId,
    /// The speaker; the agent itself when the connection names none.
    pub entity: EntityId,
}

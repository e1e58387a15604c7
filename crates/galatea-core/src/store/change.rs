//! Changes of connections and of what actions ask for: whole values that a store applies in one
//! commit.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    entity::ParticipantState,
    ids::{Account, AgentId, EntityId, RemoteId, RoomId, Source, WorldId},
};

/// Connections to set up or update: only what is new or changed. Applied in one transaction, rows
/// merged field by field: a name given replaces, a name missing keeps; metadata keys are merged;
/// owner and roles are merged; participants are inserted if absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConnectionChange {
    /// New and changed Worlds, before their Rooms.
    pub worlds: Vec<WorldChange>,
    /// New and changed Rooms.
    pub rooms: Vec<RoomChange>,
    /// New people and bots, and those with new names.
    pub entities: Vec<EntityChange>,
    /// Participants to insert if absent.
    pub participants: Vec<(EntityId, RoomId)>,
    /// The rows are of the past, as an import reads them: a World, Room or Entity that is stored keeps
    /// all that it has. Only a missing parent, further names and missing metadata keys are added, and
    /// nothing to an Entity without names and metadata, which was forgotten.
    pub past: bool,
}

impl ConnectionChange {
    /// True when there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.worlds.is_empty()
            && self.rooms.is_empty()
            && self.entities.is_empty()
            && self.participants.is_empty()
    }

    /// Adds another change after this one.
    pub fn extend(&mut self, other: Self) {
        self.worlds.extend(other.worlds);
        self.rooms.extend(other.rooms);
        self.entities.extend(other.entities);
        self.participants.extend(other.participants);
        self.past |= other.past;
    }
}

/// A World to insert or merge. `name: None` inserts the remote id as name and keeps a known one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorldChange {
    /// Derived from the agent and the platform's id.
    pub id: WorldId,
    /// The agent that knows it.
    pub agent: AgentId,
    /// The platform it lies on.
    pub source: Source,
    /// Its id on the platform.
    pub remote: RemoteId,
    /// Name, if the platform gives one.
    pub name: Option<String>,
    /// Merged key by key (objects one level deep: `roles`, `ownership`).
    pub metadata: Map<String, Value>,
}

/// A Room to insert or merge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoomChange {
    /// Derived from the agent, the platform's id and, but for the first account, the account.
    pub id: RoomId,
    /// The agent that knows it.
    pub agent: AgentId,
    /// The World that contains it.
    pub world: WorldId,
    /// Parent, if the platform names one; otherwise a known one is kept.
    pub parent: Option<RoomId>,
    /// The platform it lies on.
    pub source: Source,
    /// The agent's account there.
    pub account: Account,
    /// Its id on the platform.
    pub remote: RemoteId,
    /// Replaces a known kind.
    pub kind: crate::room::ChannelType,
    /// Name, if the platform gives one.
    pub name: Option<String>,
    /// Merged key by key.
    pub metadata: Map<String, Value>,
}

/// An Entity to insert or merge: names are put in front of those known, without repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntityChange {
    /// Derived from the agent and the platform's id.
    pub id: EntityId,
    /// The agent that knows it.
    pub agent: AgentId,
    /// Newest names, display name first.
    pub names: Vec<String>,
    /// Merged key by key (objects one level deep).
    pub metadata: Map<String, Value>,
}

/// A change an action or command asks for, applied in T2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum RequestedChange {
    /// Sets or clears a participant's state.
    SetParticipantState {
        /// The Room in which the state holds.
        room: RoomId,
        /// Participant whose state changes; inserted as a participant if missing.
        entity: EntityId,
        /// The new state; none clears it.
        state: Option<ParticipantState>,
    },
    /// Merges keys into a room's metadata.
    MergeRoomMetadata {
        /// The Room whose metadata changes.
        room: RoomId,
        /// Keys to set; a null removes its key.
        metadata: Map<String, Value>,
    },
    /// Merges keys into an entity's metadata.
    MergeEntityMetadata {
        /// The person whose metadata changes.
        entity: EntityId,
        /// Keys to set; a null removes its key.
        metadata: Map<String, Value>,
    },
    /// Sets a role in a World.
    SetRole {
        /// The World in which the role holds.
        world: WorldId,
        /// The person who gets the role.
        entity: EntityId,
        /// Role of the person from now on.
        role: crate::world::Role,
    },
    /// Sets after how many days the messages of a World are deleted.
    SetRetention {
        /// The World whose messages expire.
        world: WorldId,
        /// From 1 to [`crate::world::MOST_RETENTION_DAYS`]; 0 keeps them.
        days: u32,
    },
    /// Sets or removes a World's setting that the character declares.
    SetWorldSetting {
        /// The World whose setting changes.
        world: WorldId,
        /// Its key ([`crate::world_settings::WorldSetting::key`]).
        key: String,
        /// The new value; none removes it.
        value: Option<String>,
    },
    /// Inserts or replaces a task.
    SaveTask {
        /// The task; its agent is the turn's.
        task: Box<crate::task::Task>,
    },
    /// Removes a task, done or not.
    DeleteTask {
        /// Succeeds if the task does not exist.
        task: crate::ids::TaskId,
    },
    /// Deletes all that a person wrote, the agent's answers to it, their names, and the links of their
    /// identity.
    ForgetPerson {
        /// The person to forget.
        entity: EntityId,
    },
    /// Makes these entities one person, each linked with each, and ends the question. The runtime
    /// asks for it after both sides agreed; no action may. Refuses the turn (`Conflict`) if the
    /// question is gone by then, or if one of them has got a link to another entity meanwhile, so that
    /// a reply which says that it is done is true.
    LinkPeople {
        /// The task of the question that both sides agreed to.
        question: crate::ids::TaskId,
        /// Which, at most [`crate::store::MOST_LINKED`].
        entities: Vec<EntityId>,
    },
    /// Ends every link of an entity.
    Unlink {
        /// The person who is forgotten, on one platform.
        entity: EntityId,
    },
}

//! Writes what is remembered as JSON lines, one record a line. `galatea memory export` writes them
//! of an agent, `/privacy export` of a person.

use serde::{Deserialize, Serialize};

use crate::{
    clock::Timestamp,
    derived::Derived,
    entity::Entity,
    ids::{RoomId, TurnId},
    relationship::{IdentityLink, Relationship},
    room::Room,
    store::{TraceStep, UsageRow, task::Task},
    world::World,
};

/// Version of the format, in the first line.
pub const FORMAT: &str = "galatea.memory/1";

/// A line. Worlds, rooms and people come before memories, and memories from the oldest to the
/// newest, so that a reader knows what a line refers to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// The first line: what the file is.
    Export {
        /// [`FORMAT`]: an import refuses any other.
        format: String,
        /// Name of the agent that it was exported from.
        agent: String,
        /// Date and time of the export (RFC 3339), for people.
        at: String,
        /// True if [`Self::End`] is its last line. Earlier versions wrote none.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        has_end: bool,
    },
    /// A World (server, workspace, group) of the agent.
    World(World),
    /// A Room (channel, chat, thread) of the agent.
    Room(Room),
    /// A person, as the agent knows them on one platform.
    Entity(Entity),
    /// Another entity that is the same person, as a copy for that person shows it. An import leaves it
    /// out.
    Linked(Entity),
    /// Two entities that are the same person, and since when.
    Link(IdentityLink),
    /// Connection of two entities.
    Relationship(Relationship),
    /// A message, or what was made from messages.
    Memory(Box<Derived>),
    /// Use of a person's answers on a day. An import leaves it out.
    Usage(UsageRow),
    /// A task that concerns a person, such as a reminder. An import leaves it out.
    Task(Box<Task>),
    /// What a person allowed tools to do without a question. An import leaves it out.
    Consent {
        /// The grant in words.
        grant: String,
    },
    /// What was recorded of a turn that answered a person; prompts and answers, which show what others
    /// wrote as well, are not in it. An import leaves it out.
    Trace {
        /// The turn.
        turn: TurnId,
        /// The Room.
        room: RoomId,
        /// Time at which the turn began.
        at: Timestamp,
        /// The steps in their order.
        steps: Vec<TraceStep>,
    },
    /// The last line: a file without it was cut off.
    End {
        /// The lines before it.
        records: usize,
    },
}

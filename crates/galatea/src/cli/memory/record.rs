//! What an export consists of: one JSON object a line.

use galatea_core::{Derived, Entity, Relationship, Room, World};
use serde::{Deserialize, Serialize};

/// Version of the format, in the first line.
pub(crate) const FORMAT: &str = "galatea.memory/1";

/// One line. Worlds, rooms and people come before memories, and memories from the oldest to the
/// newest, so that a reader knows what a line refers to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(crate) enum Record {
    /// The first line.
    Export {
        /// [`FORMAT`].
        format: String,
        /// The agent's name.
        agent: String,
        /// When, for people.
        at: String,
    },
    World(World),
    Room(Room),
    Entity(Entity),
    Relationship(Relationship),
    Memory(Box<Derived>),
}

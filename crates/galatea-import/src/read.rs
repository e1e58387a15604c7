//! Pure readers, one per format: bytes become rows or messages, and each fault has its place. Readers
//! know no store.

pub(crate) mod elizaos;
pub(crate) mod galatea;
pub(crate) mod log;
pub(crate) mod own;
pub(crate) mod platform;

use galatea_core::{
    AgentId, Derived, EntityId, IdentityLink, Relationship, RoomId, Task,
    store::{EntityChange, RoomChange, WorldChange},
};

/// An entry of a file; or why there is none.
pub(crate) type Read = Result<Entry, Fault>;

/// A row of a file with the line on which it ends.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) line: usize,
    pub(crate) item: Item,
}

/// What a row is.
#[derive(Debug)]
pub(crate) enum Item {
    World(WorldChange),
    /// Its account is empty where the file names none.
    Room(RoomChange),
    Person(EntityChange),
    Participant(EntityId, RoomId),
    Relationship(Relationship),
    Link(IdentityLink),
    Task(Box<Task>),
    Memory {
        row: Box<Derived>,
        /// Whether its author takes part in its Room. Files that list the participants say no.
        takes_part: bool,
        remark: Remark,
    },
    /// An exact copy of an earlier memory of the file.
    Copy,
    /// A row of another agent.
    Other {
        agent: AgentId,
        /// Whether the operator learns of each such row.
        is_named: bool,
    },
    /// A row that an import leaves out on purpose.
    Nothing,
}

/// What the operator has to know about a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Remark {
    None,
    /// A fact about no person.
    Unattributed,
    /// A document, or a piece of one; `of` is the document's id.
    Document {
        of: String,
    },
}

/// Why a row, or the rest of a file, is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The row on this line is left out.
    Line(usize, String),
    /// The file cannot be imported.
    File(String),
}

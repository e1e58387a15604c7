//! Messages from this program to an agent, and what comes back.

use galatea_core::{MemoryId, RemoteId, Source, TurnId};
use std::fmt;

/// The platform's name in addresses and settings (`DIRECT_DM_POLICY`, …).
pub(super) const SOURCE: Source = Source::new("direct");
/// Begins the ids of people and Rooms: ids are hashed without the platform's name.
const PREFIX: &str = "direct";

/// Platform id of a Room that several people share.
pub(super) fn room_id(name: &str) -> RemoteId {
    RemoteId::new(format_args!("{PREFIX}-room/{name}"))
}

/// Platform id of a person, and of their private Room.
pub(super) fn person_id(person: &Person) -> RemoteId {
    RemoteId::new(format_args!("{PREFIX}/{}", person.id))
}

/// A person who talks to an agent through this program. The program vouches for who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Id of the person in this program, such as `alice`.
    pub(crate) id: String,
    /// Name that the agent knows them by; the id if none was given.
    pub(crate) name: String,
    /// Whether the person owns the agent.
    pub(crate) owner: bool,
}

impl Person {
    /// A person without rights over the agent. The id is stable: the agent recognises the person by
    /// it.
    pub fn new(id: impl Into<String>) -> Self {
        let id = id.into();
        Self { name: id.clone(), id, owner: false }
    }

    /// An owner of the agent, who may change its settings and confirm its actions.
    pub fn owner(id: impl Into<String>) -> Self {
        Self { owner: true, ..Self::new(id) }
    }

    /// The name that the agent knows the person by.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }
}

impl From<&str> for Person {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

impl From<String> for Person {
    fn from(id: String) -> Self {
        Self::new(id)
    }
}

/// A message to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub(crate) person: Person,
    pub(crate) text: String,
    pub(crate) room: Option<String>,
    pub(crate) id: Option<String>,
    /// In a shared room: it is not addressed to the agent.
    pub(crate) aside: bool,
}

impl Message {
    /// A message of a person, in their private conversation with the agent.
    pub fn new(person: impl Into<Person>, text: impl Into<String>) -> Self {
        Self { person: person.into(), text: text.into(), room: None, id: None, aside: false }
    }

    /// The message is said in a room that several people share, by its name in this program. It is
    /// addressed to the agent.
    #[must_use]
    pub fn in_room(mut self, room: impl Into<String>) -> Self {
        self.room = Some(room.into());
        self
    }

    /// In a room that several people share, the message is said to the others: the agent answers only
    /// if its policy for groups says so.
    #[must_use]
    pub fn aside(mut self) -> Self {
        self.aside = true;
        self
    }

    /// Id of the message in this program. A message with a known id is not answered again: the
    /// caller gets the answer that it got before.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// The answer of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The whole answer: its parts, separated by line breaks.
    pub text: String,
    /// Messages of the answer, in order.
    pub parts: Vec<String>,
    /// The turn that answered; `galatea explain` shows it.
    pub turn: TurnId,
    /// Id under which the question is stored.
    pub question: MemoryId,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A step on the way to an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Piece {
    /// The agent began to think about the message.
    Thinking,
    /// The agent began to use a tool.
    ToolStarted {
        /// Name of the action.
        name: String,
    },
    /// The agent has used a tool.
    ToolEnded {
        /// Name of the action.
        name: String,
        /// Whether it did what it was called for.
        success: bool,
    },
    /// The words of the answer so far, while the model writes them. A later draft replaces it, and the messages
    /// of the answer replace all drafts.
    Draft(String),
    /// A message of the answer.
    Text(String),
    /// Nothing follows. The answer is stored.
    End(Answer),
}

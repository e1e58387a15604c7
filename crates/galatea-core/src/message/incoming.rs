//! Events that a connector hands over.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{Connection, EntityRef, RoomRef, WorldRef};
use crate::{clock::Timestamp, command::Command, content::Content, ids::RemoteId};

/// An event from a platform, decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    /// Place and person.
    pub connection: Connection,
    /// The event, in the contract's terms.
    pub event: IncomingEvent,
    /// When, by the platform's clock.
    pub at: Timestamp,
}

/// An event of a platform that the engine understands.
#[derive(Debug, Clone, PartialEq)]
pub enum IncomingEvent {
    /// A person or bot said something.
    Message(IncomingMessage),
    /// Something said was changed.
    Edited {
        /// The platform's id of the edited message.
        id: RemoteId,
        /// The whole content after the edit.
        content: Content,
        /// Its address now. A message that did not address the account before and mentions
        /// it now is a question, once.
        addressed: Addressed,
    },
    /// Messages were removed on the platform; their text is deleted here too.
    Deleted {
        /// The platform's ids; unknown ones are ignored.
        ids: Vec<RemoteId>,
    },
    /// A reaction was set or taken back.
    Reacted {
        /// The platform's id of the message that was reacted to.
        id: RemoteId,
        /// Emoji that the person added.
        added: Vec<String>,
        /// Emoji that the person took away.
        removed: Vec<String>,
    },
    /// Entities came into the room.
    Joined {
        /// The people who joined.
        entities: Vec<EntityRef>,
    },
    /// Entities left the room.
    Left {
        /// The people who left.
        entities: Vec<EntityRef>,
    },
    /// A button was pressed. The connector has acknowledged it already.
    Pressed {
        /// The platform's id of this press, by which it is answered.
        id: RemoteId,
        /// The message with the button.
        message: Option<RemoteId>,
        /// Data of the button ([`Press::Data`](crate::Press)).
        data: String,
    },
    /// Our own standing in the room changed.
    OwnStatus(OwnStatus),
    /// The room goes on under another id: the Room, its outbox and settings move with it.
    RoomMoved {
        /// The Room's new id on the platform.
        to: RemoteId,
    },
}

/// The agent's own standing in a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnStatus {
    /// The agent was added to the place.
    Joined,
    /// Taken in with admin rights.
    Admin,
    /// The agent is there, and may not write.
    Restricted,
    /// The room itself is gone; we are still in its World.
    Closed,
    /// Removed, or blocked by the person.
    Removed,
}

/// A message from a platform.
#[derive(Debug, Clone, PartialEq)]
pub struct IncomingMessage {
    /// Platform id, unique within the account: it includes the room where the platform numbers per
    /// room.
    pub id: RemoteId,
    /// The id elizaOS would have hashed, where it differs; recognised as the same message.
    pub legacy_id: Option<RemoteId>,
    /// The words, in Markdown.
    pub content: Content,
    /// Its address to us.
    pub addressed: Addressed,
    /// The message it replies to.
    pub reply_to: Option<RemoteId>,
    /// A command meant for us, parsed by the connector.
    pub command: Option<Command>,
    /// Sent by this very account (an echo).
    pub from_self: bool,
}

/// Address of a message to the agent, as far as the platform itself shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Addressed {
    /// The account is mentioned (by entity, not by text search).
    pub mention: bool,
    /// It replies to a message of this account.
    pub reply: bool,
}

impl Addressed {
    /// True if the platform shows no sign that the message is for the agent.
    pub fn is_unaddressed(&self) -> bool {
        !self.mention && !self.reply
    }
}

/// Messages of the past, read from a file that people export from a platform.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Archive {
    /// In the file's order.
    pub messages: Vec<Incoming>,
    /// Unreadable entries, each with its place and the reason.
    pub skipped: Vec<String>,
    /// Entries that the connector does not store either when it receives it, such as service
    /// messages, and how many of them there are.
    pub left_out: BTreeMap<&'static str, usize>,
}

impl Archive {
    /// Counts an entry that is not stored. `what` is a plural.
    pub fn leave_out(&mut self, what: &'static str) {
        *self.left_out.entry(what).or_default() += 1;
    }
}

/// A batch as a connector hands it over: events, and how far the platform has been read once they
/// are stored.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// In the platform's order.
    pub events: Vec<Incoming>,
    /// Stored in the same commit as the events.
    pub cursor: Option<Cursor>,
    /// Values of the account's state, each with its key, stored in the same commit; null removes a
    /// key.
    pub state: Vec<(String, serde_json::Value)>,
}

/// Read position of a stream of a platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Names the stream within the account, such as `updates`.
    pub stream: String,
    /// Opaque to us: an offset, a session and sequence, a since_id.
    pub position: String,
}

/// The result of receiving a [`Batch`]. It is returned only after the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Received {
    /// Events stored for the first time.
    pub stored: usize,
    /// Events that were stored before, such as those polled again after a crash.
    pub duplicates: usize,
}

/// Members of a World in bulk, for guild or chat sync.
#[derive(Debug, Clone)]
pub struct WorldSync {
    /// The World that is described.
    pub world: WorldRef,
    /// Its Rooms, as the platform lists them.
    pub rooms: Vec<RoomRef>,
    /// Its Entities, with the Rooms they are in (all of `rooms` when empty).
    pub entities: Vec<(EntityRef, Vec<RemoteId>)>,
}

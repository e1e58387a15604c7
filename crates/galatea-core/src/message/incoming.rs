//! What a connector hands over.

use serde::{Deserialize, Serialize};

use super::{Connection, EntityRef, RoomRef, WorldRef};
use crate::{clock::Timestamp, command::Command, content::Content, ids::RemoteId};

/// One event from a platform, decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    /// Where and by whom.
    pub connection: Connection,
    /// What happened.
    pub event: IncomingEvent,
    /// When, by the platform's clock.
    pub at: Timestamp,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum IncomingEvent {
    /// Something was said.
    Message(IncomingMessage),
    /// Something said was changed.
    Edited {
        /// Which message.
        id: RemoteId,
        /// Its new content.
        content: Content,
        /// How it is addressed now. A message that did not address the account before and mentions
        /// it now is a question, once.
        addressed: Addressed,
    },
    /// Messages were removed.
    Deleted {
        /// Which messages.
        ids: Vec<RemoteId>,
    },
    /// A reaction was set or taken back.
    Reacted {
        /// On which message.
        id: RemoteId,
        /// Added emoji.
        added: Vec<String>,
        /// Removed emoji.
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
        /// Identifies the press.
        id: RemoteId,
        /// The message with the button.
        message: Option<RemoteId>,
        /// The button's data.
        data: String,
    },
    /// Our own standing in the room changed.
    OwnStatus(OwnStatus),
    /// The room goes on under another id: the Room, its outbox and settings move with it.
    RoomMoved {
        /// The new id.
        to: RemoteId,
    },
}

/// The agent's own standing in a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnStatus {
    /// Taken in.
    Joined,
    /// Taken in with admin rights.
    Admin,
    /// May not write.
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
    /// What was said, in Markdown.
    pub content: Content,
    /// How it is addressed to us.
    pub addressed: Addressed,
    /// The message it replies to.
    pub reply_to: Option<RemoteId>,
    /// A command meant for us, parsed by the connector.
    pub command: Option<Command>,
    /// Sent by this very account (an echo).
    pub from_self: bool,
}

/// How a message is addressed to the agent, as far as the platform itself shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Addressed {
    /// The account is mentioned (by entity, not by text search).
    pub mention: bool,
    /// It replies to a message of this account.
    pub reply: bool,
}

impl Addressed {
    /// Whether the platform shows no sign that the message is for the agent.
    pub fn is_unaddressed(&self) -> bool {
        !self.mention && !self.reply
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

/// How far a stream of a platform has been read.
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
    /// Events known already.
    pub duplicates: usize,
}

/// Members of a World in bulk, for guild or chat sync.
#[derive(Debug, Clone)]
pub struct WorldSync {
    /// The World.
    pub world: WorldRef,
    /// Its Rooms.
    pub rooms: Vec<RoomRef>,
    /// Its Entities, with the Rooms they are in (all of `rooms` when empty).
    pub entities: Vec<(EntityRef, Vec<RemoteId>)>,
}

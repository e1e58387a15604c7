//! Incoming, Outgoing, Delivery, Receipt, Address: what comes in, what to do, what is queued, what
//! the platform answered.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    clock::Timestamp,
    command::Command,
    content::{Button, Content},
    entity::ParticipantState,
    ids::{Account, AgentId, DeliveryId, EntityId, RemoteId, RoomId, Source, TurnId, WorldId},
    room::ChannelType,
    world::Role,
};

/// Where something was said: everything `ensure_connection` needs. Ids are the platform's; the
/// runtime derives ours.
///
/// Field names of elizaOS: `world.remote` is `messageServerId` before hashing, `room.remote` is
/// `channelId`, `entity.remote` is `userId`.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    /// The container.
    pub world: WorldRef,
    /// The place.
    pub room: RoomRef,
    /// The speaker; none for events without one.
    pub entity: Option<EntityRef>,
}

/// A World as the platform tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct WorldRef {
    /// Platform id.
    pub remote: RemoteId,
    /// Name; `None` when this event does not tell (a known name is kept).
    pub name: Option<String>,
    /// Owner, if told.
    pub owner: Option<RemoteId>,
    /// Roles, if told; merged into those known.
    pub roles: Vec<(RemoteId, Role)>,
    /// Free keys, merged into those known.
    pub metadata: Map<String, Value>,
}

/// A Room as the platform tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct RoomRef {
    /// Platform id; with threads it includes the parent's (`-100123-42`).
    pub remote: RemoteId,
    /// Name, if told.
    pub name: Option<String>,
    /// Kind of place.
    pub kind: ChannelType,
    /// The Room this is a thread or topic of.
    pub parent: Option<RemoteId>,
    /// Free keys, merged into those known.
    pub metadata: Map<String, Value>,
}

/// A speaker as the platform tells them.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityRef {
    /// Platform id.
    pub remote: RemoteId,
    /// Display name.
    pub name: Option<String>,
    /// Handle without `@`.
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
    /// A person.
    pub fn new(remote: RemoteId, name: Option<String>, user_name: Option<String>) -> Self {
        Self { remote, name, user_name, is_bot: false, metadata: Map::new() }
    }
}

/// Our ids of a [`Connection`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The World.
    pub world: WorldId,
    /// The Room.
    pub room: RoomId,
    /// The speaker; the agent itself when the connection names none.
    pub entity: EntityId,
}

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
        /// How it is addressed now. One that addressed nobody before and mentions the account now
        /// is a question, once.
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
        /// Who.
        entities: Vec<EntityRef>,
    },
    /// Entities left the room.
    Left {
        /// Who.
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

/// What became of a [`Batch`]; returned only after the commit.
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

/// What to do on a platform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Outgoing {
    /// Say something, in as many parts as the platform needs.
    Message {
        /// What.
        content: Content,
        /// The platform message it answers.
        reply_to: Option<RemoteId>,
    },
    /// Change what was said.
    Edit {
        /// Which message of ours.
        id: RemoteId,
        /// Its new content.
        content: Content,
    },
    /// Set or take back a reaction.
    React {
        /// On which message.
        id: RemoteId,
        /// The emoji; none takes it back.
        emoji: Option<String>,
    },
    /// Remove a message.
    Delete {
        /// Which.
        id: RemoteId,
    },
    /// Show that an answer is being prepared. Never stored, never retried.
    Typing,
}

impl Outgoing {
    /// As it may go out: texts without what no reader sees ([`Content::made_visible`]).
    #[must_use]
    pub fn made_visible(self) -> Self {
        match self {
            Self::Message { content, reply_to } => {
                Self::Message { content: content.made_visible(), reply_to }
            }
            Self::Edit { id, content } => Self::Edit { id, content: content.made_visible() },
            other @ (Self::React { .. } | Self::Delete { .. } | Self::Typing) => other,
        }
    }

    /// A message with these buttons and text.
    pub fn ask(text: impl Into<String>, buttons: Vec<Vec<Button>>) -> Self {
        Self::Message { content: Content { buttons, ..Content::text(text) }, reply_to: None }
    }
}

/// Where to deliver.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// Platform.
    pub source: Source,
    /// Login on it.
    pub account: Account,
    /// Our Room.
    pub room: RoomId,
    /// The platform's id of that Room, as its connector wrote it.
    pub remote: RemoteId,
}

/// One outbox row on its way: one part of one answer, already in the platform's own form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// Outbox id.
    pub id: DeliveryId,
    /// Whose.
    pub agent: AgentId,
    /// The turn it belongs to; unique together with `part`.
    pub turn: TurnId,
    /// Number of this part, from 0.
    pub part: u32,
    /// Where to.
    pub address: Address,
    /// Idempotency key: at most 22 characters of base62, stable over retries.
    pub key: String,
    /// What to send, from [`crate::SendHandler::encode`].
    pub body: Encoded,
    /// Attempts made before this one.
    pub attempt: u32,
    /// When the row was committed.
    pub created_at: Timestamp,
    /// What the part before it became, where that is known: an answer in several parts goes on
    /// there. Told with each attempt, not stored here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<RemoteId>,
}

/// A platform's own form of one part: opaque to everybody but its connector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Encoded(pub Value);

/// What the platform answered to a [`Delivery`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The platform's id of what was sent, in the form incoming ids have.
    pub id: Option<RemoteId>,
    /// Set when the platform says that the room has moved; the delivery went to the new one.
    pub moved_to: Option<RemoteId>,
}

/// What is stored around a delivery whose outcome is unknown: where a read-back has to look, and
/// what it need not take for the lost one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadBackContext {
    /// The newest messages received in the Room before the delivery was committed, newest first.
    pub received: Vec<RemoteId>,
    /// Messages sent to the Room before it, newest first.
    pub sent: Vec<RemoteId>,
    /// Messages of ours around it on this account, in any Room, whose outcome is known.
    pub ours: Vec<RemoteId>,
    /// Messages received on this account about then and lately, in any Room: where several Rooms
    /// share one count of messages, these lie between.
    pub others: Vec<RemoteId>,
    /// Rooms of this account in which another delivery's outcome is unknown; its own Room once for
    /// each earlier one that came to no clear end.
    pub doubtful: Vec<RemoteId>,
    /// So much was sent since that not all of ours is here.
    pub cut: bool,
}

/// What a read-back found out about an ambiguous delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadBackResult {
    /// It is there.
    Sent(Receipt),
    /// It is provably not there.
    NotSent,
    /// The platform gives no way to tell.
    Unknown,
}

/// The state of a room for its agent, for commands and actions that change it.
pub type RoomSwitch = Option<ParticipantState>;

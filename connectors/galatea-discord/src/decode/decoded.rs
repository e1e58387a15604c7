//! The result of decoding one event, and the bot that it is decoded for.

use galatea_core::{Connection, Incoming, IncomingEvent, RemoteId, Timestamp, message::WorldSync};

/// The bot's own identity on Discord.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Me {
    pub(crate) id: u64,
    /// The bot's display name.
    pub(crate) name: String,
}

/// The result of decoding one event.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// Events in order; usually none or one.
    pub(crate) events: Vec<Incoming>,
    /// Worlds and Rooms that are new or changed.
    pub(crate) syncs: Vec<WorldSync>,
    /// The nonce and id of our own message, if the event is its echo.
    pub(crate) echo: Option<(String, RemoteId)>,
    /// The message's id, if the event is a new message.
    pub(crate) newest: Option<u64>,
    /// The direct message channel in which the message was written, if any.
    pub(crate) direct: Option<u64>,
    /// The message is malformed: not even its text can be read.
    pub(crate) unreadable: bool,
    /// Why a message that was read is not stored.
    pub(crate) left_out: Option<&'static str>,
}

pub(super) fn single(connection: Connection, event: IncomingEvent, at: Timestamp) -> Vec<Incoming> {
    vec![Incoming { connection, event, at }]
}

//! Stored position of a shard's event stream. Another process can resume from here without
//! IDENTIFY.

use galatea_core::Cursor;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::decode::raw::id;

/// A gateway session, in Discord's sense.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// Discord's id of the session.
    pub(crate) id: String,
    /// The gateway address at which it is resumed.
    pub(crate) address: Url,
    /// Sequence number of the last event received.
    pub(crate) sequence: u64,
}

/// Stored position of a session's events. It names its session, because events of an old session
/// may still be on their way to the store when a new one has begun.
#[derive(Debug)]
pub(crate) struct Committed(Mutex<Option<Session>>);

impl Committed {
    /// Starts from what the last process stored.
    pub(crate) fn new(session: Option<Session>) -> Self {
        Self(Mutex::new(session))
    }
    /// Called after each commit.
    pub(crate) fn set(&self, session: Option<Session>) {
        *self.0.lock() = session;
    }
    /// Sequence number of this session's last stored event.
    pub(crate) fn of(&self, session: &Session) -> Option<u64> {
        let committed = self.0.lock();
        committed
            .as_ref()
            .filter(|known| known.id == session.id && known.sequence > 0)
            .map(|known| known.sequence)
    }
}

/// The stored position of one shard, its cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// Address of the API it belongs to; another API does not know the session.
    root: String,
    /// The number of shards at that time.
    shards: u16,
    /// `None` before the first session.
    pub(crate) session: Option<Session>,
    /// Id of the newest stored message. Ids are ordered by time across all channels.
    pub(crate) newest: u64,
    /// True until the first message: `newest` then stands for the start of the first session.
    #[serde(default)]
    pub(crate) assumed: bool,
    /// Ids up to this one are older than the first session: nothing of them is caught up on, since
    /// another process may have answered it.
    #[serde(default)]
    pub(crate) first: u64,
    /// Messages after this id may be missing, because a session was lost.
    pub(crate) gap: Option<u64>,
    /// A guild of this shard, for probing a quiet session.
    #[serde(default)]
    pub(crate) guild: Option<u64>,
}

/// Name of the stream in which a shard's cursor is stored.
pub(crate) fn stream(shard: u16) -> String {
    format!("gateway/{shard}")
}

impl Position {
    /// Before the first session.
    pub(crate) fn start(root: &Url, shards: u16) -> Self {
        Self { root: root.to_string(), shards, ..Self::default() }
    }

    /// Reads a stored position. If the number of shards changed, the session is dropped and the
    /// message ids stay. If the API changed, everything is dropped.
    pub(crate) fn read(cursor: Option<Cursor>, root: &Url, shards: u16) -> Self {
        let start = Self::start(root, shards);
        match cursor
            .and_then(|c| serde_json::from_str::<Self>(&c.position).ok())
            .filter(|p| p.root == start.root)
        {
            Some(known) if known.shards == shards => known,
            Some(known) => {
                let Self { newest, assumed, first, gap, .. } = known;
                Self { newest, assumed, first, gap, ..start }
            }
            None => start,
        }
    }

    /// The cursor to store.
    pub(crate) fn cursor(&self, shard: u16) -> Cursor {
        Cursor { stream: stream(shard), position: serde_json::to_string(self).unwrap_or_default() }
    }
}

/// The guild to probe with after this event: the last one an event named, until the bot leaves it.
pub(crate) fn guild_of(name: &str, data: &Value, known: Option<u64>) -> Option<u64> {
    match name {
        "GUILD_CREATE" => id(&data["id"]).or(known),
        "GUILD_DELETE" => known.filter(|known| id(&data["id"]) != Some(*known)),
        _ => id(&data["guild_id"]).or(known),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_of_another_session_does_not_count() {
        let session = |id: &str, sequence| Session {
            id: id.into(),
            address: Url::parse("wss://x").unwrap(),
            sequence,
        };
        let committed = Committed::new(Some(session("a", 7)));
        assert_eq!(committed.of(&session("a", 9)), Some(7));
        assert_eq!(committed.of(&session("b", 1)), None);
        committed.set(Some(session("b", 0)));
        assert_eq!((committed.of(&session("a", 9)), committed.of(&session("b", 1))), (None, None));
    }

    #[test]
    fn a_position_survives_and_fits_its_api_and_shards_only() {
        let root = Url::parse("https://discord.com").unwrap();
        let session =
            Session { id: "s".into(), address: Url::parse("wss://x").unwrap(), sequence: 7 };
        let position = Position {
            session: Some(session),
            newest: 5,
            first: 2,
            gap: Some(3),
            ..Position::start(&root, 2)
        };
        let cursor = position.cursor(1);
        assert_eq!(cursor.stream, "gateway/1");
        assert_eq!(Position::read(Some(cursor.clone()), &root, 2), position);
        let other = Position::read(Some(cursor.clone()), &root, 3);
        assert_eq!((other.session, other.newest, other.first, other.gap), (None, 5, 2, Some(3)));
        let elsewhere = Url::parse("http://127.0.0.1:1").unwrap();
        assert_eq!(Position::read(Some(cursor), &elsewhere, 2), Position::start(&elsewhere, 2));
        assert_eq!(
            Position::read(Some(Cursor { stream: "x".into(), position: "{".into() }), &root, 2),
            Position::start(&root, 2)
        );
    }
}

//! How far a shard's stream has been read: enough to go on in another process without identifying
//! again.

use galatea_core::Cursor;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};
use url::Url;

/// What Discord calls a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// Its id.
    pub(crate) id: String,
    /// Where it is resumed.
    pub(crate) address: Url,
    /// The last event of it.
    pub(crate) sequence: u64,
}

/// How far a session is stored. Another session's events may still be on their way to the store
/// when a new one has begun.
#[derive(Debug)]
pub(crate) struct Committed(Mutex<Option<Session>>);

impl Committed {
    /// As the last process left it.
    pub(crate) fn new(session: Option<Session>) -> Self {
        Self(Mutex::new(session))
    }
    /// After a commit.
    pub(crate) fn set(&self, session: Option<Session>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }
    /// The last event of this session that is stored.
    pub(crate) fn of(&self, session: &Session) -> Option<u64> {
        let committed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        committed
            .as_ref()
            .filter(|known| known.id == session.id && known.sequence > 0)
            .map(|known| known.sequence)
    }
}

/// The cursor of one shard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// The API it belongs to: another one knows nothing of it.
    root: String,
    /// Of how many shards it was one.
    shards: u16,
    /// The session; none before the first.
    pub(crate) session: Option<Session>,
    /// The newest message stored: ids are ordered by time over all channels.
    pub(crate) newest: u64,
    /// No message was heard yet: `newest` is the time of the first session.
    #[serde(default)]
    pub(crate) assumed: bool,
    /// Messages after this one may be missing, since a session was lost.
    pub(crate) gap: Option<u64>,
    /// A guild of this shard, to be asked about when the session is quiet.
    #[serde(default)]
    pub(crate) guild: Option<u64>,
}

/// Name of a shard's stream.
pub(crate) fn stream(shard: u16) -> String {
    format!("gateway/{shard}")
}

impl Position {
    /// Before the first session.
    pub(crate) fn start(root: &Url, shards: u16) -> Self {
        Self { root: root.to_string(), shards, ..Self::default() }
    }

    /// What was stored, as far as it fits. With another number of shards the session is another
    /// one; the newest message stays.
    pub(crate) fn read(cursor: Option<Cursor>, root: &Url, shards: u16) -> Self {
        let start = Self::start(root, shards);
        match cursor
            .and_then(|c| serde_json::from_str::<Self>(&c.position).ok())
            .filter(|p| p.root == start.root)
        {
            Some(known) if known.shards == shards => known,
            Some(known) => {
                Self { newest: known.newest, assumed: known.assumed, gap: known.gap, ..start }
            }
            None => start,
        }
    }

    /// As it is stored.
    pub(crate) fn cursor(&self, shard: u16) -> Cursor {
        Cursor { stream: stream(shard), position: serde_json::to_string(self).unwrap_or_default() }
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
            gap: Some(3),
            ..Position::start(&root, 2)
        };
        let cursor = position.cursor(1);
        assert_eq!(cursor.stream, "gateway/1");
        assert_eq!(Position::read(Some(cursor.clone()), &root, 2), position);
        let other = Position::read(Some(cursor.clone()), &root, 3);
        assert_eq!((other.session, other.newest, other.gap), (None, 5, Some(3)));
        let elsewhere = Url::parse("http://127.0.0.1:1").unwrap();
        assert_eq!(Position::read(Some(cursor), &elsewhere, 2), Position::start(&elsewhere, 2));
        assert_eq!(
            Position::read(Some(Cursor { stream: "x".into(), position: "{".into() }), &root, 2),
            Position::start(&root, 2)
        );
    }
}

//! Which failure notice an agent shows, and how often a Room reads one.

use galatea_core::{RoomId, Timestamp};
use moka::sync::Cache;
use std::time::Duration;

/// At most one failure notice per Room and so long.
const PAUSE: Duration = Duration::from_secs(600);
/// Rooms of which it is known when they last read a failure notice.
const ROOMS: u64 = 4096;

/// Failure notices of an agent, and when each Room last read one.
pub(crate) struct Notices {
    no_model: Option<String>,
    last: Cache<RoomId, Timestamp>,
}

impl Notices {
    /// `no_model` is the text for a Room in which no model answers; without it, it reads nothing.
    pub(super) fn new(no_model: Option<String>) -> Self {
        Self { no_model, last: Cache::new(ROOMS) }
    }

    /// The text for a Room in which no model answers.
    pub(super) fn no_model(&self) -> Option<&str> {
        self.no_model.as_deref()
    }

    /// Records that a notice for this Room was committed.
    pub(super) fn committed(&self, room: RoomId, at: Timestamp) {
        self.last.insert(room, at);
    }

    /// Whether the Room may read a notice again.
    pub(super) fn is_due(&self, room: RoomId, now: Timestamp) -> bool {
        self.last.get(&room).is_none_or(|last| now.since(last) >= PAUSE)
    }
}

//! Counts answers to bots in a row, per Room, so that two bots do not talk for ever.

use galatea_core::{Decision, RoomId};

use crate::recent::Recent;

/// Rooms that are counted.
const CAPACITY: usize = 4096;

/// Answers to bots in a row, per Room.
pub(crate) struct Hops(Recent<RoomId, u32>);

impl Default for Hops {
    fn default() -> Self {
        Self(Recent::new(CAPACITY))
    }
}

impl Hops {
    /// Number of answers in this Room.
    pub(crate) fn of(&self, room: RoomId) -> u32 {
        self.0.get(&room).unwrap_or(0)
    }

    /// Counts a message. A person who speaks ends the run, answered or not.
    pub(crate) fn count(&self, room: RoomId, from_bot: bool, decision: Decision) {
        if !from_bot {
            self.0.remove(&room);
        } else if decision == Decision::Answer {
            self.0.insert(room, self.of(room) + 1);
        }
    }
}

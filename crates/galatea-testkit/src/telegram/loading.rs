//! A load that is running.

use std::time::Instant;

use crate::load::Load;

/// Id of the first person of a load; the ids of the others follow.
pub(super) const FIRST_ROOM: i64 = 6_000_000_000;

/// A load that is running.
#[derive(Debug)]
pub(crate) struct LoadState {
    pub(crate) load: Load,
    pub(super) first_update: i64,
}

impl LoadState {
    /// Records a message to a chat.
    pub(crate) fn answered(&mut self, chat: i64, text: &str) {
        if let Ok(room) = usize::try_from(chat - FIRST_ROOM) {
            self.load.answered(room, text);
        }
    }

    /// Records an offset, which confirms all updates below it.
    pub(crate) fn confirmed(&mut self, offset: i64) {
        if let Ok(below) = usize::try_from(offset - self.first_update) {
            self.load.confirmed(below, Instant::now());
        }
    }
}

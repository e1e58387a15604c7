//! How many messages Rooms have, about: counting tens of thousands takes as long as a search.

use galatea_core::RoomId;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// For how long a count is good.
const GOOD: Duration = Duration::from_secs(600);
/// Counts kept.
const MOST: usize = 10_000;
/// Counts and when they were made.
#[derive(Default)]
pub(crate) struct Sizes(Mutex<HashMap<RoomId, (usize, Instant)>>);

impl Sizes {
    /// A count that is still good.
    pub(super) fn get(&self, room: RoomId) -> Option<usize> {
        let known = self.lock().get(&room).copied();
        known.filter(|(_, at)| at.elapsed() < GOOD).map(|(size, _)| size)
    }

    pub(super) fn set(&self, room: RoomId, size: usize) {
        let mut sizes = self.lock();
        if sizes.len() >= MOST {
            sizes.clear();
        }
        sizes.insert(room, (size, Instant::now()));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RoomId, (usize, Instant)>> {
        // Every change is whole before anything in it could panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

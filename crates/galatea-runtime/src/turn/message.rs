//! A stored message that waits for its turn.

use galatea_core::{
    MemoryId, Timestamp,
    store::{InboxEntry, InboxItem},
};
use std::{ops::Deref, sync::Arc};

use crate::{in_flight::InFlightGuard, ownership::LeaseGuard};

/// A message that waits for its turn.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    /// The message and how it came.
    pub(crate) entry: Arc<InboxEntry>,
    /// Time of storage.
    pub(crate) received_at: Timestamp,
    /// Turns begun for it in earlier runs of the program.
    pub(crate) attempts: u32,
    /// It was read back from the store, so its turn is counted there before it begins.
    pub(crate) read_back: bool,
    /// It was read while another lane or process may have finished it: its row is read again before
    /// its turn.
    pub(crate) recheck: bool,
    /// The limits let it through, and it was counted.
    pub(crate) admitted: bool,
    /// Answered only while this process holds its Room.
    pub(crate) lease: LeaseGuard,
}

impl Waiting {
    /// A message that was just stored.
    pub(crate) fn fresh(entry: InboxEntry, received_at: Timestamp, lease: LeaseGuard) -> Self {
        Self {
            entry: Arc::new(entry),
            received_at,
            attempts: 0,
            read_back: false,
            recheck: false,
            admitted: false,
            lease,
        }
    }

    /// A message that was read from the store.
    pub(crate) fn stored(item: InboxItem, lease: LeaseGuard) -> Self {
        Self {
            attempts: item.attempts,
            read_back: true,
            ..Self::fresh(item.entry, item.received_at, lease)
        }
    }
}

/// A waiting message that is in flight: in a lane, or in a turn.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) message: Waiting,
    /// Held until its end is stored.
    pub(crate) in_flight: InFlightGuard<MemoryId>,
}

impl Deref for Claimed {
    type Target = Waiting;

    fn deref(&self) -> &Waiting {
        &self.message
    }
}

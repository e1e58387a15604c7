//! Stored rows go before new ones. While they are being read, new rows stay in the store behind
//! them.

use parking_lot::{Mutex, MutexGuard};

/// Keeps new rows out of memory until the stored ones are in their lanes.
#[derive(Debug, Default)]
pub(crate) struct Backlog(Mutex<BacklogState>);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum BacklogState {
    /// New rows stay in the store, behind the backlog there.
    #[default]
    Pending,
    /// The same, and rows have been added since the store was last read.
    Grown,
    /// New rows go to their lanes.
    Cleared,
}

impl Backlog {
    /// For a row that is stored: false when it has to wait in the store until the backlog is read.
    pub(crate) fn admits(&self) -> bool {
        let mut state = self.lock();
        if *state == BacklogState::Cleared {
            return true;
        }
        *state = BacklogState::Grown;
        false
    }

    /// True if new rows go to their lanes.
    pub(crate) fn is_cleared(&self) -> bool {
        *self.lock() == BacklogState::Cleared
    }

    /// Call before the store is read.
    pub(crate) fn reading(&self) {
        let mut state = self.lock();
        if *state == BacklogState::Grown {
            *state = BacklogState::Pending;
        }
    }

    /// Call after every row read is in its lane. False when rows were added meanwhile: read again.
    pub(crate) fn clear(&self) -> bool {
        let mut state = self.lock();
        if *state == BacklogState::Grown {
            return false;
        }
        *state = BacklogState::Cleared;
        true
    }

    fn lock(&self) -> MutexGuard<'_, BacklogState> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_added_while_the_backlog_is_read_is_not_forgotten() {
        let backlog = Backlog::default();
        backlog.reading();
        assert!(!backlog.admits(), "it must not overtake");
        assert!(!backlog.clear(), "it may have come after the read");
        backlog.reading();
        assert!(backlog.clear());
        assert!(backlog.admits());
        backlog.reading();
        assert!(backlog.admits(), "once cleared, cleared for good");
    }
}

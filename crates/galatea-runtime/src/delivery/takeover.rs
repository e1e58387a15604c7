//! Takeover: after a start, what the last run left goes first. Nothing new may overtake it, and nothing is taken up twice.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// How far one account's leftovers are taken up: first what was to be sent, then what was to be answered.
#[derive(Debug, Default)]
pub(crate) struct Takeover {
    /// What is committed to be sent.
    pub(crate) sends: Admission,
    /// What is stored to be answered.
    pub(crate) turns: Admission,
    /// One look through the outbox at a time.
    pub(super) looking: tokio::sync::Mutex<()>,
}

/// Lets nothing new in before what was left is taken up.
#[derive(Debug, Default)]
pub(crate) struct Admission(Mutex<State>);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// New ones stay in the store, behind the leftovers there.
    #[default]
    Quiet,
    /// As before, and some have come since the store was last read.
    Missed,
    /// They go to their lanes.
    Open,
}

impl Admission {
    /// For one that is stored: false when it has to wait in the store until the leftovers are read.
    pub(crate) fn admits(&self) -> bool {
        let mut state = self.lock();
        if *state == State::Open {
            return true;
        }
        *state = State::Missed;
        false
    }

    /// Whether it lets new ones in.
    pub(crate) fn is_open(&self) -> bool {
        *self.lock() == State::Open
    }

    /// Before the store is read.
    pub(crate) fn reading(&self) {
        let mut state = self.lock();
        if *state == State::Missed {
            *state = State::Quiet;
        }
    }

    /// After everything read is in its lane. False when more has come meanwhile: read again.
    pub(crate) fn open(&self) -> bool {
        let mut state = self.lock();
        if *state == State::Missed {
            return false;
        }
        *state = State::Open;
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_comes_while_leftovers_are_read_is_not_forgotten() {
        let takeover = Admission::default();
        takeover.reading();
        assert!(!takeover.admits(), "it must not overtake");
        assert!(!takeover.open(), "it may have come after the read");
        takeover.reading();
        assert!(takeover.open());
        assert!(takeover.admits());
        takeover.reading();
        assert!(takeover.admits(), "once open, open for good");
    }
}

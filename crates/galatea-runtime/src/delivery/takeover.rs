//! Takeover: after a start, what the last run left goes first. Nothing new may overtake it, and nothing is taken up twice.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

/// How far one account's leftovers are taken up: first what was to be sent, then what was to be answered.
#[derive(Debug, Default)]
pub(crate) struct Takeover {
    /// Leftover sends are in their lanes, so new ones may follow.
    sends: AtomicBool,
    /// What new messages do.
    turns: Mutex<Intake>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Intake {
    /// They stay in the store, behind the leftovers there.
    #[default]
    Quiet,
    /// As before, and some have come since the store was last read.
    Missed,
    /// They go to their lanes.
    Open,
}

impl Takeover {
    /// Leftover sends are in their lanes.
    pub(crate) fn sends_done(&self) {
        self.sends.store(true, Ordering::Release);
    }

    /// True when new sends may be made.
    pub(crate) fn sends_are_done(&self) -> bool {
        self.sends.load(Ordering::Acquire)
    }

    /// For a message that is stored: false when it has to wait in the store until the leftovers are read.
    pub(crate) fn admits(&self) -> bool {
        let mut turns = self.lock();
        if *turns == Intake::Open {
            return true;
        }
        *turns = Intake::Missed;
        false
    }

    /// Before the store is read.
    pub(crate) fn reading(&self) {
        let mut turns = self.lock();
        if *turns == Intake::Missed {
            *turns = Intake::Quiet;
        }
    }

    /// After everything read is in its lane. False when more has come meanwhile: read again.
    pub(crate) fn open(&self) -> bool {
        let mut turns = self.lock();
        if *turns == Intake::Missed {
            return false;
        }
        *turns = Intake::Open;
        true
    }

    fn lock(&self) -> MutexGuard<'_, Intake> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_comes_while_leftovers_are_read_is_not_forgotten() {
        let takeover = Takeover::default();
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

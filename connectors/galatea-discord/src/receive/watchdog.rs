//! Detects a silent gateway: a session that never begins, or one that brings no events although its
//! heartbeats are answered. Pure: the caller passes in what arrived and the time.

use std::time::Duration;
use tokio::time::Instant;

use crate::config::Patience;

/// Stands for "never", but is small enough to add to an `Instant` without overflow.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Kind of a stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stall {
    /// Neither READY nor RESUMED came.
    NoSession,
    /// No event for long: probe with a request that Discord answers with an event.
    ProbeDue,
    /// The probe was not answered.
    ProbeUnanswered,
}

/// Detects that one connection stalls.
pub(super) struct Watchdog {
    patience: Patience,
    begun: bool,
    /// An event other than READY or RESUMED came on this connection.
    heard: bool,
    last: Instant,
    asked: Option<Instant>,
}

impl Watchdog {
    /// Called right after IDENTIFY or RESUME was sent.
    pub(super) fn new(patience: Patience, now: Instant) -> Self {
        Self { patience, begun: false, heard: false, last: now, asked: None }
    }

    /// READY or RESUMED came.
    pub(super) fn begin(&mut self, now: Instant) {
        (self.begun, self.last) = (true, now);
    }

    /// Any other event came.
    pub(super) fn hear(&mut self, now: Instant) {
        (self.heard, self.last, self.asked) = (true, now, None);
    }

    /// The connection was not read until `now`, so the silence counts from here.
    pub(super) fn resume_reading(&mut self, now: Instant) {
        self.last = now;
        self.asked = self.asked.map(|_| now);
    }

    /// The probe was sent.
    pub(super) fn ask(&mut self, now: Instant) {
        self.asked = Some(now);
    }

    /// No guild is known to probe with, so wait for another quiet period.
    pub(super) fn cannot_ask(&mut self, now: Instant) {
        (self.last, self.heard) = (now, true);
    }

    /// The time at which to call [`Self::due`], unless an event comes first.
    pub(super) fn until(&self) -> Instant {
        let wait = match (self.begun, self.asked, self.heard) {
            (false, ..) => self.patience.beginning,
            (true, Some(asked), _) => return asked + self.patience.answer.min(NEVER),
            (true, None, true) => self.patience.quiet,
            (true, None, false) => self.patience.answer,
        };
        self.last + wait.min(NEVER)
    }

    /// Meaning of the silence, if it has lasted until [`Self::until`].
    pub(super) fn due(&self, now: Instant) -> Option<Stall> {
        (now >= self.until()).then_some(match (self.begun, self.asked) {
            (false, _) => Stall::NoSession,
            (true, Some(_)) => Stall::ProbeUnanswered,
            (true, None) => Stall::ProbeDue,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn patience() -> Patience {
        Patience {
            greeting: SECOND,
            beginning: 10 * SECOND,
            quiet: 100 * SECOND,
            answer: 5 * SECOND,
        }
    }

    #[test]
    fn a_session_that_does_not_begin_is_noticed_and_a_replay_is_waited_for() {
        let start = Instant::now();
        let mut watchdog = Watchdog::new(patience(), start);
        assert_eq!(watchdog.due(start + 9 * SECOND), None);
        assert_eq!(watchdog.due(start + 10 * SECOND), Some(Stall::NoSession));
        // A replayed event; RESUMED comes after all of them.
        watchdog.hear(start + 9 * SECOND);
        assert_eq!(watchdog.due(start + 18 * SECOND), None);
        assert_eq!(watchdog.due(start + 19 * SECOND), Some(Stall::NoSession));
    }

    #[test]
    fn a_quiet_session_is_asked_and_one_that_does_not_answer_is_deaf() {
        let start = Instant::now();
        let mut watchdog = Watchdog::new(patience(), start);
        watchdog.begin(start);
        watchdog.hear(start);
        assert_eq!(watchdog.due(start + 99 * SECOND), None);
        assert_eq!(watchdog.due(start + 100 * SECOND), Some(Stall::ProbeDue));
        watchdog.ask(start + 100 * SECOND);
        assert_eq!(watchdog.due(start + 104 * SECOND), None);
        assert_eq!(watchdog.due(start + 105 * SECOND), Some(Stall::ProbeUnanswered));
        watchdog.hear(start + 104 * SECOND);
        assert_eq!(watchdog.due(start + 150 * SECOND), None, "answered");
    }

    #[test]
    fn after_a_resume_that_brought_nothing_it_is_asked_soon() {
        let start = Instant::now();
        let mut watchdog = Watchdog::new(patience(), start);
        watchdog.begin(start);
        assert_eq!(watchdog.due(start + 5 * SECOND), Some(Stall::ProbeDue));
        watchdog.cannot_ask(start + 5 * SECOND);
        assert_eq!(watchdog.due(start + 50 * SECOND), None);
    }

    #[test]
    fn time_in_which_nothing_was_read_is_no_silence() {
        let start = Instant::now();
        let mut watchdog = Watchdog::new(patience(), start);
        watchdog.begin(start);
        watchdog.ask(start);
        watchdog.resume_reading(start + 500 * SECOND);
        assert_eq!(watchdog.due(start + 504 * SECOND), None);
        assert_eq!(watchdog.due(start + 505 * SECOND), Some(Stall::ProbeUnanswered));
    }
}

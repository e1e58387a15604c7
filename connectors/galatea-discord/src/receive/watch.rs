//! Silence of the gateway: a session that never begins, and one that begins and brings nothing any
//! more while its heartbeats are answered. Pure: told what came and when, it says what is due.

use std::time::Duration;
use tokio::time::Instant;

use crate::config::Patience;

/// Far enough to be never, near enough to be added.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// What a silence has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// Neither READY nor RESUMED came.
    Unbegun,
    /// Quiet for long: ask for something that is answered by an event.
    Ask,
    /// What was asked for was not answered.
    Deaf,
}

/// Watches one connection.
pub(super) struct Watch {
    patience: Patience,
    begun: bool,
    /// Something that is not the beginning itself was heard on this connection.
    heard: bool,
    last: Instant,
    asked: Option<Instant>,
}

impl Watch {
    /// From identify or resume on.
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

    /// Nothing was read until now, so silence is counted from here.
    pub(super) fn resume_reading(&mut self, now: Instant) {
        self.last = now;
        self.asked = self.asked.map(|_| now);
    }

    /// Something was asked for.
    pub(super) fn ask(&mut self, now: Instant) {
        self.asked = Some(now);
    }

    /// Nothing can be asked: wait as long again.
    pub(super) fn cannot_ask(&mut self, now: Instant) {
        (self.last, self.heard) = (now, true);
    }

    /// When [`Self::due`] is to be looked at, unless something comes.
    pub(super) fn until(&self) -> Instant {
        let wait = match (self.begun, self.asked, self.heard) {
            (false, ..) => self.patience.beginning,
            (true, Some(asked), _) => return asked + self.patience.answer.min(NEVER),
            (true, None, true) => self.patience.quiet,
            (true, None, false) => self.patience.answer,
        };
        self.last + wait.min(NEVER)
    }

    /// What the silence has come to.
    pub(super) fn due(&self, now: Instant) -> Option<Silence> {
        (now >= self.until()).then_some(match (self.begun, self.asked) {
            (false, _) => Silence::Unbegun,
            (true, Some(_)) => Silence::Deaf,
            (true, None) => Silence::Ask,
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
        let mut watch = Watch::new(patience(), start);
        assert_eq!(watch.due(start + 9 * SECOND), None);
        assert_eq!(watch.due(start + 10 * SECOND), Some(Silence::Unbegun));
        // A replayed event: RESUMED comes behind all of them.
        watch.hear(start + 9 * SECOND);
        assert_eq!(watch.due(start + 18 * SECOND), None);
        assert_eq!(watch.due(start + 19 * SECOND), Some(Silence::Unbegun));
    }

    #[test]
    fn a_quiet_session_is_asked_and_one_that_does_not_answer_is_deaf() {
        let start = Instant::now();
        let mut watch = Watch::new(patience(), start);
        watch.begin(start);
        watch.hear(start);
        assert_eq!(watch.due(start + 99 * SECOND), None);
        assert_eq!(watch.due(start + 100 * SECOND), Some(Silence::Ask));
        watch.ask(start + 100 * SECOND);
        assert_eq!(watch.due(start + 104 * SECOND), None);
        assert_eq!(watch.due(start + 105 * SECOND), Some(Silence::Deaf));
        watch.hear(start + 104 * SECOND);
        assert_eq!(watch.due(start + 150 * SECOND), None, "answered");
    }

    #[test]
    fn after_a_resume_that_brought_nothing_it_is_asked_soon() {
        let start = Instant::now();
        let mut watch = Watch::new(patience(), start);
        watch.begin(start);
        assert_eq!(watch.due(start + 5 * SECOND), Some(Silence::Ask));
        watch.cannot_ask(start + 5 * SECOND);
        assert_eq!(watch.due(start + 50 * SECOND), None);
    }

    #[test]
    fn time_in_which_nothing_was_read_is_no_silence() {
        let start = Instant::now();
        let mut watch = Watch::new(patience(), start);
        watch.begin(start);
        watch.ask(start);
        watch.resume_reading(start + 500 * SECOND);
        assert_eq!(watch.due(start + 504 * SECOND), None);
        assert_eq!(watch.due(start + 505 * SECOND), Some(Silence::Deaf));
    }
}

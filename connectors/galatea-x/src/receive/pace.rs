//! The pause between polls: short after a poll with mentions, doubled after each poll without.
//! Pure.

use galatea_core::Backoff;
use std::time::Duration;

use crate::config::PollPace;

/// Computes the pause after each poll.
#[derive(Debug)]
pub(crate) struct Pace(Backoff);

impl Pace {
    /// Starts with the shortest pause.
    pub(crate) fn new(bounds: PollPace) -> Self {
        Self(Backoff::new(bounds.fastest, bounds.slowest))
    }

    /// The pause after a poll that found `found` mentions.
    pub(crate) fn after(&mut self, found: usize) -> Duration {
        if found > 0 {
            self.0.restart();
        }
        self.0.next_pause()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_slows_down_and_a_mention_speeds_up() {
        let mut pace = Pace::new(PollPace::default());
        let pauses: Vec<u64> =
            [0, 0, 0, 0, 0, 3, 0].into_iter().map(|found| pace.after(found).as_secs()).collect();
        assert_eq!(pauses, [15, 30, 60, 120, 120, 15, 30]);
    }
}

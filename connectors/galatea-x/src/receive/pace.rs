//! The pause between polls: short after a poll with mentions, doubled after each poll without.
//! Pure.

use std::time::Duration;

use crate::config::PollPace;

/// Computes the pause after each poll.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    bounds: PollPace,
    next: Duration,
}

impl Pace {
    /// Starts with the shortest pause.
    pub(crate) fn new(bounds: PollPace) -> Self {
        Self { bounds, next: bounds.fastest.min(bounds.slowest) }
    }

    /// The pause after a poll that found `found` mentions.
    pub(crate) fn after(&mut self, found: usize) -> Duration {
        if found > 0 {
            *self = Self::new(self.bounds);
        }
        let pause = self.next;
        self.next = pause.saturating_mul(2).min(self.bounds.slowest);
        pause
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

//! Limits failed attempts to sign in.

use std::{
    collections::VecDeque,
    sync::Mutex,
    time::{Duration, Instant},
};

/// Failed attempts within a minute, of all callers together: an attacker with many addresses gets no
/// more of them.
const MOST: usize = 20;
const WITHIN: Duration = Duration::from_secs(60);

/// Failed attempts of the last minute.
#[derive(Debug, Default)]
pub(crate) struct Attempts(Mutex<VecDeque<Instant>>);

impl Attempts {
    /// Takes a place for an attempt; false if there were too many. Successful ones give theirs back.
    pub(crate) fn take(&self, now: Instant) -> bool {
        let Ok(mut failed) = self.0.lock() else { return false };
        while failed.front().is_some_and(|at| now.duration_since(*at) >= WITHIN) {
            failed.pop_front();
        }
        let free = failed.len() < MOST;
        if free {
            failed.push_back(now);
        }
        free
    }

    /// Gives the place of a successful attempt back.
    pub(crate) fn succeeded(&self) {
        if let Ok(mut failed) = self.0.lock() {
            failed.pop_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_ten_thousand_guesses_twenty_are_looked_at() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        assert_eq!((0..10_000).filter(|_| attempts.take(now)).count(), MOST);
        assert!(attempts.take(now + WITHIN), "a minute later");
        let attempts = Attempts::default();
        let signed_in = (0..100).filter(|_| {
            let taken = attempts.take(now);
            attempts.succeeded();
            taken
        });
        assert_eq!(signed_in.count(), 100, "who succeeds is not limited");
    }
}

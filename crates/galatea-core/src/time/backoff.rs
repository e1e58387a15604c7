//! Pauses between attempts that double up to a longest pause.

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use std::time::Duration;

/// More retries than this do not lengthen a pause: 2⁴⁰ times the shortest pause in use is longer
/// than every longest one.
const MOST_DOUBLINGS: u32 = 40;

/// The pauses of one loop that retries without end. A loop with a limited number of attempts counts
/// them itself.
///
/// ```
/// use galatea_core::Backoff;
/// use std::time::Duration;
///
/// let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(3));
/// assert_eq!(backoff.next_pause(), Duration::from_secs(1));
/// assert_eq!(backoff.next_pause(), Duration::from_secs(2));
/// assert_eq!(backoff.next_pause(), Duration::from_secs(3));
/// backoff.restart();
/// assert_eq!(backoff.next_pause(), Duration::from_secs(1));
/// ```
#[derive(Debug)]
pub struct Backoff {
    builder: ExponentialBuilder,
    pauses: ExponentialBackoff,
    longest: Duration,
}

impl Backoff {
    /// Pauses from `first` to `longest`, each twice the one before.
    pub fn new(first: Duration, longest: Duration) -> Self {
        let builder = ExponentialBuilder::default()
            .with_min_delay(first.min(longest))
            .with_max_delay(longest)
            .without_max_times();
        Self { builder, pauses: builder.build(), longest }
    }

    /// Lengthens each pause by a random share of it, up to twice the pause. Many processes that
    /// failed together then do not retry together.
    #[must_use]
    pub fn with_jitter(mut self) -> Self {
        self.builder = self.builder.with_jitter();
        self.restart();
        self
    }

    /// The pause before the next attempt.
    pub fn next_pause(&mut self) -> Duration {
        self.pauses.next().unwrap_or(self.longest)
    }

    /// Starts again with the first pause; called after a success.
    pub fn restart(&mut self) {
        self.pauses = self.builder.build();
    }

    /// The pause after this many doublings, for code that stores a count and keeps no
    /// `Backoff`.
    pub fn pause_after(first: Duration, longest: Duration, doublings: u32) -> Duration {
        let mut backoff = Self::new(first, longest);
        for _ in 0..doublings.min(MOST_DOUBLINGS) {
            backoff.next_pause();
        }
        backoff.next_pause()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(250);
    const LONGEST: Duration = Duration::from_secs(1);

    #[test]
    fn pauses_double_and_stop_at_the_longest() {
        let mut backoff = Backoff::new(FIRST, LONGEST);
        let pauses: Vec<_> = (0..5).map(|_| backoff.next_pause().as_millis()).collect();
        assert_eq!(pauses, [250, 500, 1_000, 1_000, 1_000]);
    }

    #[test]
    fn a_first_pause_beyond_the_longest_is_the_longest() {
        assert_eq!(Backoff::new(LONGEST, FIRST).next_pause(), FIRST);
    }

    #[test]
    fn a_restart_begins_with_the_first_pause_and_keeps_the_jitter() {
        let mut backoff = Backoff::new(FIRST, LONGEST).with_jitter();
        let mut jittered = 0;
        for _ in 0..64 {
            backoff.restart();
            let pause = backoff.next_pause();
            assert!(pause >= FIRST && pause <= FIRST * 2, "{pause:?}");
            jittered += u32::from(pause > FIRST);
        }
        assert!(jittered > 0, "no pause differed from the first");
    }

    #[test]
    fn a_stored_count_gives_the_same_pauses() {
        let pauses: Vec<_> = [0, 1, 2, 3, u32::MAX]
            .map(|earlier| Backoff::pause_after(FIRST, LONGEST, earlier).as_millis())
            .into();
        assert_eq!(pauses, [250, 500, 1_000, 1_000, 1_000]);
    }
}

//! Bounds how many traces are kept in a second.

use std::time::Instant;

/// A token bucket.
pub(super) struct Bucket {
    rate: f64,
    burst: f64,
    left: f64,
    at: Instant,
}

impl Bucket {
    /// A full bucket that gains `rate` a second, up to `burst`.
    pub(super) fn new(rate: f64, burst: f64, now: Instant) -> Self {
        Self { rate, burst, left: burst, at: now }
    }

    /// Takes one; false if the bucket is empty.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * self.rate;
        self.at = now;
        self.left = (self.left + gained).min(self.burst);
        let has = self.left >= 1.0;
        if has {
            self.left -= 1.0;
        }
        has
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_flood_is_bounded_and_a_pause_fills_it_again() {
        let start = Instant::now();
        let mut bucket = Bucket::new(2.0, 3.0, start);
        let taken = (0..10).filter(|_| bucket.take(start)).count();
        assert_eq!(taken, 3);
        let later = start + Duration::from_secs(1);
        let taken = (0..10).filter(|_| bucket.take(later)).count();
        assert_eq!(taken, 2);
        let much_later = start + Duration::from_secs(1_000);
        let taken = (0..10).filter(|_| bucket.take(much_later)).count();
        assert_eq!(taken, 3, "a long pause saves no more than a burst");
    }
}

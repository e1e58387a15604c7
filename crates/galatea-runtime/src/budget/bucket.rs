//! Token bucket: so many a minute, some at once. Pure: the caller passes the time.

use galatea_core::Timestamp;

use crate::config::Flow;

/// A token's parts: one comes in a millisecond at a rate of one a minute, so that nothing is lost
/// by rounding.
const WHOLE: i64 = 60_000;

/// A bucket; empty ones fill up with time. It holds at most `burst` tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    /// Parts of a token; negative while tokens are owed.
    level: i64,
    at: Timestamp,
}

impl Bucket {
    /// A bucket that can be emptied at once.
    pub(super) fn full(flow: Flow, now: Timestamp) -> Self {
        Self { level: i64::from(flow.burst) * WHOLE, at: now }
    }

    /// Fills it up to now. A clock that was set back fills nothing and starts from there.
    pub(super) fn fill(&mut self, flow: Flow, now: Timestamp) {
        let millis = i64::try_from(now.since(self.at).as_millis()).unwrap_or(i64::MAX);
        let more = millis.saturating_mul(i64::from(flow.per_minute));
        self.level = self.level.saturating_add(more).min(i64::from(flow.burst) * WHOLE);
        self.at = now;
    }

    /// True if a token is there.
    pub(super) fn has_one(&self) -> bool {
        self.level >= WHOLE
    }

    /// Gives one back that was not used.
    pub(super) fn give_back(&mut self) {
        self.level = self.level.saturating_add(WHOLE);
    }

    /// Takes one; nothing happens when none is there.
    pub(super) fn take(&mut self) {
        if self.level > 0 {
            self.level = self.level.saturating_sub(WHOLE).max(0);
        }
    }

    /// Takes one that may not be there: what comes in later pays for it. At most a burst is owed.
    pub(super) fn owe(&mut self, flow: Flow) {
        let most = i64::from(flow.burst).saturating_mul(WHOLE);
        self.level = self.level.saturating_sub(WHOLE).max(-most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FLOW: Flow = Flow { per_minute: 6, burst: 3 };

    fn takes(bucket: &mut Bucket, now: i64) -> bool {
        bucket.fill(FLOW, Timestamp(now));
        let has = bucket.has_one();
        if has {
            bucket.take();
        }
        has
    }

    #[test]
    fn a_burst_then_the_rate() {
        let mut bucket = Bucket::full(FLOW, Timestamp(0));
        assert_eq!(
            (0..4).map(|_| takes(&mut bucket, 0)).collect::<Vec<_>>(),
            [true, true, true, false]
        );
        assert!(!takes(&mut bucket, 9_999));
        assert!(takes(&mut bucket, 10_000));
        assert!(!takes(&mut bucket, 10_001));
    }

    #[test]
    fn a_clock_that_is_set_back_neither_fills_nor_blocks() {
        let mut bucket = Bucket::full(FLOW, Timestamp(1_000_000));
        (0..3).for_each(|_| bucket.take());
        assert!(!takes(&mut bucket, 0));
        assert!(takes(&mut bucket, 10_000));
    }

    proptest! {
        /// However calls are spread, no more go through than burst and rate allow.
        #[test]
        fn never_more_than_burst_and_rate(steps in proptest::collection::vec(0_i64..20_000, 1..200)) {
            let mut bucket = Bucket::full(FLOW, Timestamp(0));
            let (mut now, mut taken) = (0, 0_i64);
            for step in steps {
                now += step;
                taken += i64::from(takes(&mut bucket, now));
            }
            prop_assert!(taken <= 3 + now * 6 / 60_000 + 1);
        }
    }
}

//! Time behind a trait, so that tests hold the clock.

use serde::{Deserialize, Serialize};
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Milliseconds since the Unix epoch, as elizaOS stores `createdAt`.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Default,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Later by `duration`, saturating.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Time since `earlier`; zero when the clock went backwards.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// A moment that is waited for. It keeps the time at which it was set: a clock that shows an
/// earlier time was set back, and the wait ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Deadline {
    set: Timestamp,
    end: Timestamp,
}

impl Deadline {
    /// So long from now on.
    pub fn after(now: Timestamp, wait: Duration) -> Self {
        Self { set: now, end: now.plus(wait) }
    }

    /// Time left; none when it has passed.
    pub fn left(&self, now: Timestamp) -> Option<Duration> {
        (self.set <= now && now < self.end).then(|| self.end.since(now))
    }

    /// End, unless the clock is set.
    pub fn end(&self) -> Timestamp {
        self.end
    }

    /// The one of two that ends later.
    #[must_use]
    pub fn later(self, other: Self) -> Self {
        if other.end > self.end { other } else { self }
    }
}

/// Now, and waiting. Production uses [`SystemClock`]; tests move a manual one.
pub trait Clock: Send + Sync + 'static {
    /// Wall clock time, as all processes agree on it that share a store. Called all the time; must
    /// not block.
    fn now(&self) -> Timestamp;
    /// Time of this machine's own clock: for signatures that a platform compares with its own
    /// time. Called for each signed request.
    fn machine(&self) -> Timestamp {
        self.now()
    }
    /// Completes after `duration` of this clock's time. Called for every pause of the runtime.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
    /// Distance by which wall clock time was set forward since this clock began; zero for a clock
    /// that is never set, or that cannot measure it. Called with [`Self::now`], where an age is
    /// measured.
    fn ahead(&self) -> Duration {
        Duration::ZERO
    }
}

/// The machine's clock and tokio's timer.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// Lead of the clock of a store that several machines share, in
/// milliseconds; negative when it is behind. All clones share one value; the code that compares the
/// clocks writes it.
#[derive(Debug, Clone, Default)]
pub struct Skew(Arc<(AtomicI64, AtomicI64)>);

impl Skew {
    /// Less is what a comparison over a network cannot tell.
    const TELLING: i64 = 500;

    /// Result of a comparison. Followed only when it differs from before by more than such a
    /// comparison can err, so that time does not jitter.
    pub fn measured(&self, millis: i64) {
        let (last, followed) = &*self.0;
        last.store(millis, Ordering::Relaxed);
        if millis.abs_diff(followed.load(Ordering::Relaxed)) > Self::TELLING.unsigned_abs() {
            followed
                .store(if millis.abs() <= Self::TELLING { 0 } else { millis }, Ordering::Relaxed);
        }
    }

    /// The last comparison, in milliseconds.
    pub fn millis(&self) -> i64 {
        self.0.0.load(Ordering::Relaxed)
    }

    /// By how much clocks that follow it differ from the machine's, in milliseconds.
    pub fn followed(&self) -> i64 {
        self.0.1.load(Ordering::Relaxed)
    }
}

/// The machine's clock, set right by that of a store.
#[derive(Debug, Clone, Default)]
pub struct SharedClock(pub Skew);

impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        Timestamp(SystemClock.now().0.saturating_add(self.0.followed()))
    }

    fn machine(&self) -> Timestamp {
        SystemClock.now()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        SystemClock.sleep(duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_clock_follows_what_a_comparison_can_tell() {
        let skew = Skew::default();
        let followed = [400, 700, 900, 300, -7_200_000, -7_200_300, -400].map(|millis| {
            skew.measured(millis);
            skew.followed()
        });
        assert_eq!(followed, [0, 700, 700, 700, -7_200_000, -7_200_000, 0]);
        assert_eq!(skew.millis(), -400);
        skew.measured(3_600_000);
        let clock = SharedClock(skew);
        assert!(clock.now().since(clock.machine()) >= Duration::from_secs(3_599));
    }

    #[test]
    fn a_deadline_ends_on_time_and_when_the_clock_is_set_back() {
        let deadline = Deadline::after(Timestamp(10_000), Duration::from_secs(5));
        let left = [9_999, 10_000, 14_000, 15_000].map(|now| deadline.left(Timestamp(now)));
        assert_eq!(left, [None, Some(Duration::from_secs(5)), Some(Duration::from_secs(1)), None]);
        let longer = Deadline::after(Timestamp(11_000), Duration::from_secs(9));
        assert_eq!((deadline.later(longer), longer.later(deadline)), (longer, longer));
    }
}

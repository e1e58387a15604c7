//! The machine's clock, and detection of changes to it. A person or a time service may set it while
//! the program runs, which the platforms do not know.

use galatea_core::{Clock, Skew, Timestamp};
use nix::time::{ClockId, clock_gettime};
use std::{
    pin::Pin,
    sync::atomic::{AtomicI64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// A clock that counts while the machine sleeps and that cannot be set.
#[cfg(target_os = "linux")]
const STEADY: ClockId = ClockId::CLOCK_BOOTTIME;
#[cfg(not(target_os = "linux"))]
const STEADY: ClockId = ClockId::CLOCK_MONOTONIC;
/// In milliseconds. Smaller steps are ordinary corrections.
const WORTH_TELLING: i64 = 30_000;

/// A wall clock that knows how far it was set since the program started, and that follows the clock
/// of a store shared by several machines.
#[derive(Debug)]
pub struct MachineClock {
    /// How far the store's clock is ahead.
    skew: Skew,
    /// Shared time minus steady clock at the start, in milliseconds.
    begun: i64,
    /// Wall clock minus steady clock at the last warning, in milliseconds.
    reported: AtomicI64,
}

impl MachineClock {
    /// Starts watching now.
    pub fn new(skew: Skew) -> Self {
        let offset = wall().saturating_sub(steady());
        Self {
            begun: offset.saturating_add(skew.followed()),
            reported: AtomicI64::new(offset),
            skew,
        }
    }

    /// How far the time was set since the start, in milliseconds; negative if back. Corrections
    /// that follow the store's clock do not count.
    fn set(&self) -> i64 {
        let offset = wall().saturating_sub(steady());
        let reported = self.reported.load(Ordering::Relaxed);
        if offset.abs_diff(reported) > WORTH_TELLING.unsigned_abs()
            && self
                .reported
                .compare_exchange(reported, offset, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            let seconds = offset.saturating_sub(reported) / 1000;
            tracing::warn!(
                code = "GAL-CLOCK",
                seconds,
                "the machine's clock was changed; waits keep their length, message ages follow the platforms' clocks"
            );
        }
        offset.saturating_add(self.skew.followed()).saturating_sub(self.begun)
    }
}

impl Clock for MachineClock {
    fn now(&self) -> Timestamp {
        self.set();
        Timestamp(wall().saturating_add(self.skew.followed()))
    }

    fn machine(&self) -> Timestamp {
        Timestamp(wall())
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(duration))
    }

    fn ahead(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.set()).unwrap_or(0))
    }
}

fn wall() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Equals the wall clock on systems without a steady one, so no change is ever detected.
fn steady() -> i64 {
    clock_gettime(STEADY).map_or_else(
        |_| wall(),
        |t| t.tv_sec().saturating_mul(1000).saturating_add(t.tv_nsec() / 1_000_000),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_not_set_is_not_ahead() {
        let clock = MachineClock::new(Skew::default());
        let begun = |begun: i64| MachineClock {
            skew: Skew::default(),
            begun,
            reported: AtomicI64::new(begun),
        };
        assert!(clock.ahead() < Duration::from_secs(5));
        assert_eq!(begun(clock.begun + 3_600_000).ahead(), Duration::ZERO);
        let set_forward = begun(clock.begun - 3_600_000);
        assert!(
            (Duration::from_secs(3_595)..Duration::from_secs(3_605)).contains(&set_forward.ahead())
        );
    }

    #[test]
    fn a_machine_that_is_wrong_from_the_start_follows_the_store_and_was_not_set() {
        let skew = Skew::default();
        skew.measured(-3_600_000);
        let clock = MachineClock::new(skew.clone());
        let behind = clock.machine().since(clock.now());
        assert!(
            (Duration::from_secs(3_595)..Duration::from_secs(3_605)).contains(&behind)
                && clock.ahead() < Duration::from_secs(5)
        );
        // The machine's owner corrects the clock, and the store reports the new difference.
        skew.measured(0);
        let (clock_set_right, hour) =
            (MachineClock { begun: clock.begun + 3_600_000, ..clock }, Duration::from_secs(3_600));
        assert!(clock_set_right.ahead() < hour / 100);
    }
}

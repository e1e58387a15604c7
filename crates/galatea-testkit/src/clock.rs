//! A manual clock for tests: time passes only when a test advances it.

use parking_lot::Mutex;
use std::{collections::BTreeMap, future::Future, pin::Pin, sync::Arc, time::Duration};

use galatea_core::{Clock, Timestamp};
use tokio::sync::{oneshot, watch};

/// Longest time, of the real clock, that a test waits for a task. A slow machine needs far less.
const PATIENCE: Duration = Duration::from_secs(60);

/// A clock on which `now` stands still until [`ManualClock::advance`], and `sleep` completes once
/// the clock is advanced past its end. Cheap to clone; all clones share one time.
#[derive(Clone)]
pub struct ManualClock(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    sleeping: watch::Sender<usize>,
}

struct State {
    now: Timestamp,
    next: u64,
    sleepers: BTreeMap<(Timestamp, u64), oneshot::Sender<()>>,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl ManualClock {
    /// A clock that starts on 2026-01-01 00:00:00 UTC.
    pub fn new() -> Self {
        Self::at(Timestamp(1_767_225_600_000))
    }

    /// A clock that starts at `now`.
    pub fn at(now: Timestamp) -> Self {
        let state = Mutex::new(State { now, next: 0, sleepers: BTreeMap::new() });
        Self(Arc::new(Inner { state, sleeping: watch::Sender::new(0) }))
    }

    /// The clock as the trait object that most constructors take.
    pub fn shared(&self) -> Arc<dyn Clock> {
        Arc::new(self.clone())
    }

    /// Moves time forward by `by` and wakes every sleeper whose deadline has passed, the earliest
    /// first.
    pub fn advance(&self, by: Duration) {
        let due = {
            let mut state = self.lock();
            state.now = state.now.plus(by);
            let last_due = (state.now, u64::MAX);
            let later = state.sleepers.split_off(&last_due);
            std::mem::replace(&mut state.sleepers, later)
        };
        for (_, wake) in due {
            let _ = wake.send(());
        }
        self.recount();
    }

    /// Moves time to the earliest deadline of a sleep and returns the distance; `None` when no task
    /// sleeps.
    pub fn advance_to_next(&self) -> Option<Duration> {
        let by = {
            let mut state = self.lock();
            state.sleepers.retain(|_, wake| !wake.is_closed());
            let ((end, _), _) = state.sleepers.first_key_value()?;
            end.since(state.now)
        };
        self.advance(by);
        Some(by)
    }

    /// Number of sleeps that are pending now.
    pub fn sleepers(&self) -> usize {
        let mut state = self.lock();
        state.sleepers.retain(|_, wake| !wake.is_closed());
        state.sleepers.len()
    }

    /// Completes once at least `count` sleeps are pending. Tests use it to know that a task has
    /// reached its wait.
    ///
    /// # Panics
    /// If there are fewer after a minute.
    pub async fn wait_for_sleepers(&self, count: usize) {
        let mut changes = self.0.sleeping.subscribe();
        let reached = async {
            while self.sleepers() < count {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        if tokio::time::timeout(PATIENCE, reached).await.is_err() {
            panic!("{} of {count} sleeps are pending after {PATIENCE:?}", self.sleepers());
        }
    }

    fn recount(&self) {
        let count = self.sleepers();
        self.0.sleeping.send_replace(count);
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, State> {
        self.0.state.lock()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.lock().now
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            if duration.is_zero() {
                return;
            }
            let (wake, woken) = oneshot::channel();
            {
                let mut state = self.lock();
                // A sleep shorter than the unit of the clock (1 ms) must still wait for an advance.
                let end = state.now.plus(duration.max(Duration::from_millis(1)));
                let number = state.next;
                state.next += 1;
                state.sleepers.insert((end, number), wake);
            }
            self.recount();
            let _ = woken.await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[test]
    fn now_stands_still_until_advanced() {
        let clock = ManualClock::at(Timestamp(1_000));
        assert_eq!(clock.now(), Timestamp(1_000));
        clock.advance(Duration::from_secs(2));
        assert_eq!(clock.clone().now(), Timestamp(3_000));
    }

    #[test]
    fn a_sleep_ends_exactly_when_its_time_has_come() {
        let clock = ManualClock::new();
        let mut sleep = clock.sleep(Duration::from_secs(5));
        assert!((&mut sleep).now_or_never().is_none());
        clock.advance(Duration::from_millis(4_999));
        assert!((&mut sleep).now_or_never().is_none());
        clock.advance(Duration::from_millis(1));
        assert!((&mut sleep).now_or_never().is_some());
    }

    #[test]
    fn a_dropped_sleep_is_forgotten() {
        let clock = ManualClock::new();
        let mut sleep = clock.sleep(Duration::from_secs(5));
        assert!((&mut sleep).now_or_never().is_none());
        assert_eq!(clock.sleepers(), 1);
        drop(sleep);
        assert_eq!(clock.sleepers(), 0);
        assert_eq!(clock.advance_to_next(), None);
    }

    #[tokio::test]
    async fn waiting_for_sleepers_sees_a_task_reach_its_wait() {
        let clock = ManualClock::new();
        let task = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep(Duration::from_secs(60)).await }
        });
        clock.wait_for_sleepers(1).await;
        assert_eq!(clock.advance_to_next(), Some(Duration::from_secs(60)));
        task.await.unwrap();
    }
}

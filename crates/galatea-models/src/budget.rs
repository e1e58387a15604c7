//! The retry budget of one service. Retries must not multiply the load of a service that is in
//! trouble. Pure: callers pass the time in.
//!
//! Retries are limited to a tenth of the calls of the last 10 s, plus 3 a second (Google, "Site
//! Reliability Engineering", "Handling Overload": a tenth per client; the floor is for bots that
//! make a call a minute).

use parking_lot::Mutex;
use std::{collections::VecDeque, time::Duration};

use galatea_core::Timestamp;

const WINDOW: Duration = Duration::from_secs(10);
/// Retries that are always permitted in a window: 3 a second.
const FLOOR: usize = 30;
/// Calls that permit one further retry.
const CALLS_PER_RETRY: usize = 10;

/// A retry budget, shared by all callers of a service.
#[derive(Debug, Default)]
pub struct Budget(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    calls: VecDeque<Timestamp>,
    retries: VecDeque<Timestamp>,
}

impl Budget {
    /// Counts a first attempt.
    pub fn call(&self, now: Timestamp) {
        self.with(now, |counts| counts.calls.push_back(now));
    }

    /// Takes one retry from the budget; false when none is left.
    pub fn retry(&self, now: Timestamp) -> bool {
        self.with(now, |counts| {
            let left = counts.retries.len() < FLOOR + counts.calls.len() / CALLS_PER_RETRY;
            if left {
                counts.retries.push_back(now);
            }
            left
        })
    }

    fn with<T>(&self, now: Timestamp, change: impl FnOnce(&mut Counts) -> T) -> T {
        let mut counts = self.0.lock();
        let Counts { calls, retries } = &mut *counts;
        for times in [calls, retries] {
            // A time in the future was recorded before the clock was set back.
            while times.front().is_some_and(|at| *at > now || now.since(*at) >= WINDOW) {
                times.pop_front();
            }
        }
        change(&mut counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spend(budget: &Budget, at: i64) -> usize {
        (0..1000).take_while(|_| budget.retry(Timestamp(at))).count()
    }

    #[test]
    fn a_quiet_dependency_has_three_a_second() {
        let budget = Budget::default();
        budget.call(Timestamp(0));
        assert_eq!(spend(&budget, 0), 30);
        assert_eq!(spend(&budget, 9_999), 0, "the window is not over");
        assert_eq!(spend(&budget, 10_000), 30);
    }

    #[test]
    fn a_clock_that_is_set_back_takes_no_budget_away() {
        let budget = Budget::default();
        assert_eq!((spend(&budget, 86_400_000), spend(&budget, 1_000)), (30, 30));
    }

    #[test]
    fn a_busy_one_has_a_tenth_of_its_calls_besides() {
        let budget = Budget::default();
        for n in 0..500 {
            budget.call(Timestamp(n));
        }
        assert_eq!(spend(&budget, 500), 30 + 50);
    }
}

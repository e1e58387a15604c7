//! Tracks Discord's rate limits from the headers of its answers. Nothing here waits;
//! [`RateLimits::wait`] returns how long the caller has to.

use dashmap::DashMap;
use galatea_core::{Deadline, Timestamp};
use galatea_http::Response;
use parking_lot::Mutex;
use std::time::Duration;

use super::guard::Guard;

/// Number of entries from which expired ones are removed.
const MAX_BUCKETS: usize = 10_000;

/// A route without ids, except the one by which Discord separates rate limits: of a channel, a
/// guild or an interaction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Route {
    /// Method and path without ids, such as `POST /channels/{}/messages`.
    pub(crate) template: &'static str,
    /// The id by which rate limits are separated.
    pub(crate) major: String,
}

/// The known rate limits.
#[derive(Debug, Default)]
pub(crate) struct RateLimits {
    /// The bucket of each route template.
    buckets: DashMap<&'static str, String>,
    /// Calls left in a bucket, per major id, and when the bucket is full again.
    left: DashMap<(String, String), (u64, Deadline)>,
    /// Until when a route pauses after a 429.
    routes: DashMap<Route, Deadline>,
    global: Mutex<Deadline>,
    guard: Guard,
}

/// Scope of a 429 (Discord, `X-RateLimit-Scope` and `global`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The route of the call.
    Route,
    /// Every call of the application.
    Global,
    /// This resource, because of other users' calls. It does not count against the address.
    Shared,
}

/// The rate limit headers of one answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct RateHeaders {
    bucket: Option<String>,
    remaining: Option<u64>,
    reset_after: Option<Duration>,
}

impl RateHeaders {
    /// Reads an answer's headers.
    pub(crate) fn read(response: &Response) -> Self {
        let seconds =
            response.header("x-ratelimit-reset-after").and_then(|v| v.parse::<f64>().ok());
        Self {
            bucket: response.header("x-ratelimit-bucket").map(str::to_owned),
            remaining: response.header("x-ratelimit-remaining").and_then(|v| v.parse().ok()),
            reset_after: seconds
                .filter(|s| s.is_finite() && *s >= 0.0 && *s < 86_400.0)
                .map(Duration::from_secs_f64),
        }
    }
}

impl RateLimits {
    /// Wait of a call; `None` if it may be made. The flag is true if the guard
    /// requires the wait. `interaction` calls are exempt from the global limit.
    pub(crate) fn wait(
        &self,
        route: &Route,
        interaction: bool,
        now: Timestamp,
    ) -> Option<(Duration, bool)> {
        let rests = |wait| {
            self.guard.rests(Some(now.plus(wait)));
            Some((wait, true))
        };
        if let Some(wait) = self.guard.full(now) {
            return rests(wait);
        }
        let global = *self.global.lock();
        let mut wait = if interaction { None } else { global.left(now) };
        if let Some(rest) = self.routes.get(route) {
            wait = wait.max(rest.left(now));
        }
        if let Some(bucket) = self.buckets.get(route.template) {
            let key = (bucket.clone(), route.major.clone());
            if let Some(mut left) = self.left.get_mut(&key) {
                if left.0 == 0 {
                    wait = wait.max(left.1.left(now));
                } else if left.1.left(now).is_some() {
                    // Count the call now, so that concurrent calls do not all take the same last
                    // one.
                    left.0 -= 1;
                }
            }
        }
        if let Some(wait) = wait {
            return Some((wait, false));
        }
        self.guard.turn(now).and_then(rests)
    }

    /// The guard against a ban of our IP address.
    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Records the headers of an answer.
    pub(crate) fn note(&self, route: &Route, headers: RateHeaders, now: Timestamp) {
        let (Some(bucket), Some(remaining), Some(after)) =
            (headers.bucket, headers.remaining, headers.reset_after)
        else {
            return;
        };
        if self.buckets.get(route.template).is_none_or(|known| *known != bucket) {
            self.buckets.insert(route.template, bucket.clone());
        }
        if self.left.len() >= MAX_BUCKETS {
            self.left.retain(|_, (_, until)| until.left(now).is_some());
        }
        self.left.insert((bucket, route.major.clone()), (remaining, Deadline::after(now, after)));
    }

    /// Records a 429.
    pub(crate) fn limited(&self, route: &Route, scope: Scope, wait: Duration, now: Timestamp) {
        let until = Deadline::after(now, wait);
        if scope == Scope::Global {
            let mut global = self.global.lock();
            *global = until.later(*global);
        } else {
            if self.routes.len() >= MAX_BUCKETS {
                self.routes.retain(|_, until| until.left(now).is_some());
            }
            self.routes.insert(route.clone(), until);
        }
        if scope != Scope::Shared {
            self.guard.refused(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(major: &str) -> Route {
        Route { template: "POST /channels/{}/messages", major: major.into() }
    }

    fn headers(remaining: u64) -> RateHeaders {
        RateHeaders {
            bucket: Some("b".into()),
            remaining: Some(remaining),
            reset_after: Some(Duration::from_secs(5)),
        }
    }

    #[test]
    fn an_empty_bucket_is_waited_for_per_channel() {
        let limits = RateLimits::default();
        limits.note(&route("1"), headers(0), Timestamp(0));
        assert_eq!(
            limits.wait(&route("1"), false, Timestamp(1_000)),
            Some((Duration::from_secs(4), false))
        );
        assert_eq!(limits.wait(&route("2"), false, Timestamp(1_000)), None);
        assert_eq!(limits.wait(&route("1"), false, Timestamp(5_000)), None);
    }

    #[test]
    fn calls_side_by_side_do_not_take_the_same_last_one() {
        let limits = RateLimits::default();
        limits.note(&route("1"), headers(1), Timestamp(0));
        assert_eq!(limits.wait(&route("1"), false, Timestamp(1)), None);
        assert!(limits.wait(&route("1"), false, Timestamp(1)).is_some());
    }

    #[test]
    fn a_global_limit_holds_all_but_interactions() {
        let limits = RateLimits::default();
        limits.limited(&route("1"), Scope::Global, Duration::from_secs(2), Timestamp(0));
        assert!(limits.wait(&route("2"), false, Timestamp(0)).is_some());
        assert_eq!(limits.wait(&route("2"), true, Timestamp(0)), None);
    }

    #[test]
    fn five_thousand_refusals_in_ten_minutes_stop_everything() {
        let limits = RateLimits::default();
        for n in 0..5_000 {
            assert_eq!(limits.wait(&route("1"), false, Timestamp(n)), None);
            limits.guard.refused(Timestamp(n));
            limits.guard.taken();
        }
        let (wait, guard) = limits.wait(&route("1"), true, Timestamp(5_000)).unwrap();
        assert!(guard && wait <= Duration::from_secs(600));
        assert_eq!(
            limits.wait(&route("1"), false, Timestamp(600_000)),
            None,
            "the oldest has left the window"
        );
        let shared = RateLimits::default();
        for n in 0..6_000 {
            shared.limited(&route("1"), Scope::Shared, Duration::ZERO, Timestamp(n));
        }
        assert_eq!(
            shared.wait(&route("1"), false, Timestamp(6_001)),
            None,
            "a shared limit does not count"
        );
    }

    #[test]
    fn an_hour_in_which_all_is_refused_costs_less_than_a_hundredth_of_the_quota() {
        let limits = RateLimits::default();
        let mut calls: Vec<i64> = Vec::new();
        // The caller attempts ten calls a second.
        for now in (0..3_600_000).step_by(100).map(Timestamp) {
            if limits.wait(&route("1"), false, now).is_none() {
                limits.guard.refused(now);
                calls.push(now.0);
            }
        }
        let worst = calls
            .iter()
            .map(|from| calls.iter().filter(|at| (*from..*from + 600_000).contains(*at)).count())
            .max()
            .unwrap();
        assert!((20..=100).contains(&worst), "{worst} in ten minutes");
        assert!(limits.guard.resting().borrow().is_some());
        // The first answer of another kind ends it.
        let later = Timestamp(4_000_000);
        assert_eq!(limits.wait(&route("1"), false, later), None);
        assert!(
            limits.wait(&route("2"), false, later).is_some_and(|(_, guard)| guard),
            "one at a time"
        );
        limits.guard.taken();
        assert!(
            (0..50).all(|_| limits.wait(&route("2"), false, later).is_none())
                && limits.guard.resting().borrow().is_none()
        );
    }
}

//! Discord's rate limits as it tells them, and the guard against a ban of the address. Nothing here waits: whoever would have to is told how long.

use dashmap::DashMap;
use galatea_core::{Deadline, Timestamp};
use galatea_http::Response;
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::watch;

/// Calls refused with 401, 403 or 429 within [`WINDOW`] at which everything rests; Discord bans an address at 10,000 ("Invalid Request Limit").
const MAX_INVALID: usize = 5_000;
const WINDOW: Duration = Duration::from_secs(600);
/// Refused calls in a row, no other answer between them, at which calls are made one by one: all of Discord refuses, not a channel.
const STORM: u32 = 20;
/// Pauses between such calls, doubled each time: a storm costs fifty calls in its first ten minutes and ten in each that follows.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Buckets remembered; those that are over are dropped first.
const MAX_BUCKETS: usize = 10_000;

/// A route without its ids but for the one that limits are kept apart by: a channel, a guild or an interaction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Route {
    /// Such as `POST /channels/{}/messages`.
    pub(crate) template: &'static str,
    /// The id that limits are kept apart by.
    pub(crate) major: String,
}

/// What is known about limits.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    /// Which bucket a route is in.
    buckets: DashMap<&'static str, String>,
    /// How much is left of a bucket, per major id, and when it is full again.
    left: DashMap<(String, String), (u64, Deadline)>,
    /// One route rests until then.
    routes: DashMap<Route, Deadline>,
    global: Mutex<Deadline>,
    invalid: Mutex<VecDeque<Timestamp>>,
    storm: Mutex<Storm>,
    /// Until when everything rests, for whoever shows it.
    resting: watch::Sender<Option<Timestamp>>,
}

/// Refusals without another answer between them.
#[derive(Debug, Default)]
struct Storm {
    in_a_row: u32,
    /// No call before then.
    until: Timestamp,
}

impl Storm {
    /// Leave for one call, or how long to wait for it.
    fn admit(&mut self, now: Timestamp) -> Option<Duration> {
        let over = self.in_a_row.checked_sub(STORM)?;
        let pause = FIRST_PAUSE.saturating_mul(1_u32 << over.min(6)).min(LONGEST_PAUSE);
        // A clock that was set back must not make it longer.
        let wait = self.until.since(now).min(pause);
        if wait.is_zero() {
            // One at a time: whoever comes beside waits for what becomes of this one.
            self.until = now.plus(pause);
            return None;
        }
        Some(wait)
    }
}

/// What a 429 is about (Discord, `X-RateLimit-Scope` and `global`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// This route.
    Route,
    /// Everything.
    Global,
    /// This resource, by what others do: does not count against the address.
    Shared,
}

/// Limits of one answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Told {
    bucket: Option<String>,
    remaining: Option<u64>,
    reset_after: Option<Duration>,
}

impl Told {
    /// Reads an answer's headers.
    pub(crate) fn read(response: &Response) -> Self {
        let seconds = response.header("x-ratelimit-reset-after").and_then(|v| v.parse::<f64>().ok());
        Self {
            bucket: response.header("x-ratelimit-bucket").map(str::to_owned),
            remaining: response.header("x-ratelimit-remaining").and_then(|v| v.parse().ok()),
            reset_after: seconds.filter(|s| s.is_finite() && *s >= 0.0 && *s < 86_400.0).map(Duration::from_secs_f64),
        }
    }
}

impl Limits {
    /// How long a call has to wait, if it has to; true when the guard says so. `interaction` calls are exempt from the global limit.
    pub(crate) fn wait(&self, route: &Route, interaction: bool, now: Timestamp) -> Option<(Duration, bool)> {
        let rests = |wait| {
            self.rests(Some(now.plus(wait)));
            Some((wait, true))
        };
        if let Some(wait) = self.guard(now) {
            return rests(wait);
        }
        let global = *self.global.lock().unwrap_or_else(PoisonError::into_inner);
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
                    // Calls made side by side must not all see the same last one.
                    left.0 -= 1;
                }
            }
        }
        if let Some(wait) = wait {
            return Some((wait, false));
        }
        self.lock_storm().admit(now).and_then(rests)
    }

    /// Until when everything rests because too much was refused; none when nothing does.
    pub(crate) fn resting(&self) -> watch::Receiver<Option<Timestamp>> {
        self.resting.subscribe()
    }

    fn rests(&self, until: Option<Timestamp>) {
        self.resting.send_if_modified(|known| std::mem::replace(known, until) != until);
    }

    /// Notes an answer that shows that not everything is refused.
    pub(crate) fn taken(&self) {
        self.lock_storm().in_a_row = 0;
        self.rests(None);
    }

    fn lock_storm(&self) -> MutexGuard<'_, Storm> {
        self.storm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn guard(&self, now: Timestamp) -> Option<Duration> {
        let mut invalid = self.invalid.lock().unwrap_or_else(PoisonError::into_inner);
        while invalid.front().is_some_and(|at| now.since(*at) >= WINDOW) {
            invalid.pop_front();
        }
        let first = invalid.front().filter(|_| invalid.len() >= MAX_INVALID)?;
        Some(WINDOW.saturating_sub(now.since(*first)))
    }

    /// Notes an answer.
    pub(crate) fn note(&self, route: &Route, told: Told, now: Timestamp) {
        let (Some(bucket), Some(remaining), Some(after)) = (told.bucket, told.remaining, told.reset_after) else { return };
        if self.buckets.get(route.template).is_none_or(|known| *known != bucket) {
            self.buckets.insert(route.template, bucket.clone());
        }
        if self.left.len() >= MAX_BUCKETS {
            self.left.retain(|_, (_, until)| until.left(now).is_some());
        }
        self.left.insert((bucket, route.major.clone()), (remaining, Deadline::after(now, after)));
    }

    /// Notes a 429.
    pub(crate) fn limited(&self, route: &Route, scope: Scope, wait: Duration, now: Timestamp) {
        let until = Deadline::after(now, wait);
        if scope == Scope::Global {
            let mut global = self.global.lock().unwrap_or_else(PoisonError::into_inner);
            *global = until.later(*global);
        } else {
            if self.routes.len() >= MAX_BUCKETS {
                self.routes.retain(|_, until| until.left(now).is_some());
            }
            self.routes.insert(route.clone(), until);
        }
        if scope != Scope::Shared {
            self.invalid(now);
        }
    }

    /// Notes a call that counts against the address: 401, 403, 429.
    pub(crate) fn invalid(&self, now: Timestamp) {
        let mut invalid = self.invalid.lock().unwrap_or_else(PoisonError::into_inner);
        if invalid.len() < MAX_INVALID {
            invalid.push_back(now);
        }
        let mut storm = self.lock_storm();
        storm.in_a_row = storm.in_a_row.saturating_add(1);
        if let Some(over) = storm.in_a_row.checked_sub(STORM) {
            storm.until = now.plus(FIRST_PAUSE.saturating_mul(1_u32 << over.min(6)).min(LONGEST_PAUSE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(major: &str) -> Route {
        Route { template: "POST /channels/{}/messages", major: major.into() }
    }

    fn told(remaining: u64) -> Told {
        Told { bucket: Some("b".into()), remaining: Some(remaining), reset_after: Some(Duration::from_secs(5)) }
    }

    #[test]
    fn an_empty_bucket_is_waited_for_per_channel() {
        let limits = Limits::default();
        limits.note(&route("1"), told(0), Timestamp(0));
        assert_eq!(limits.wait(&route("1"), false, Timestamp(1_000)), Some((Duration::from_secs(4), false)));
        assert_eq!(limits.wait(&route("2"), false, Timestamp(1_000)), None);
        assert_eq!(limits.wait(&route("1"), false, Timestamp(5_000)), None);
    }

    #[test]
    fn calls_side_by_side_do_not_take_the_same_last_one() {
        let limits = Limits::default();
        limits.note(&route("1"), told(1), Timestamp(0));
        assert_eq!(limits.wait(&route("1"), false, Timestamp(1)), None);
        assert!(limits.wait(&route("1"), false, Timestamp(1)).is_some());
    }

    #[test]
    fn a_global_limit_holds_all_but_interactions() {
        let limits = Limits::default();
        limits.limited(&route("1"), Scope::Global, Duration::from_secs(2), Timestamp(0));
        assert!(limits.wait(&route("2"), false, Timestamp(0)).is_some());
        assert_eq!(limits.wait(&route("2"), true, Timestamp(0)), None);
    }

    #[test]
    fn five_thousand_refusals_in_ten_minutes_stop_everything() {
        let limits = Limits::default();
        for n in 0..5_000 {
            assert_eq!(limits.wait(&route("1"), false, Timestamp(n)), None);
            limits.invalid(Timestamp(n));
            limits.taken();
        }
        let (wait, guard) = limits.wait(&route("1"), true, Timestamp(5_000)).unwrap();
        assert!(guard && wait <= WINDOW);
        assert_eq!(limits.wait(&route("1"), false, Timestamp(600_000)), None, "the oldest has left the window");
        let shared = Limits::default();
        for n in 0..6_000 {
            shared.limited(&route("1"), Scope::Shared, Duration::ZERO, Timestamp(n));
        }
        assert_eq!(shared.wait(&route("1"), false, Timestamp(6_001)), None, "what others do does not count");
    }

    #[test]
    fn an_hour_in_which_all_is_refused_costs_less_than_a_hundredth_of_the_quota() {
        let limits = Limits::default();
        let mut calls: Vec<i64> = Vec::new();
        // Somebody wants to call ten times a second.
        for now in (0..3_600_000).step_by(100).map(Timestamp) {
            if limits.wait(&route("1"), false, now).is_none() {
                limits.invalid(now);
                calls.push(now.0);
            }
        }
        let worst = calls.iter().map(|from| calls.iter().filter(|at| (*from..*from + 600_000).contains(*at)).count()).max().unwrap();
        assert!((STORM as usize..=100).contains(&worst), "{worst} in ten minutes");
        assert!(limits.resting().borrow().is_some());
        // The first answer of another kind ends it.
        let later = Timestamp(4_000_000);
        assert_eq!(limits.wait(&route("1"), false, later), None);
        assert!(limits.wait(&route("2"), false, later).is_some_and(|(_, guard)| guard), "one at a time");
        limits.taken();
        assert!((0..50).all(|_| limits.wait(&route("2"), false, later).is_none()) && limits.resting().borrow().is_none());
    }
}

//! Rate limits: a bucket per route and top-level id, the global limit, and the count of invalid
//! calls per address.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use super::refusal::{Limit, Refusal};

/// Calls per second over all routes (Discord, "Global Rate Limit").
const GLOBAL: usize = 50;

/// State of all rate limits.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    buckets: HashMap<(String, String), Bucket>,
    recent: VecDeque<Instant>,
    rest: HashMap<(String, String), Instant>,
    global_rest: Option<Instant>,
    /// Number of calls answered 401, 403 or 429 (without scope `shared`).
    pub(crate) invalid: usize,
}

#[derive(Debug)]
struct Bucket {
    used: u32,
    until: Instant,
}

/// Content of an answer's rate limit headers.
#[derive(Debug, Clone)]
pub(crate) struct Allowance {
    pub(crate) bucket: String,
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    pub(crate) reset_after: Duration,
}

impl Allowance {
    /// Limits that are never reached, for benchmarks.
    pub(crate) fn unlimited() -> Self {
        Self {
            bucket: "unlimited".to_owned(),
            limit: 1_000_000,
            remaining: 1_000_000,
            reset_after: Duration::from_secs(1),
        }
    }
}

impl Limits {
    /// Counts a call in its bucket, which accepts `size` calls within `window`.
    pub(crate) fn count(
        &mut self,
        route: &str,
        major: &str,
        size: u32,
        window: Duration,
        exempt: bool,
    ) -> (Allowance, Option<Refusal>) {
        let now = Instant::now();
        let key = (route.to_owned(), major.to_owned());
        let refuse = |retry_after: Duration, global| {
            Refusal::too_many(Limit { retry_after, global, shared: false })
        };
        let bucket =
            self.buckets.entry(key.clone()).or_insert(Bucket { used: 0, until: now + window });
        if bucket.until <= now {
            *bucket = Bucket { used: 0, until: now + window };
        }
        let left = |b: &Bucket| Allowance {
            bucket: hash(route),
            limit: size,
            remaining: size.saturating_sub(b.used),
            reset_after: b.until - now,
        };
        if let Some(until) = self.rest.get(&key).filter(|u| **u > now) {
            return (
                left(bucket),
                Some(
                    refuse(*until - now, false)
                        .wrong("called before the retry_after of an earlier answer had passed"),
                ),
            );
        }
        if !exempt {
            if let Some(until) = self.global_rest.filter(|u| *u > now) {
                return (
                    left(bucket),
                    Some(
                        refuse(until - now, true)
                            .wrong("called before the global retry_after had passed"),
                    ),
                );
            }
            while self.recent.front().is_some_and(|at| now - *at > Duration::from_secs(1)) {
                self.recent.pop_front();
            }
            if self.recent.len() >= GLOBAL {
                return (left(bucket), Some(refuse(Duration::from_secs(1), true)));
            }
            self.recent.push_back(now);
        }
        if bucket.used >= size {
            // The client knew from the headers that the bucket was empty, so this call is a
            // violation.
            let wait = bucket.until - now;
            return (
                left(bucket),
                Some(refuse(wait, false).wrong("called although X-RateLimit-Remaining was 0")),
            );
        }
        bucket.used += 1;
        (left(bucket), None)
    }

    /// Starts a rate limit that a fault demands.
    pub(crate) fn order(&mut self, route: &str, major: &str, wait: Duration, global: bool) {
        let until = Instant::now() + wait;
        if global {
            self.global_rest = Some(until);
        } else {
            self.rest.insert((route.to_owned(), major.to_owned()), until);
        }
    }
}

/// Opaque bucket name.
fn hash(route: &str) -> String {
    format!(
        "{:016x}",
        route.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b))
            .wrapping_mul(0x100_0000_01b3))
    )
}

//! A brake on IDENTIFY: 1,000 in 24 hours, and Discord ends every session and resets the token ("Session Start Limit").

use galatea_core::{Batch, Cursor, Error, ErrorKind, Gateway, Result, Retry, Timestamp};
use serde::Deserialize;
use std::{collections::HashMap, time::Duration};
use tokio::sync::Mutex;

use crate::error::codes;

/// Name of the stream that remembers the times of earlier ones.
const STREAM: &str = "identify";
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Beyond this many an hour, per shard, each waits twice as long as the one before.
const PER_HOUR: usize = 5;
const FIRST_WAIT: Duration = Duration::from_secs(10);
/// Full stop: a tenth is left for other programs with the same token.
const PER_DAY: usize = 900;
/// Between two of one concurrency bucket (Discord, "Rate Limiting": gateway), with something for the way.
const SPACING: Duration = Duration::from_millis(5_100);

/// `session_start_limit` of GET /gateway/bot.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct StartLimit {
    #[serde(default = "many")]
    pub(crate) remaining: u64,
    /// Milliseconds.
    #[serde(default)]
    pub(crate) reset_after: u64,
    #[serde(default = "one")]
    pub(crate) max_concurrency: u16,
}

fn many() -> u64 {
    1000
}

fn one() -> u16 {
    1
}

impl Default for StartLimit {
    fn default() -> Self {
        Self { remaining: many(), reset_after: 0, max_concurrency: one() }
    }
}

/// Gives permits to identify. Shared by all shards.
pub(crate) struct Quota {
    gateway: Gateway,
    shards: usize,
    concurrency: u16,
    state: Mutex<State>,
}

struct State {
    times: Vec<Timestamp>,
    remaining: u64,
    reset: Timestamp,
    buckets: HashMap<u16, Timestamp>,
}

impl Quota {
    /// Reads what earlier runs noted.
    pub(crate) async fn open(gateway: &Gateway, shards: u16, limit: &StartLimit) -> Result<Self> {
        let known = gateway.cursor(STREAM).await?.and_then(|c| serde_json::from_str::<Vec<i64>>(&c.position).ok()).unwrap_or_default();
        let times: Vec<Timestamp> = known.into_iter().map(Timestamp).collect();
        let now = gateway.clock().now();
        let mut buckets = HashMap::new();
        if let Some(last) = times.last().filter(|_| limit.max_concurrency <= 1) {
            buckets.insert(0, last.plus(SPACING));
        }
        let state = State { times, remaining: limit.remaining, reset: now.plus(Duration::from_millis(limit.reset_after)), buckets };
        Ok(Self { gateway: gateway.clone(), shards: usize::from(shards.max(1)), concurrency: limit.max_concurrency.max(1), state: Mutex::new(state) })
    }

    /// Waits for its turn and notes it, before Discord hears of it.
    ///
    /// # Errors
    /// `RateLimited` with `GAL-DC-IDENTIFY` when none is left for today.
    pub(crate) async fn permit(&self, shard: u16) -> Result<()> {
        let mut state = self.state.lock().await;
        let clock = self.gateway.clock();
        let now = clock.now();
        let wait = wait(&state, shard % self.concurrency, self.shards, now)?;
        if !wait.is_zero() {
            if wait > SPACING {
                tracing::warn!(seconds = wait.as_secs(), "many sessions were begun lately; the next one waits");
            }
            clock.sleep(wait).await;
        }
        let now = clock.now();
        state.times.retain(|at| now.since(*at) < DAY);
        state.times.push(now);
        state.remaining = state.remaining.saturating_sub(1);
        state.buckets.insert(shard % self.concurrency, now.plus(SPACING));
        let times: Vec<i64> = state.times.iter().map(|t| t.0).collect();
        let cursor = Cursor { stream: STREAM.to_owned(), position: serde_json::to_string(&times).unwrap_or_default() };
        self.gateway.receive(Batch { events: Vec::new(), cursor: Some(cursor) }).await?;
        Ok(())
    }
}

/// How long the next one has to wait.
fn wait(state: &State, bucket: u16, shards: usize, now: Timestamp) -> Result<Duration> {
    let today: Vec<Timestamp> = state.times.iter().copied().filter(|at| now.since(*at) < DAY).collect();
    let over = |until: Timestamp| {
        Error::new(ErrorKind::RateLimited, "too many sessions were begun today: one more could cost the bot its token")
            .with_code(codes::IDENTIFY)
            .with_retry(Retry::After(until.since(now)))
            .with("today", today.len())
            .with_fix("find out what restarts it again and again; it goes on by itself once Discord allows it")
    };
    if state.remaining == 0 && state.reset > now {
        return Err(over(state.reset));
    }
    if let Some(oldest) = today.first().filter(|_| today.len() >= PER_DAY) {
        return Err(over(oldest.plus(DAY)));
    }
    let hour = today.iter().filter(|at| now.since(**at) < HOUR).count();
    let spaced = state.buckets.get(&bucket).map_or(Duration::ZERO, |next| next.since(now));
    let braked = match hour.checked_sub(PER_HOUR * shards) {
        Some(more) => {
            let delay = FIRST_WAIT.saturating_mul(1_u32 << more.min(9)).min(HOUR);
            today.last().map_or(Duration::ZERO, |last| last.plus(delay).since(now))
        }
        None => Duration::ZERO,
    };
    Ok(spaced.max(braked))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(times: Vec<i64>) -> State {
        State { times: times.into_iter().map(Timestamp).collect(), remaining: 1000, reset: Timestamp(0), buckets: HashMap::new() }
    }

    #[test]
    fn the_wait_doubles_after_five_an_hour() {
        let now = 10_000_000;
        let waits: Vec<_> = (4..9).map(|n| wait(&state((0..n).map(|i| now - i).rev().collect()), 0, 1, Timestamp(now)).unwrap().as_secs()).collect();
        assert_eq!(waits, [0, 10, 20, 40, 80]);
        assert!(wait(&state(vec![now; 5]), 0, 4, Timestamp(now)).unwrap().is_zero(), "four shards begin four sessions");
        assert!(wait(&state(vec![now; 100]), 0, 1, Timestamp(now)).unwrap() <= HOUR);
    }

    #[test]
    fn nine_hundred_a_day_are_the_end() {
        let now = 100_000_000;
        let error = wait(&state((0..900).map(|i| now - 4_000_000 - i * 1_000).rev().collect()), 0, 1, Timestamp(now)).unwrap_err();
        assert_eq!((error.code(), error.kind()), (Some("GAL-DC-IDENTIFY"), ErrorKind::RateLimited));
        assert!(matches!(error.retry(), Retry::After(wait) if wait > HOUR && wait < DAY));
    }

    #[test]
    fn discords_own_count_is_obeyed() {
        let empty = State { remaining: 0, reset: Timestamp(60_000), ..state(Vec::new()) };
        assert_eq!(wait(&empty, 0, 1, Timestamp(0)).unwrap_err().retry(), Retry::After(Duration::from_secs(60)));
        assert!(wait(&empty, 0, 1, Timestamp(60_000)).is_ok());
    }
}

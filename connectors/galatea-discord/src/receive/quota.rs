//! Limits how often the shards send IDENTIFY. After 1,000 in 24 hours Discord ends every session
//! and resets the token ("Session Start Limit").

use galatea_core::{Backoff, Error, ErrorKind, Gateway, Result, Retry, Timestamp};
use serde::Deserialize;
use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};
use tokio::sync::{Mutex, MutexGuard};

use crate::error::codes;

/// Key of the connector state that holds the times of earlier IDENTIFYs.
const KEY: &str = "identify";
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// After this many in an hour, per shard, each further one waits twice as long as the one before.
const PER_HOUR: usize = 5;
const FIRST_WAIT: Duration = Duration::from_secs(10);
/// After this many in a day, per shard, one is allowed per hour. A crash loop then costs 44 a day,
/// and occasional restarts are not delayed.
const PER_SHARD_AND_DAY: usize = 20;
/// Hard limit per day: a tenth of Discord's 1,000 is left for other programs with the same token.
const PER_DAY: usize = 900;
/// Pause between two IDENTIFYs of one concurrency bucket (Discord, "Rate Limiting": gateway), with
/// a margin for network delay: Discord measures the pause between what it receives.
const SPACING: Duration = Duration::from_millis(5_500);

/// `session_start_limit` of GET /gateway/bot.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct StartLimit {
    #[serde(default = "default_remaining")]
    pub(crate) remaining: u64,
    /// Milliseconds.
    #[serde(default)]
    pub(crate) reset_after: u64,
    #[serde(default = "default_concurrency")]
    pub(crate) max_concurrency: u16,
}

fn default_remaining() -> u64 {
    1000
}

fn default_concurrency() -> u16 {
    1
}

impl Default for StartLimit {
    fn default() -> Self {
        Self {
            remaining: default_remaining(),
            reset_after: 0,
            max_concurrency: default_concurrency(),
        }
    }
}

/// Decides when a shard may identify. Shared by all shards.
pub(crate) struct Quota {
    gateway: Gateway,
    shards: usize,
    /// Locks, one per concurrency bucket: only one of its shards identifies at a time.
    turns: Vec<Mutex<()>>,
    state: Mutex<QuotaState>,
}

struct QuotaState {
    times: Vec<Timestamp>,
    remaining: u64,
    reset: Timestamp,
    buckets: HashMap<u16, Timestamp>,
}

/// Permission to send one IDENTIFY.
pub(crate) struct IdentifyPermit<'a> {
    quota: &'a Quota,
    bucket: u16,
    _place: MutexGuard<'a, ()>,
}

impl Quota {
    /// Loads the times that earlier runs stored, whichever agent had the account: Discord counts them
    /// for the application.
    pub(crate) async fn open(gateway: &Gateway, shards: u16, limit: &StartLimit) -> Result<Self> {
        let stored = gateway.account_states(KEY).await?;
        // A malformed list counts as none, and the next IDENTIFY replaces it.
        let known = stored.into_iter().filter_map(|list| serde_json::from_value(list).ok());
        let times: BTreeSet<Timestamp> = known.flat_map(|list: Vec<Timestamp>| list).collect();
        let times: Vec<Timestamp> = times.into_iter().collect();
        let now = gateway.clock().now();
        let mut buckets = HashMap::new();
        if let Some(last) = times.last().filter(|_| limit.max_concurrency <= 1) {
            buckets.insert(0, last.plus(SPACING));
        }
        let state = QuotaState {
            times,
            remaining: limit.remaining,
            reset: now.plus(Duration::from_millis(limit.reset_after)),
            buckets,
        };
        let turns = (0..limit.max_concurrency.max(1)).map(|_| Mutex::default()).collect();
        Ok(Self {
            gateway: gateway.clone(),
            shards: usize::from(shards.max(1)),
            turns,
            state: Mutex::new(state),
        })
    }

    /// Waits until the shard may identify. Calls `braked` with the wait if many earlier IDENTIFYs
    /// cause it. Only [`IdentifyPermit::take`] counts as an IDENTIFY, so a shard that does not reach
    /// Discord uses up nothing.
    ///
    /// # Errors
    /// `RateLimited` with `GAL-DC-IDENTIFY` if no IDENTIFY is left for today.
    pub(crate) async fn permit(
        &self,
        shard: u16,
        braked: impl Fn(Duration),
    ) -> Result<IdentifyPermit<'_>> {
        let at = usize::from(shard) % self.turns.len();
        let bucket = u16::try_from(at).unwrap_or(0);
        let place = self.turns[at].lock().await;
        let clock = self.gateway.clock();
        loop {
            let wait = wait(&*self.state.lock().await, bucket, self.shards, clock.now())?;
            if wait.is_zero() {
                return Ok(IdentifyPermit { quota: self, bucket, _place: place });
            }
            if wait > SPACING {
                braked(wait);
            }
            clock.sleep(wait).await;
        }
    }
}

impl IdentifyPermit<'_> {
    /// Stores the time of the IDENTIFY. Called before it is sent, so that a crash cannot lose it.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn take(self) -> Result<()> {
        let mut state = self.quota.state.lock().await;
        let now = self.quota.gateway.clock().now();
        state.times.retain(|at| now.since(*at) < DAY);
        state.times.push(now);
        state.remaining = state.remaining.saturating_sub(1);
        let times: Vec<i64> = state.times.iter().map(|t| t.0).collect();
        if let Err(error) = self.quota.gateway.save_state(KEY, times.into()).await {
            // IDENTIFY is not sent.
            state.times.pop();
            state.remaining = state.remaining.saturating_add(1);
            return Err(error);
        }
        // The commit may take long, and IDENTIFY is sent after it.
        let sent = self.quota.gateway.clock().now();
        state.buckets.insert(self.bucket, sent.plus(SPACING));
        Ok(())
    }
}

/// The error that the health report shows while a shard waits because of many earlier sessions.
pub(crate) fn braked() -> Error {
    Error::new(ErrorKind::RateLimited, "many sessions were begun lately, so the next one waits: too many would cost the bot its token")
        .with_code(codes::IDENTIFY)
        .with_fix("nothing to do when Discord has a fault; otherwise find out what restarts it again and again")
}

/// Wait of the next IDENTIFY. Pure.
fn wait(state: &QuotaState, bucket: u16, shards: usize, now: Timestamp) -> Result<Duration> {
    let today: Vec<Timestamp> =
        state.times.iter().copied().filter(|at| now.since(*at) < DAY).collect();
    let over = |until: Timestamp| {
        Error::new(
            ErrorKind::RateLimited,
            "too many sessions were begun today: one more could cost the bot its token",
        )
        .with_code(codes::IDENTIFY)
        .with_retry(Retry::After(until.since(now)))
        .with("today", today.len())
        .with_fix("find out what restarts it again and again; it continues once Discord allows it")
    };
    if state.remaining == 0 && state.reset > now {
        return Err(over(state.reset));
    }
    if let Some(oldest) = today.first().filter(|_| today.len() >= PER_DAY) {
        return Err(over(oldest.plus(DAY)));
    }
    // A wait is never longer than its rule, even if the clock was set back since the last IDENTIFY.
    let after = |last: Option<&Timestamp>, delay: Duration| {
        last.map_or(Duration::ZERO, |last| last.plus(delay).since(now).min(delay))
    };
    let hour = today.iter().filter(|at| now.since(**at) < HOUR).count();
    let spaced =
        state.buckets.get(&bucket).map_or(Duration::ZERO, |next| next.since(now).min(SPACING));
    let hourly = hour.checked_sub(PER_HOUR * shards).map_or(Duration::ZERO, |more| {
        Backoff::pause_after(FIRST_WAIT, HOUR, u32::try_from(more).unwrap_or(u32::MAX))
    });
    let daily = if today.len() >= PER_SHARD_AND_DAY * shards {
        HOUR / u32::try_from(shards).unwrap_or(1)
    } else {
        Duration::ZERO
    };
    Ok(spaced.max(after(today.last(), hourly.max(daily))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{Account, Capabilities, Clock as _, ConnectorInfo, ReadBack, TextUnit};
    use galatea_testkit::{
        clock::ManualClock,
        connector_suite::{RecordingGateway, running},
    };

    fn state(times: Vec<i64>) -> QuotaState {
        QuotaState {
            times: times.into_iter().map(Timestamp).collect(),
            remaining: 1000,
            reset: Timestamp(0),
            buckets: HashMap::new(),
        }
    }

    #[test]
    fn the_wait_doubles_after_five_an_hour() {
        let now = 10_000_000;
        let waits: Vec<_> = (4..9)
            .map(|n| {
                wait(&state((0..n).map(|i| now - i).rev().collect()), 0, 1, Timestamp(now))
                    .unwrap()
                    .as_secs()
            })
            .collect();
        assert_eq!(waits, [0, 10, 20, 40, 80]);
        assert!(
            wait(&state(vec![now; 5]), 0, 4, Timestamp(now)).unwrap().is_zero(),
            "four shards begin four sessions"
        );
        assert!(wait(&state(vec![now; 100]), 0, 1, Timestamp(now)).unwrap() <= HOUR);
    }

    #[tokio::test]
    async fn the_times_of_every_agent_that_had_the_account_count() {
        let clock = ManualClock::at(Timestamp(1_700_000_000_000));
        let recording = RecordingGateway::new(running::identity());
        let now = clock.now().0;
        let capabilities = Capabilities {
            max_text: 2_000,
            text_unit: TextUnit::Utf16,
            edit: true,
            delete: true,
            react: true,
            typing: true,
            buttons: true,
            files: true,
            threads: true,
            read_back: ReadBack::Key,
            public: true,
        };
        let info =
            ConnectorInfo { source: crate::SOURCE, account: Account("7".into()), capabilities };
        recording.put_state_of_another(KEY, vec![now - 7_200_000, now - 1_000].into());
        recording.put_state_of_another(KEY, "malformed".into());
        recording.put_state(KEY, vec![now - 3_600_000].into());
        let gateway = Gateway::new(info, running::identity(), recording.clone(), clock.shared());
        let quota = Quota::open(&gateway, 1, &StartLimit::default()).await.unwrap();
        let state = quota.state.lock().await;
        let ago: Vec<i64> = state.times.iter().map(|at| now - at.0).collect();
        assert_eq!(ago, [7_200_000, 3_600_000, 1_000]);
        assert_eq!(wait(&state, 0, 1, clock.now()).unwrap(), SPACING - Duration::from_secs(1));
    }

    /// Number of IDENTIFYs in a day by a program that identifies as soon as it may and keeps
    /// nothing but the stored state.
    fn in_a_day(shards: usize) -> usize {
        let (mut now, mut state) = (Timestamp(100_000_000), state(Vec::new()));
        let end = now.plus(DAY);
        loop {
            now = now.plus(wait(&state, 0, shards, now).unwrap());
            if now >= end {
                return state.times.len();
            }
            state.times.push(now);
            // The worst case: start, crash and next start take no time.
            state.buckets.insert(0, now.plus(SPACING));
        }
    }

    #[test]
    fn a_loop_of_crashes_costs_less_than_fifty_a_day() {
        let spent = in_a_day(1);
        assert!((20..=50).contains(&spent), "{spent}");
        assert!(in_a_day(16) <= 50 * 16, "{}", in_a_day(16));
    }

    #[test]
    fn a_clock_that_was_set_back_holds_up_no_longer_than_the_rule() {
        let ahead = state((0..7).map(|n| 10_000_000 + n).collect());
        assert_eq!(wait(&ahead, 0, 1, Timestamp(6_400_000)).unwrap(), Duration::from_secs(40));
        let spaced =
            QuotaState { buckets: [(0, Timestamp(10_005_100))].into(), ..state(Vec::new()) };
        assert_eq!(wait(&spaced, 0, 1, Timestamp(0)).unwrap(), SPACING);
    }

    #[test]
    fn nine_hundred_a_day_are_the_end() {
        let now = 100_000_000;
        let error = wait(
            &state((0..900).map(|i| now - 4_000_000 - i * 1_000).rev().collect()),
            0,
            1,
            Timestamp(now),
        )
        .unwrap_err();
        assert_eq!((error.code(), error.kind()), (Some("GAL-DC-IDENTIFY"), ErrorKind::RateLimited));
        assert!(matches!(error.retry(), Retry::After(wait) if wait > HOUR && wait < DAY));
    }

    #[test]
    fn discords_own_count_is_obeyed() {
        let empty = QuotaState { remaining: 0, reset: Timestamp(60_000), ..state(Vec::new()) };
        assert_eq!(
            wait(&empty, 0, 1, Timestamp(0)).unwrap_err().retry(),
            Retry::After(Duration::from_secs(60))
        );
        assert!(wait(&empty, 0, 1, Timestamp(60_000)).is_ok());
    }
}

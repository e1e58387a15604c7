//! Circuit breaker of one dependency: closed → open → half-open. A pure state machine; time and
//! chance are handed in.
//!
//! Used for every account of a platform and for every (provider, model, key) of a model.
//! Parameters: a 30 s window of at least 10 calls opens at half failures or 4/5 slow ones; five
//! failures in a row open at once, for dependencies too quiet for the window. Open for 5 s,
//! doubling to 60 s, ± 20 % so that many do not come back together. Half-open admits 3 probes;
//! three successes close, one failure reopens, and so does a probe that does not come back
//! (resilience4j#903: half-open for ever). Refused credentials and money that is gone latch it, for
//! good or for a growing while.

use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, time::Duration};

use crate::{clock::Timestamp, time::backoff::Backoff};

const WINDOW: Duration = Duration::from_secs(30);
const MIN_CALLS: usize = 10;
const IN_A_ROW: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A refused key is asked about at least so often: a person who has corrected it wants to see it work.
const LONGEST_BAR: Duration = Duration::from_secs(300);
const PROBES: u32 = 3;
/// Bounds the memory of a window, not its meaning.
const MOST_CALLS: usize = 10_000;

/// Parameters that differ between dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerLimits {
    /// A success that took longer counts as slow.
    pub slow: Duration,
    /// A probe that has not come back by then has failed.
    pub probe: Duration,
}

/// Outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// It succeeded after this long.
    Done(Duration),
    /// It was refused for a reason of its own (4xx), or asked to slow down (429, the limiter's):
    /// the other side works.
    Refused,
    /// Timeout, no connection, 5xx.
    Failed {
        /// The reason, shown to people.
        cause: String,
    },
    /// Refused in a way that no repetition changes: credentials, money.
    Locked {
        /// The reason, shown to people.
        cause: String,
        /// Time of the next look; none means never, until the configuration changes.
        again: Option<Timestamp>,
    },
    /// Refused like that, but what people repair without a restart, such as a key or a bill: it is
    /// looked at again after 5 s, then after twice as long each time, up to 5 min.
    Barred {
        /// The reason, shown to people.
        cause: String,
    },
}

/// Admission of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Yes. Settle the call with this pass.
    Go(Pass),
    /// Not before this time has passed.
    Wait(Duration),
    /// Not until the configuration changes.
    Never,
}

/// Permit for one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// The state that admitted the call. A call that ends in a later state is not counted.
    epoch: u64,
    started: Timestamp,
}

/// In which state a breaker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Calls are made, and their outcomes counted.
    Closed,
    /// No calls for a while.
    Open,
    /// A few calls, to see whether it works again.
    HalfOpen,
    /// No calls until the configuration changes or a known time.
    Latched,
}

impl Phase {
    /// For people and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
            Self::Latched => "latched",
        }
    }
}

/// State of a breaker, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakerState {
    /// Of what: `telegram:42`, `openai gpt-6.1-terra`.
    pub name: String,
    /// The state it is in.
    pub phase: Phase,
    /// Since when it is in this state.
    pub since: Timestamp,
    /// Cause of its opening; none while closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Time of the next call; none while closed or for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// The breaker of one dependency.
#[derive(Debug)]
pub struct Breaker {
    limits: BreakerLimits,
    stage: Stage,
    epoch: u64,
    since: Timestamp,
    cause: Option<String>,
    /// Time it was latched the last time by [`Call::Barred`]; starts again once it closes.
    barred: Option<Duration>,
}

#[derive(Debug)]
enum Stage {
    Closed { calls: VecDeque<(Timestamp, Weight)>, bad_in_a_row: u32 },
    Open { until: Timestamp, pause: Duration },
    HalfOpen { running: Vec<Timestamp>, good: u32, pause: Duration },
    Latched { until: Option<Timestamp> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    Good,
    Slow,
    Bad,
}

impl Breaker {
    /// A closed breaker without any counted calls.
    pub fn new(limits: BreakerLimits, now: Timestamp) -> Self {
        Self { limits, stage: Stage::closed(), epoch: 0, since: now, cause: None, barred: None }
    }

    /// The state it is in.
    pub fn phase(&self) -> Phase {
        match self.stage {
            Stage::Closed { .. } => Phase::Closed,
            Stage::Open { .. } => Phase::Open,
            Stage::HalfOpen { .. } => Phase::HalfOpen,
            Stage::Latched { .. } => Phase::Latched,
        }
    }

    /// For people, under this name.
    pub fn state(&self, name: &str) -> BreakerState {
        let until = match self.stage {
            Stage::Open { until, .. } => Some(until),
            Stage::Latched { until } => until,
            Stage::Closed { .. } | Stage::HalfOpen { .. } => None,
        };
        BreakerState {
            name: name.to_owned(),
            phase: self.phase(),
            since: self.since,
            cause: self.cause.clone(),
            until,
        }
    }

    /// Admits or refuses a call now. `chance` is evenly drawn from 0 to 1.
    pub fn admit(&mut self, now: Timestamp, chance: f64) -> Admission {
        let again = match &self.stage {
            Stage::HalfOpen { running, pause, .. }
                if running.iter().any(|started| now.since(*started) >= self.limits.probe) =>
            {
                let pause = *pause;
                self.open(doubled(pause), "a probe did not come back".to_owned(), now, chance);
                return self.admit(now, chance);
            }
            Stage::Closed { .. } => return Admission::Go(Pass { epoch: self.epoch, started: now }),
            // A wait beyond the longest one that `open` sets means that the machine's clock was set
            // back.
            Stage::Open { until, pause }
                if *until > now && until.since(now) <= pause.mul_f64(1.2) =>
            {
                return Admission::Wait(until.since(now));
            }
            Stage::Latched { until: None } => return Admission::Never,
            Stage::Latched { until: Some(until) } if *until > now && self.since <= now => {
                return Admission::Wait(until.since(now));
            }
            Stage::Open { pause, .. } => Some(*pause),
            Stage::Latched { .. } => Some(LONGEST_PAUSE),
            Stage::HalfOpen { .. } => None,
        };
        if let Some(pause) = again {
            self.enter(Stage::HalfOpen { running: Vec::new(), good: 0, pause }, now);
        }
        let Stage::HalfOpen { running, good, .. } = &mut self.stage else {
            return Admission::Never;
        };
        if u32::try_from(running.len()).unwrap_or(PROBES) + *good >= PROBES {
            return Admission::Wait(Duration::from_secs(1));
        }
        running.push(now);
        Admission::Go(Pass { epoch: self.epoch, started: now })
    }

    /// Counts a call that was admitted. `chance` as in [`Self::admit`].
    pub fn settle(&mut self, pass: Pass, call: Call, now: Timestamp, chance: f64) {
        if let Call::Locked { cause, again } = call {
            // A second report of the same refusal changes nothing.
            if self.phase() != Phase::Latched {
                self.enter(Stage::Latched { until: again }, now);
                self.cause = Some(cause);
            }
            return;
        }
        if let Call::Barred { cause } = call {
            if self.phase() != Phase::Latched {
                let pause = self.barred.map_or(FIRST_PAUSE, |last| (last * 2).min(LONGEST_BAR));
                self.barred = Some(pause);
                self.enter(Stage::Latched { until: Some(now.plus(pause)) }, now);
                self.cause = Some(cause);
            }
            return;
        }
        // Admitted before the state changed: it was counted in by others.
        if pass.epoch != self.epoch {
            return;
        }
        match &mut self.stage {
            Stage::Closed { calls, bad_in_a_row } => {
                let (weight, cause) = match call {
                    Call::Done(took) if took >= self.limits.slow => (
                        Weight::Slow,
                        format!("it takes {} s or longer to answer", self.limits.slow.as_secs()),
                    ),
                    Call::Done(_) => (Weight::Good, String::new()),
                    Call::Failed { cause } => (Weight::Bad, cause),
                    Call::Refused | Call::Locked { .. } | Call::Barred { .. } => {
                        *bad_in_a_row = 0;
                        return;
                    }
                };
                *bad_in_a_row = if weight == Weight::Bad { *bad_in_a_row + 1 } else { 0 };
                calls.push_back((now, weight));
                // Entries that lie ahead were counted before the clock was set back.
                while calls.front().is_some_and(|(at, _)| *at > now || now.since(*at) > WINDOW)
                    || calls.len() > MOST_CALLS
                {
                    calls.pop_front();
                }
                // Counting is only worth it when this very call was not good.
                if weight != Weight::Good && (*bad_in_a_row >= IN_A_ROW || is_failing(calls)) {
                    self.open(FIRST_PAUSE, cause, now, chance);
                }
            }
            Stage::HalfOpen { running, good, pause } => {
                take(running, pass.started);
                if let Call::Failed { cause } = call {
                    let pause = doubled(*pause);
                    self.open(pause, cause, now, chance);
                    return;
                }
                *good += 1;
                if *good >= PROBES {
                    self.enter(Stage::closed(), now);
                }
            }
            Stage::Open { .. } | Stage::Latched { .. } => {}
        }
    }

    /// Releases a pass: the call was cancelled.
    pub fn release(&mut self, pass: Pass) {
        if let Stage::HalfOpen { running, .. } = &mut self.stage
            && pass.epoch == self.epoch
        {
            take(running, pass.started);
        }
    }

    fn open(&mut self, pause: Duration, cause: String, now: Timestamp, chance: f64) {
        self.enter(
            Stage::Open {
                until: now.plus(pause.mul_f64(0.8 + 0.4 * chance.clamp(0.0, 1.0))),
                pause,
            },
            now,
        );
        self.cause = Some(cause);
    }

    fn enter(&mut self, stage: Stage, now: Timestamp) {
        if matches!(stage, Stage::Closed { .. }) {
            (self.cause, self.barred) = (None, None);
        }
        self.stage = stage;
        self.since = now;
        self.epoch += 1;
    }
}

impl Stage {
    fn closed() -> Self {
        Self::Closed { calls: VecDeque::new(), bad_in_a_row: 0 }
    }
}

/// The pause that follows this one.
fn doubled(pause: Duration) -> Duration {
    Backoff::pause_after(pause, LONGEST_PAUSE, 1)
}

fn is_failing(calls: &VecDeque<(Timestamp, Weight)>) -> bool {
    let count = |weight| calls.iter().filter(|(_, w)| *w == weight).count();
    calls.len() >= MIN_CALLS
        && (2 * count(Weight::Bad) >= calls.len() || 5 * count(Weight::Slow) >= 4 * calls.len())
}

fn take(running: &mut Vec<Timestamp>, started: Timestamp) {
    if let Some(at) = running.iter().position(|at| *at == started) {
        running.swap_remove(at);
    }
}

#[cfg(test)]
mod tests;

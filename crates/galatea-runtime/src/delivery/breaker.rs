//! Circuit breaker of one account: closed → open → half-open. Its policy is a pure state machine; time is handed in.
//!
//! Parameters: a 30 s window of at least 10 calls opens at half failures or 4/5 slow ones; five failures in a row open at once,
//! for accounts too quiet for the window. Open for 5 s, doubling to 60 s. Half-open admits 3 probes; three successes close,
//! one failure reopens. Refused credentials latch it open until the configuration changes.

use galatea_core::{Error, ErrorKind, Result, Retry, Timestamp};
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

const WINDOW: Duration = Duration::from_secs(30);
const MIN_CALLS: usize = 10;
const IN_A_ROW: u32 = 5;
const SLOW: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const PROBES: u32 = 3;

/// The breaker of one account.
pub(super) struct Breaker {
    name: String,
    machine: Mutex<Machine>,
}

/// Leave to make one call; must be settled. Dropped unsettled (a cancelled send), its probe place is given back.
pub(super) struct Permit<'a> {
    breaker: &'a Breaker,
    started: Timestamp,
    settled: bool,
}

impl Breaker {
    pub(super) fn new(name: String) -> Self {
        Self { name, machine: Mutex::new(Machine::default()) }
    }

    /// Leave to call, or why not.
    pub(super) fn admit(&self, now: Timestamp) -> Result<Permit<'_>> {
        match self.lock().admit(now) {
            Admission::Go => Ok(Permit { breaker: self, started: now, settled: false }),
            Admission::Wait(delay) => {
                Err(Error::new(ErrorKind::Unavailable, "sending is paused because the platform keeps failing").with_retry(Retry::After(delay)))
            }
            Admission::Never => Err(Error::new(ErrorKind::Unauthorized, "sending is stopped because the platform refused the credentials")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// Tells how the call went.
    pub(super) fn settle<T>(mut self, outcome: &Result<T>, now: Timestamp) {
        self.settled = true;
        let verdict = match outcome {
            Ok(_) if now.since(self.started) >= SLOW => Call::Slow,
            Ok(_) => Call::Good,
            Err(error) => judge(error),
        };
        let mut machine = self.breaker.lock();
        let before = machine.name();
        machine.settle(verdict, now);
        let after = machine.name();
        drop(machine);
        if before != after {
            tracing::warn!(account = self.breaker.name, before, after, "circuit breaker changed");
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.breaker.lock().release();
        }
    }
}

/// What a call says about the platform's health. Refusals of one message say nothing; 429 is the limiter's.
fn judge(error: &Error) -> Call {
    match error.kind() {
        ErrorKind::Unauthorized => Call::Locked,
        ErrorKind::Unavailable | ErrorKind::Timeout => Call::Bad,
        _ => Call::Good,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Good,
    Slow,
    Bad,
    Locked,
}

#[derive(Debug, PartialEq, Eq)]
enum Admission {
    Go,
    Wait(Duration),
    Never,
}

#[derive(Debug)]
enum Machine {
    Closed { calls: VecDeque<(Timestamp, Call)>, bad_in_a_row: u32 },
    Open { until: Timestamp, pause: Duration },
    HalfOpen { running: u32, good: u32, pause: Duration },
    Latched,
}

impl Default for Machine {
    fn default() -> Self {
        Self::Closed { calls: VecDeque::new(), bad_in_a_row: 0 }
    }
}

impl Machine {
    fn name(&self) -> &'static str {
        match self {
            Self::Closed { .. } => "closed",
            Self::Open { .. } => "open",
            Self::HalfOpen { .. } => "half-open",
            Self::Latched => "latched",
        }
    }

    fn admit(&mut self, now: Timestamp) -> Admission {
        match self {
            Self::Closed { .. } => Admission::Go,
            // A wait longer than the pause means that the machine's clock was set back.
            Self::Open { until, pause } if *until > now && until.since(now) <= *pause => Admission::Wait(until.since(now)),
            Self::Open { pause, .. } => {
                *self = Self::HalfOpen { running: 1, good: 0, pause: *pause };
                Admission::Go
            }
            Self::HalfOpen { running, good, .. } if *running + *good < PROBES => {
                *running += 1;
                Admission::Go
            }
            Self::HalfOpen { .. } => Admission::Wait(Duration::from_secs(1)),
            Self::Latched => Admission::Never,
        }
    }

    fn settle(&mut self, call: Call, now: Timestamp) {
        if call == Call::Locked {
            *self = Self::Latched;
            return;
        }
        match self {
            Self::Closed { calls, bad_in_a_row } => {
                *bad_in_a_row = if call == Call::Bad { *bad_in_a_row + 1 } else { 0 };
                calls.push_back((now, call));
                while calls.front().is_some_and(|(at, _)| now.since(*at) > WINDOW) || calls.len() > 10_000 {
                    calls.pop_front();
                }
                let enough = calls.len() >= MIN_CALLS;
                // Counting is only worth it when this very call was not good.
                let failing = call != Call::Good
                    && enough
                    && (2 * calls.iter().filter(|(_, c)| *c == Call::Bad).count() >= calls.len()
                        || 5 * calls.iter().filter(|(_, c)| *c == Call::Slow).count() >= 4 * calls.len());
                if *bad_in_a_row >= IN_A_ROW || failing {
                    *self = Self::Open { until: now.plus(FIRST_PAUSE), pause: FIRST_PAUSE };
                }
            }
            Self::HalfOpen { running, good, pause } => {
                *running = running.saturating_sub(1);
                if call == Call::Bad {
                    let pause = (*pause * 2).min(LONGEST_PAUSE);
                    *self = Self::Open { until: now.plus(pause), pause };
                } else {
                    *good += 1;
                    if *good >= PROBES {
                        *self = Self::default();
                    }
                }
            }
            // A call admitted before it opened came back late: it was counted in by others.
            Self::Open { .. } | Self::Latched => {}
        }
    }

    fn release(&mut self) {
        if let Self::HalfOpen { running, .. } = self {
            *running = running.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad() -> Result<()> {
        Err(Error::new(ErrorKind::Unavailable, "down"))
    }

    fn call(breaker: &Breaker, outcome: &Result<()>, at: i64) -> bool {
        match breaker.admit(Timestamp(at)) {
            Ok(permit) => {
                permit.settle(outcome, Timestamp(at));
                true
            }
            Err(_) => false,
        }
    }

    #[test]
    fn five_failures_open_it_and_probes_close_it() {
        let breaker = Breaker::new("t".into());
        for n in 0..5 {
            assert!(call(&breaker, &bad(), n));
        }
        assert!(!call(&breaker, &Ok(()), 10), "open");
        let refused = breaker.admit(Timestamp(1_004)).err().unwrap();
        assert_eq!(refused.retry(), Retry::After(Duration::from_secs(4)));
        for n in 0..3 {
            assert!(call(&breaker, &Ok(()), 6_000 + n));
        }
        assert_eq!(breaker.lock().name(), "closed");
    }

    #[test]
    fn a_clock_that_is_set_back_holds_nothing_up() {
        let breaker = Breaker::new("t".into());
        for n in 0..5 {
            call(&breaker, &bad(), 10_000_000 + n);
        }
        assert!(!call(&breaker, &Ok(()), 10_000_010));
        assert!(call(&breaker, &Ok(()), 10_000_010 - 3_600_000));
    }

    #[test]
    fn a_failed_probe_doubles_the_pause() {
        let breaker = Breaker::new("t".into());
        for n in 0..5 {
            call(&breaker, &bad(), n);
        }
        assert!(call(&breaker, &bad(), 6_000));
        assert!(!call(&breaker, &Ok(()), 6_000 + 9_999));
        assert!(call(&breaker, &Ok(()), 6_000 + 10_000));
    }

    #[test]
    fn a_probe_that_is_dropped_gives_its_place_back() {
        let breaker = Breaker::new("t".into());
        for n in 0..5 {
            call(&breaker, &bad(), n);
        }
        for _ in 0..20 {
            drop(breaker.admit(Timestamp(6_000)).ok().unwrap());
        }
    }

    #[test]
    fn floods_and_refused_messages_never_open_it() {
        let breaker = Breaker::new("t".into());
        for n in 0..100 {
            assert!(call(&breaker, &Err(Error::new(ErrorKind::RateLimited, "slow down")), n));
            assert!(call(&breaker, &Err(Error::invalid("too long")), n));
            assert!(call(&breaker, &Err(Error::new(ErrorKind::Forbidden, "blocked")), n));
        }
    }

    #[test]
    fn refused_credentials_latch_it() {
        let breaker = Breaker::new("t".into());
        call(&breaker, &Err(Error::new(ErrorKind::Unauthorized, "no")), 0);
        assert!(!call(&breaker, &Ok(()), i64::MAX));
        assert_eq!(breaker.admit(Timestamp(1)).err().unwrap().retry(), Retry::Never);
    }

    #[test]
    fn half_failures_in_the_window_open_it() {
        let breaker = Breaker::new("t".into());
        for n in 0..10 {
            call(&breaker, &if n % 2 == 0 { Ok(()) } else { bad() }, n);
        }
        assert_eq!(breaker.lock().name(), "open");
    }
}

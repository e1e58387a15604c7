//! A breaker that many calls share, and the leave each of them holds.

use parking_lot::{Mutex, MutexGuard};
use std::fmt;

use crate::{
    breaker::{Admission, Breaker, BreakerLimits, BreakerState, Call, Pass, Phase},
    clock::Timestamp,
    event::{Event, EventBus},
};

/// The breaker of one dependency, shared by all who call it. Every change is logged and published.
pub struct SharedBreaker {
    name: String,
    events: EventBus,
    breaker: Mutex<Breaker>,
}

impl fmt::Debug for SharedBreaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBreaker").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Permit for one call; must be settled. Dropping it unsettled (a cancelled call) releases its
/// place among the probes.
#[derive(Debug)]
pub struct Permit<'a> {
    breaker: &'a SharedBreaker,
    pass: Pass,
    settled: bool,
}

impl SharedBreaker {
    /// Closed, under a name for people.
    pub fn new(
        name: impl Into<String>,
        limits: BreakerLimits,
        events: EventBus,
        now: Timestamp,
    ) -> Self {
        Self { name: name.into(), events, breaker: Mutex::new(Breaker::new(limits, now)) }
    }

    /// The breaker as it stands, for status pages.
    pub fn state(&self) -> BreakerState {
        self.lock().state(&self.name)
    }

    /// SendPermit to call, or why not. `chance` is evenly drawn from 0 to 1.
    ///
    /// # Errors
    /// Never [`Admission::Go`].
    pub fn admit(&self, now: Timestamp, chance: f64) -> Result<Permit<'_>, Admission> {
        match self.change(|breaker| breaker.admit(now, chance)) {
            Admission::Go(pass) => Ok(Permit { breaker: self, pass, settled: false }),
            held => Err(held),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Breaker) -> T) -> T {
        let mut breaker = self.lock();
        let before = breaker.phase();
        let outcome = change(&mut breaker);
        let after = breaker.phase();
        if before != after {
            let BreakerState { name, cause, .. } = breaker.state(&self.name);
            drop(breaker);
            let (from, to) = (before.as_str(), after.as_str());
            // Warn once per outage; the probes during it are not reported.
            if before == Phase::Closed || (after == Phase::Latched && before != Phase::HalfOpen) {
                tracing::warn!(breaker = name, from, to, cause, "circuit breaker opened");
            } else {
                tracing::info!(breaker = name, from, to, cause, "circuit breaker changed");
            }
            self.events.publish(Event::BreakerChanged { name, state: after, cause });
        }
        outcome
    }

    fn lock(&self) -> MutexGuard<'_, Breaker> {
        // Every change is one call, so a panic leaves nothing half done.
        self.breaker.lock()
    }
}

impl Permit<'_> {
    /// Tells how the call went. `chance` as in [`SharedBreaker::admit`].
    pub fn settle(mut self, call: Call, now: Timestamp, chance: f64) {
        self.settled = true;
        let pass = self.pass;
        self.breaker.change(|breaker| breaker.settle(pass, call, now, chance));
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.breaker.lock().release(self.pass);
        }
    }
}

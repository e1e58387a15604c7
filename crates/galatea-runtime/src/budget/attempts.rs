//! The attempts of one call: each has its own reservation, and counts when it fails.

use galatea_core::{
    Error, ModelInfo, Result, Sent,
    model::{Payer, Spent, Usage},
};
use parking_lot::Mutex;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::{
    Budget, Visit,
    ledger::{Spend, Warning},
    price,
    refusal::Refusal,
};

/// Counter of the attempts: the meter of a turn.
pub(super) trait Counter: Send + Sync {
    /// Changes the reservation of the call from `held` to `needed` for its next attempt. A refusal
    /// leaves it as it is.
    fn reserve_next(&self, held: Spend, needed: Spend) -> Result<()>;

    /// Counts an attempt that gave no answer.
    fn charge(&self, model: String, used: Usage, cost: Spend, unpriced: bool);
}

/// Counts the bill of one call ([`galatea_core::model::Bill`]).
pub(super) struct Attempts {
    counter: Arc<dyn Counter>,
    /// Expected use of one attempt.
    expected: Usage,
    /// Reservation for the call: the cost of one attempt of the model that is asked now.
    held: Mutex<Spend>,
    /// A layer within the call reports its attempts.
    reported: AtomicBool,
}

impl Attempts {
    /// `held` is what is reserved already.
    pub(super) fn new(counter: Arc<dyn Counter>, expected: Usage, held: Spend) -> Arc<Self> {
        let (held, reported) = (Mutex::new(held), AtomicBool::new(false));
        Arc::new(Self { counter, expected, held, reported })
    }

    /// Reservation for the call.
    pub(super) fn held(&self) -> Spend {
        *self.held.lock()
    }

    /// True if each attempt of the call is counted already.
    pub(super) fn are_reported(&self) -> bool {
        self.reported.load(Ordering::SeqCst)
    }

    /// The end of a call that failed. A model without layers around it makes one attempt and reports
    /// none.
    pub(super) fn end(&self, info: &ModelInfo, error: &Error) {
        if !self.are_reported() && error.sent() == Sent::Maybe {
            self.failed(info, error.spent());
        }
    }
}

impl Payer for Attempts {
    fn begin(&self, info: &ModelInfo) -> Result<()> {
        self.reported.store(true, Ordering::SeqCst);
        let mut held = self.held.lock();
        let needed = price::cost(self.expected, info.known_price());
        self.counter.reserve_next(*held, needed)?;
        *held = needed;
        Ok(())
    }

    fn failed(&self, info: &ModelInfo, spent: Option<Spent>) {
        let known = info.known_price();
        let used = price::failed(spent, self.expected, info);
        self.counter.charge(info.full_name(), used, price::cost(used, known), known.is_none());
    }
}

impl Budget {
    /// Changes the reservation of a call for its next attempt.
    pub(super) fn reserve_next(
        &self,
        visit: &Visit,
        held: Spend,
        needed: Spend,
    ) -> Result<(), Refusal> {
        let case = visit.case(self.clock.now());
        self.ledger.lock().reserve_next(&case, held, needed, visit.exempt)
    }

    /// Counts what a failed attempt cost.
    pub(super) fn charge(&self, visit: &Visit, cost: Spend) -> Vec<Warning> {
        self.ledger.lock().charge(&visit.case(self.clock.now()), cost)
    }
}

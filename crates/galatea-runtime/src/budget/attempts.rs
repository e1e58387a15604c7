//! The failed attempts of one call: each counts when it fails, and limits those after it.

use galatea_core::{
    Error, ModelInfo, Result, Sent,
    model::{Payer, Spent, Usage},
};
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

/// What the attempts count with: the meter of a turn.
pub(super) trait Counter: Send + Sync {
    /// Checks that another attempt fits, after failed ones of the same call. The reservation of the
    /// call is held for it already.
    fn admit_another(&self) -> Result<()>;

    /// Counts an attempt that gave no answer.
    fn charge(&self, model: String, used: Usage, cost: Spend, unpriced: bool);
}

/// What stands on the bill of one call ([`galatea_core::model::Bill`]).
pub(super) struct Attempts {
    counter: Arc<dyn Counter>,
    /// What one attempt is expected to use.
    expected: Usage,
    /// A layer within the call reports its attempts.
    reported: AtomicBool,
    /// An attempt was charged.
    charged: AtomicBool,
}

impl Attempts {
    pub(super) fn new(counter: Arc<dyn Counter>, expected: Usage) -> Arc<Self> {
        let (reported, charged) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Self { counter, expected, reported, charged })
    }

    /// Whether each attempt of the call is counted already.
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
    fn begin(&self) -> Result<()> {
        self.reported.store(true, Ordering::SeqCst);
        // The reservation of the call covers one attempt.
        if self.charged.load(Ordering::SeqCst) { self.counter.admit_another() } else { Ok(()) }
    }

    fn failed(&self, info: &ModelInfo, spent: Option<Spent>) {
        self.charged.store(true, Ordering::SeqCst);
        let known = info.known_price();
        let used = price::failed(spent, self.expected, info);
        self.counter.charge(info.full_name(), used, price::cost(used, known), known.is_none());
    }
}

impl Budget {
    /// Whether a call may make another attempt, after its first ones were charged.
    pub(super) fn admit_another(&self, visit: &Visit) -> Result<(), Refusal> {
        if visit.exempt {
            return Ok(());
        }
        super::lock(&self.ledger).admit_another(&visit.case(self.clock.now()))
    }

    /// Counts what a failed attempt cost.
    pub(super) fn charge(&self, visit: &Visit, cost: Spend) -> Vec<Warning> {
        super::lock(&self.ledger).charge(&visit.case(self.clock.now()), cost)
    }
}

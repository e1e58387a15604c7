//! Dependencies: what all models of one process share. Two agents with one key have one breaker and one retry budget.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
};

use galatea_core::{
    EventBus, Timestamp,
    breaker::{BreakerLimits, BreakerState, SharedBreaker},
};

use crate::{
    budget::Budget,
    wire::{Auth, Endpoint},
};

/// Breakers by (service, model, key), retry budgets by service. Cheap to clone.
#[derive(Clone, Default)]
pub struct Dependencies(Arc<Inner>);

#[derive(Default)]
struct Inner {
    events: EventBus,
    breakers: Mutex<BTreeMap<(String, String, u64), Arc<SharedBreaker>>>,
    budgets: Mutex<BTreeMap<String, Arc<Budget>>>,
}

impl Dependencies {
    /// None yet; changes of breakers are published here.
    pub fn new(events: EventBus) -> Self {
        Self(Arc::new(Inner { events, ..Inner::default() }))
    }

    /// How every breaker stands, by service and model.
    pub fn breakers(&self) -> Vec<BreakerState> {
        self.0.breakers.lock().unwrap_or_else(PoisonError::into_inner).values().map(|breaker| breaker.state()).collect()
    }

    pub(crate) fn breaker(&self, endpoint: &Endpoint, model: &str, name: &str, limits: BreakerLimits, now: Timestamp) -> Arc<SharedBreaker> {
        let id = (endpoint.site().to_owned(), model.to_owned(), fingerprint(endpoint.auth()));
        let mut breakers = self.0.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Arc::new(SharedBreaker::new(name, limits, self.0.events.clone(), now));
        Arc::clone(breakers.entry(id).or_insert_with(fresh))
    }

    pub(crate) fn budget(&self, endpoint: &Endpoint) -> Arc<Budget> {
        let mut budgets = self.0.budgets.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(budgets.entry(endpoint.site().to_owned()).or_default())
    }
}

/// Tells keys apart within this process; it never leaves it.
pub(crate) fn fingerprint(auth: &Auth) -> u64 {
    use galatea_core::ExposeSecret;
    let mut hasher = DefaultHasher::new();
    match auth {
        Auth::None => {}
        Auth::Bearer(key) | Auth::Header(_, key) => key.expose_secret().hash(&mut hasher),
    }
    hasher.finish()
}

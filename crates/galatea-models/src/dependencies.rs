//! State shared by all models of one process, so that two agents with the same key have one breaker
//! and one retry budget.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
};

use galatea_core::{
    EventBus, Finding, Timestamp,
    breaker::{BreakerLimits, BreakerState},
    shared_breaker::SharedBreaker,
};

use tokio::sync::Notify;

use crate::{
    budget::Budget,
    choices::Choices,
    wire::{Auth, Endpoint},
};

/// In place of the service of a plugin's model.
const PLUGIN: &str = "plugin";

/// Breakers by (service, model, key), retry budgets by service, and what was learnt about models.
/// Cheap to clone.
#[derive(Clone, Default)]
pub struct Dependencies(Arc<Inner>);

#[derive(Default)]
struct Inner {
    events: EventBus,
    breakers: Mutex<BTreeMap<(String, String, u64), Arc<SharedBreaker>>>,
    budgets: Mutex<BTreeMap<String, Arc<Budget>>>,
    choices: Choices,
    /// Findings by service and requested model.
    remarks: Mutex<BTreeMap<(String, String), Finding>>,
    refused: Notify,
}

impl Dependencies {
    /// Creates empty state. Changes of breakers are published on `events`.
    pub fn new(events: EventBus) -> Self {
        Self(Arc::new(Inner { events, ..Inner::default() }))
    }

    /// Creates state with the choices made before. Changes of breakers are published on `events`.
    pub fn remembering(events: EventBus, choices: Choices) -> Self {
        Self(Arc::new(Inner { events, choices, ..Inner::default() }))
    }

    /// The models chosen for purposes without a named one.
    pub fn choices(&self) -> &Choices {
        &self.0.choices
    }

    /// Findings from calls: names that the service does not know, and answers given by another
    /// model.
    pub fn remarks(&self) -> Vec<Finding> {
        self.0.remarks.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Records a finding from a provider's list.
    pub fn note(&self, finding: Finding) {
        self.remark("", &finding.message.clone(), finding);
    }

    /// Completes when a service refuses a model as unknown.
    pub async fn refused(&self) {
        self.0.refused.notified().await;
    }

    /// Records a finding about a model; true if it is new.
    pub(crate) fn remark(&self, service: &str, model: &str, finding: Finding) -> bool {
        let id = (service.to_owned(), model.to_owned());
        self.0
            .remarks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id, finding.clone())
            .is_none_or(|old| old != finding)
    }

    /// Removes the finding about a model, because the service does know it.
    pub(crate) fn forget(&self, service: &str, model: &str) {
        let mut remarks = self.0.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        if !remarks.is_empty() {
            remarks.remove(&(service.to_owned(), model.to_owned()));
        }
    }

    /// Records that a service refused a model as unknown, and wakes [`Self::refused`].
    pub(crate) fn tell_refused(&self, service: &str, model: &str) {
        self.0.choices.refused(service, model);
        self.0.refused.notify_one();
    }

    /// The state of every breaker, by service and model.
    pub fn breakers(&self) -> Vec<BreakerState> {
        self.0
            .breakers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .map(|breaker| breaker.state())
            .collect()
    }

    pub(crate) fn breaker(
        &self,
        endpoint: &Endpoint,
        model: &str,
        name: &str,
        limits: BreakerLimits,
        now: Timestamp,
    ) -> Arc<SharedBreaker> {
        let id = (endpoint.site().to_owned(), model.to_owned(), fingerprint(endpoint.auth()));
        let mut breakers = self.0.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Arc::new(SharedBreaker::new(name, limits, self.0.events.clone(), now));
        Arc::clone(breakers.entry(id).or_insert_with(fresh))
    }

    /// The breaker of a plugin's model.
    pub(crate) fn breaker_of_plugin(
        &self,
        name: &str,
        limits: BreakerLimits,
        now: Timestamp,
    ) -> Arc<SharedBreaker> {
        let id = (PLUGIN.to_owned(), name.to_owned(), 0);
        let mut breakers = self.0.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Arc::new(SharedBreaker::new(name, limits, self.0.events.clone(), now));
        Arc::clone(breakers.entry(id).or_insert_with(fresh))
    }

    pub(crate) fn budget(&self, endpoint: &Endpoint) -> Arc<Budget> {
        let mut budgets = self.0.budgets.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(budgets.entry(endpoint.site().to_owned()).or_default())
    }
}

/// A fingerprint to compare keys within this process; it must not leave the process.
pub(crate) fn fingerprint(auth: &Auth) -> u64 {
    use galatea_core::ExposeSecret;
    let mut hasher = DefaultHasher::new();
    match auth {
        Auth::None => {}
        Auth::Bearer(key) | Auth::Header(_, key) => key.expose_secret().hash(&mut hasher),
    }
    hasher.finish()
}

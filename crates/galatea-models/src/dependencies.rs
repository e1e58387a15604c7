//! State shared by all models of one process, so that two agents with the same key have one breaker
//! and one retry budget.

use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use galatea_core::{
    EventBus, Finding, Timestamp,
    breaker::{BreakerLimits, BreakerState},
    model::{ObjectTier, Tier},
    shared_breaker::SharedBreaker,
};

use tokio::sync::Notify;

use crate::{
    budget::Budget,
    choices::Choices,
    limited::Thinkers,
    toolless::ToolRefusals,
    wire::{Auth, Endpoint},
};

/// What a plugin's model is used for. A model of one name may serve several uses, and may fail at
/// one of them only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PluginUse {
    TextSmall,
    TextLarge,
    ReasoningSmall,
    ReasoningLarge,
    Vision,
    ObjectSmall,
    ObjectLarge,
    Embedding,
    /// A media model, by elizaOS's name of the type.
    Media(&'static str),
}

impl From<Tier> for PluginUse {
    fn from(tier: Tier) -> Self {
        match tier {
            Tier::TextSmall => Self::TextSmall,
            Tier::TextLarge => Self::TextLarge,
            Tier::ReasoningSmall => Self::ReasoningSmall,
            Tier::ReasoningLarge => Self::ReasoningLarge,
        }
    }
}

impl From<ObjectTier> for PluginUse {
    fn from(tier: ObjectTier) -> Self {
        match tier {
            ObjectTier::ObjectSmall => Self::ObjectSmall,
            ObjectTier::ObjectLarge => Self::ObjectLarge,
        }
    }
}

/// What a breaker is shared by.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BreakerKey {
    /// Address, model, and fingerprint of the key.
    Service(String, String, u64),
    /// Use and full name of a plugin's model.
    Plugin(PluginUse, String),
}

/// Breakers by (service, model, key) or by use of a plugin's model, retry budgets by service, and what was learnt about models.
/// Cheap to clone.
#[derive(Clone, Default)]
pub struct Dependencies(Arc<Inner>);

#[derive(Default)]
struct Inner {
    events: EventBus,
    breakers: Mutex<BTreeMap<BreakerKey, Arc<SharedBreaker>>>,
    budgets: Mutex<BTreeMap<String, Arc<Budget>>>,
    choices: Choices,
    /// Findings by service and requested model.
    remarks: Mutex<BTreeMap<(String, String), Finding>>,
    refused: Notify,
    tool_refusals: Arc<ToolRefusals>,
    thinkers: Arc<Thinkers>,
    /// Models of this process by folder. Several agents share one: it can take hundreds of MB.
    local: Mutex<BTreeMap<std::path::PathBuf, Arc<crate::local::LocalEmbedding>>>,
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
        let remarks = self.0.remarks.lock();
        let mut found: Vec<Finding> = Vec::new();
        for remark in remarks.values() {
            // The list and a refused call may say the same of a model.
            if !found.iter().any(|old| old.id == remark.id && old.message == remark.message) {
                found.push(remark.clone());
            }
        }
        found
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
        self.0.remarks.lock().insert(id, finding.clone()).is_none_or(|old| old != finding)
    }

    /// Removes the finding about a model, because the service does know it.
    pub(crate) fn forget(&self, service: &str, model: &str) {
        let mut remarks = self.0.remarks.lock();
        if !remarks.is_empty() {
            remarks.remove(&(service.to_owned(), model.to_owned()));
        }
    }

    /// Records that a service refused a model as unknown, and wakes [`Self::refused`].
    pub(crate) fn report_refused(&self, service: &str, model: &str) {
        self.0.choices.refused(service, model);
        self.0.refused.notify_one();
    }

    /// Which models refused tools.
    pub(crate) fn tool_refusals(&self) -> Arc<ToolRefusals> {
        Arc::clone(&self.0.tool_refusals)
    }

    /// Which models think before they answer.
    pub(crate) fn thinkers(&self) -> Arc<Thinkers> {
        Arc::clone(&self.0.thinkers)
    }

    /// The state of every breaker, by service and model.
    pub fn breakers(&self) -> Vec<BreakerState> {
        self.0.breakers.lock().values().map(|breaker| breaker.state()).collect()
    }

    pub(crate) fn breaker(
        &self,
        endpoint: &Endpoint,
        model: &str,
        name: &str,
        limits: BreakerLimits,
        now: Timestamp,
    ) -> Arc<SharedBreaker> {
        let (site, key) = (endpoint.site().to_owned(), fingerprint(endpoint.auth()));
        self.breaker_for(BreakerKey::Service(site, model.to_owned(), key), name, limits, now)
    }

    /// The breaker of a plugin's model.
    pub(crate) fn breaker_of_plugin(
        &self,
        used_for: PluginUse,
        name: &str,
        limits: BreakerLimits,
        now: Timestamp,
    ) -> Arc<SharedBreaker> {
        self.breaker_for(BreakerKey::Plugin(used_for, name.to_owned()), name, limits, now)
    }

    fn breaker_for(
        &self,
        id: BreakerKey,
        name: &str,
        limits: BreakerLimits,
        now: Timestamp,
    ) -> Arc<SharedBreaker> {
        let mut breakers = self.0.breakers.lock();
        let fresh = || Arc::new(SharedBreaker::new(name, limits, self.0.events.clone(), now));
        Arc::clone(breakers.entry(id).or_insert_with(fresh))
    }

    /// The embedding model in a folder, read once: a file that is replaced counts from the next
    /// start.
    pub(crate) fn local_embedding(
        &self,
        folder: &std::path::Path,
    ) -> galatea_core::Result<Arc<crate::local::LocalEmbedding>> {
        let mut local = self.0.local.lock();
        if let Some(model) = local.get(folder) {
            return Ok(Arc::clone(model));
        }
        let model = Arc::new(crate::local::LocalEmbedding::open(folder)?);
        local.insert(folder.to_owned(), Arc::clone(&model));
        Ok(model)
    }

    pub(crate) fn budget(&self, endpoint: &Endpoint) -> Arc<Budget> {
        let mut budgets = self.0.budgets.lock();
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

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::Severity;

    #[test]
    fn what_the_list_and_a_call_say_of_a_model_is_one_remark() {
        let dependencies = Dependencies::default();
        let unknown = |cause: &str| Finding {
            cause: Some(cause.to_owned()),
            ..Finding::new(Severity::Warning, "GAL-MODEL-404", "model", "there is no model x")
        };
        dependencies.note(unknown("3 models are listed"));
        dependencies.remark("service", "x", unknown("HTTP 404"));
        dependencies.remark(
            "service",
            "y",
            Finding::new(Severity::Warning, "GAL-MODEL-404", "model", "there is no model y"),
        );
        assert_eq!(dependencies.remarks().len(), 2);
    }
}

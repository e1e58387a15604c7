//! What an agent's owner chose about its plugins: on or off, and settings. Stored by agent, so that a
//! restart keeps it.

use galatea_core::{
    AgentId, Clock, Error, ErrorKind, Result, Store, SystemClock, Timestamp,
    settings::{Layer, Origin, Setting},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

use super::slot::Slot;

/// Key of the choices among an agent's small values. Those of plugins begin with `plugin:`.
const KEY: &str = "plugins:choices";

/// Times of the newest choice of each agent, which tell other processes of new ones.
pub(in crate::orchestrator) type Times = BTreeMap<AgentId, Timestamp>;
/// Where [`Times`] are stored. They belong to no agent, so that one statement reads them for all.
pub(in crate::orchestrator) const CHANGES: (AgentId, &str) =
    (AgentId(uuid::Uuid::nil()), "plugins:changes");
/// Tries to count a change while other processes count theirs.
const TRIES: u32 = 10;

/// What an owner chose, by the name of the plugin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Choices(BTreeMap<String, Choice>);

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Choice {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    settings: BTreeMap<String, Value>,
}

impl Choices {
    /// The choices of an agent.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn load(store: &dyn Store, agent: AgentId) -> Result<Self> {
        let stored = store.cached(agent, KEY, Timestamp(0)).await?;
        let read = stored.map(serde_json::from_value).transpose();
        read.map(Option::unwrap_or_default).map_err(|cause| {
            Error::unexpected("the stored choices about plugins cannot be read").with_source(cause)
        })
    }

    /// Stores the choices of an agent.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn save(&self, store: &dyn Store, agent: AgentId) -> Result<()> {
        let value = serde_json::to_value(self).map_err(|cause| {
            Error::unexpected("the choices about plugins cannot be written").with_source(cause)
        })?;
        store.cache(agent, KEY, &value, None).await?;
        announce(store, agent).await
    }

    /// Turns a plugin on or off.
    pub fn enable(&mut self, plugin: &str, enabled: bool) {
        self.0.entry(plugin.to_owned()).or_default().enabled = Some(enabled);
    }

    /// Sets settings of a plugin; a null removes one, so that the other sources count again.
    pub fn set(&mut self, plugin: &str, settings: BTreeMap<String, Value>) {
        let own = &mut self.0.entry(plugin.to_owned()).or_default().settings;
        for (name, value) in settings {
            if value.is_null() {
                own.remove(&name);
            } else {
                own.insert(name, value);
            }
        }
    }

    /// Whether an owner turned this plugin on or off.
    pub fn enabled(&self, plugin: &str) -> Option<bool> {
        self.0.get(plugin)?.enabled
    }

    /// The settings that an owner gave to this plugin.
    pub fn settings(&self, plugin: &str) -> Layer {
        let origin = || Origin::Flag(format!("galatea plugin config {plugin}"));
        let own = self.0.get(plugin).into_iter().flat_map(|choice| &choice.settings);
        own.map(|(name, value)| (name.clone(), Setting { value: value.clone(), origin: origin() }))
            .collect()
    }

    /// Makes plugins as they were chosen; true if one of them was otherwise.
    pub(in crate::orchestrator) fn apply(&self, slots: &mut [Slot]) -> bool {
        let mut differs = false;
        for slot in slots {
            let settings = self.settings(slot.name());
            if slot.settings != settings {
                (slot.settings, slot.changed, differs) = (settings, true, true);
            }
            if let Some(enabled) = self.enabled(slot.name()).filter(|on| *on != slot.enabled) {
                (slot.enabled, differs) = (enabled, true);
            }
        }
        differs
    }
}

/// Tells other processes that an agent has new choices.
async fn announce(store: &dyn Store, agent: AgentId) -> Result<()> {
    let (of, key) = CHANGES;
    for _ in 0..TRIES {
        let seen = store.cached(of, key, Timestamp(0)).await?;
        let mut changes: Times =
            seen.clone().and_then(|seen| serde_json::from_value(seen).ok()).unwrap_or_default();
        let last = changes.entry(agent).or_insert(Timestamp(0));
        *last = SystemClock.now().max(Timestamp(last.0 + 1));
        let value = serde_json::to_value(&changes).map_err(|cause| {
            Error::unexpected("the time of a choice cannot be written").with_source(cause)
        })?;
        if store.swap(of, key, seen.as_ref(), &value).await? {
            return Ok(());
        }
    }
    Err(Error::new(ErrorKind::Conflict, "other processes change plugins at the same moment")
        .with_fix("try again; the choice is stored, and holds from the next start on"))
}

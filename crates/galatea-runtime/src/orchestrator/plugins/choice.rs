//! What an agent's owner chose about its plugins: on or off, and settings. Stored by agent, so that a
//! restart keeps it.

use galatea_core::{
    AgentId, Error, Result, Store, Timestamp,
    settings::{Layer, Origin, Setting},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

use super::slot::Slot;

/// Key of the choices among an agent's small values. Those of plugins begin with `plugin:`.
const KEY: &str = "plugins:choices";

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
        store.cache(agent, KEY, &value, None).await
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

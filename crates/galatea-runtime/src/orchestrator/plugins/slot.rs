//! One plugin of an agent, loaded or not.

use galatea_core::{
    Plugin, PluginContext, plugin::plain_name, service::ServiceEntry, settings::Layer,
};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::plugins::unit::InUse;

/// One plugin of an agent.
#[derive(Clone)]
pub(in crate::orchestrator) struct Slot {
    pub(in crate::orchestrator) plugin: Plugin,
    /// It was added while the agent runs, and is kept over a restart of the agent.
    pub(in crate::orchestrator) added: bool,
    pub(in crate::orchestrator) enabled: bool,
    /// Settings that an owner gave to the plugin of this agent, in front of all others.
    pub(super) settings: Layer,
    /// Present while it is loaded.
    pub(in crate::orchestrator) loaded: Option<Loaded>,
    /// Its settings are others than those that it was loaded with.
    pub(super) changed: bool,
    /// Signals that it was closed, after it was turned off.
    pub(super) closed: Option<CancellationToken>,
}

/// A plugin that turns use.
#[derive(Clone)]
pub(in crate::orchestrator) struct Loaded {
    pub(super) in_use: Arc<InUse>,
    /// Signals that nothing uses it any more.
    pub(super) unused: CancellationToken,
    pub(super) context: PluginContext,
    pub(super) services: Vec<Arc<ServiceEntry>>,
    /// Ends its handlers of events.
    pub(super) following: CancellationToken,
}

impl Slot {
    /// A plugin that is on, or off if it is optional and `listed` does not name it.
    pub(in crate::orchestrator) fn new(plugin: Plugin, listed: &[String]) -> Self {
        let is_listed = listed.iter().any(|name| plain_name(name) == plugin.name);
        let enabled = !plugin.optional || is_listed;
        Self {
            plugin,
            added: false,
            enabled,
            settings: Layer::default(),
            loaded: None,
            changed: false,
            closed: None,
        }
    }

    /// A plugin that is added to a running agent, and is on.
    pub(in crate::orchestrator) fn added(plugin: Plugin) -> Self {
        Self { added: true, enabled: true, ..Self::new(plugin, &[]) }
    }

    /// The same plugin, not loaded, for another start of the agent.
    pub(in crate::orchestrator) fn unloaded(&self) -> Self {
        Self { loaded: None, changed: false, closed: None, ..self.clone() }
    }

    pub(in crate::orchestrator) fn name(&self) -> &str {
        &self.plugin.name
    }
}

/// Turns the plugins on that others need, which are on.
pub(in crate::orchestrator) fn with_needed(slots: &mut [Slot]) {
    loop {
        let needed: Vec<String> = slots
            .iter()
            .filter(|slot| slot.enabled)
            .flat_map(|slot| slot.plugin.dependencies.iter().cloned())
            .collect();
        let Some(slot) =
            slots.iter_mut().find(|slot| !slot.enabled && needed.iter().any(|n| n == slot.name()))
        else {
            return;
        };
        slot.enabled = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin(name: &str) -> Plugin {
        Plugin::new(name, "1.0.0", "")
    }

    #[test]
    fn characters_select_optional_plugins_and_what_they_need() {
        let listed = ["@elizaos/plugin-poll".to_owned(), "news".to_owned()];
        let plugins = [
            plugin("core"),
            plugin("poll").optional().needs("votes"),
            plugin("votes").optional(),
            plugin("games").optional(),
        ];
        let mut slots: Vec<Slot> = plugins.map(|plugin| Slot::new(plugin, &listed)).into();
        with_needed(&mut slots);
        let on: Vec<_> = slots.iter().filter(|s| s.enabled).map(Slot::name).collect();
        assert_eq!(on, ["core", "poll", "votes"]);
    }
}

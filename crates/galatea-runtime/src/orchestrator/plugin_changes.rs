//! Changes the plugins of a running agent.

use galatea_core::{AgentId, Plugin, Result};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

use super::{
    agent::Agent,
    plugins::{Choices, PluginInfo, ServiceInfo, Slot, checks, with_needed_of},
    services,
    state::{Orchestrator, unknown},
};
use crate::profile::Profile;

impl Orchestrator {
    /// Adds a plugin to an agent, which may be running: turns that begin from now on use it. It stays
    /// until it is removed, also over restarts of the agent, and not over those of the process.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent. `Invalid` with a code (`GAL-PLUGIN-…`) for a plugin of a name
    /// that is taken, of another version, or without what it needs. `Conflict` (`GAL-PLUGIN-MODELS`)
    /// for one that brings models. What its `init` says. Nothing has changed then.
    pub async fn add_plugin(&self, id: AgentId, plugin: Plugin) -> Result<()> {
        checks::without_models(&plugin)?;
        self.change_plugins(id, |slots| {
            slots.push(Slot::added(plugin));
            Ok(())
        })
        .await
    }

    /// Adds a plugin to every agent, and to those that are created later.
    ///
    /// # Errors
    /// As [`Self::add_plugin`], for the first agent that refuses it. No agent has it then.
    pub async fn add_global_plugin(&self, plugin: Plugin) -> Result<()> {
        let mut done = Vec::new();
        for (id, _) in self.agents() {
            if let Err(error) = self.add_plugin(id, plugin.clone()).await {
                for id in done {
                    let _ = self.remove_plugin(id, &plugin.name).await;
                }
                return Err(error.with("agent", id));
            }
            done.push(id);
        }
        self.globals.lock().push(plugin);
        Ok(())
    }

    /// Removes a plugin from every agent that has it, and from those that are created later.
    ///
    /// # Errors
    /// `NotFound` (`GAL-PLUGIN-UNKNOWN`) if it was not added to every agent; `Invalid`
    /// (`GAL-PLUGIN-MISSING`) with the first agent of which another plugin needs it.
    pub async fn remove_global_plugin(&self, name: &str) -> Result<()> {
        let known = self.globals.lock().iter().any(|plugin| plugin.name == name);
        if !known {
            return Err(checks::unknown_plugin(name, &[]));
        }
        for (id, _) in self.agents() {
            match self.remove_plugin(id, name).await {
                Ok(()) => {}
                Err(error) if error.code() == Some("GAL-PLUGIN-UNKNOWN") => {}
                Err(error) => return Err(error.with("agent", id)),
            }
        }
        self.globals.lock().retain(|plugin| plugin.name != name);
        Ok(())
    }

    /// Plugins of every agent, for one that is being created.
    pub(super) fn global_slots(&self) -> Vec<Slot> {
        self.globals.lock().iter().cloned().map(Slot::added).collect()
    }

    /// Puts a plugin in place of the one of its name in one step, such as after the tools of a server
    /// changed; adds it if there is none. Turns that have begun end with the one before, which is
    /// closed after the last of them.
    ///
    /// # Errors
    /// As [`Self::add_plugin`].
    pub async fn replace_plugin(&self, id: AgentId, plugin: Plugin) -> Result<()> {
        checks::without_models(&plugin)?;
        self.change_plugins(id, |slots| {
            match slots.iter_mut().find(|slot| slot.name() == plugin.name) {
                Some(slot) => {
                    checks::without_models(&slot.plugin)?;
                    (slot.plugin, slot.loaded) = (plugin, None);
                }
                None => slots.push(Slot::added(plugin)),
            }
            Ok(())
        })
        .await
    }

    /// Removes a plugin from an agent. It is closed after the last turn that uses it. One that the
    /// agent is created with is back after a restart of the process; [`Self::disable_plugin`] keeps it
    /// off.
    ///
    /// # Errors
    /// `NotFound` (`GAL-PLUGIN-UNKNOWN`) for an unknown one, `Invalid` (`GAL-PLUGIN-MISSING`) if
    /// another one needs it.
    pub async fn remove_plugin(&self, id: AgentId, name: &str) -> Result<()> {
        self.change_plugins(id, |slots| {
            let at = checks::place(slots, name)?;
            checks::without_models(&slots.remove(at).plugin)
        })
        .await
    }

    /// Turns a plugin of an agent on, with those that it needs. The choice is stored.
    ///
    /// # Errors
    /// As [`Self::add_plugin`]; `NotFound` (`GAL-PLUGIN-UNKNOWN`) for an unknown one.
    pub async fn enable_plugin(&self, id: AgentId, name: &str) -> Result<()> {
        self.choose(
            id,
            name,
            |choices, slots| {
                for slot in slots
                    .iter()
                    .filter(|slot| (slot.enabled && slot.plugin.optional) || slot.name() == name)
                {
                    choices.enable(slot.name(), true);
                }
            },
            |slot| slot.enabled = true,
        )
        .await
    }

    /// Turns a plugin of an agent off. It is closed after the last turn that uses it. The choice is
    /// stored.
    ///
    /// # Errors
    /// `NotFound` (`GAL-PLUGIN-UNKNOWN`) for an unknown one, `Invalid` (`GAL-PLUGIN-MISSING`) if
    /// another one needs it.
    pub async fn disable_plugin(&self, id: AgentId, name: &str) -> Result<()> {
        self.choose(
            id,
            name,
            |choices, _| choices.enable(name, false),
            |slot| {
                slot.enabled = false;
            },
        )
        .await
    }

    /// Sets settings of a plugin of an agent. Its `init` is called again, its services start anew, and
    /// turns that begin from now on see them. They are stored; a null removes one.
    ///
    /// # Errors
    /// `NotFound` (`GAL-PLUGIN-UNKNOWN`) for an unknown plugin, `Invalid` for a setting that it does
    /// not declare (`GAL-PLUGIN-UNDECLARED`), for a secret, which belongs into the environment, and
    /// for a value of another form. Nothing has changed then.
    pub async fn configure_plugin(
        &self,
        id: AgentId,
        name: &str,
        settings: BTreeMap<String, Value>,
    ) -> Result<()> {
        let agent = self.agent(id)?;
        agent.plugins.check_declared(name, settings.keys())?;
        self.choose(id, name, |choices, _| choices.set(name, settings.clone()), |_| {}).await
    }

    /// The plugins of an agent in order of their names, also those that are off.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent.
    pub fn plugins(&self, id: AgentId) -> Result<Vec<PluginInfo>> {
        Ok(self.agent(id)?.plugins.infos())
    }

    /// The services of an agent's plugins, with how they are doing; none for an unknown agent.
    pub fn services(&self, id: AgentId) -> Vec<ServiceInfo> {
        self.agent(id).map(|agent| agent.plugins.service_infos()).unwrap_or_default()
    }

    /// Reads the choices about an agent's plugins again, after another process stored them.
    ///
    /// # Errors
    /// As [`Self::enable_plugin`].
    pub async fn reload_plugins(&self, id: AgentId) -> Result<()> {
        let agent = self.agent(id)?;
        let choices = Choices::load(&*self.options.store, id).await?;
        change(&agent, None, |slots| Ok(choices.apply(slots))).await
    }

    async fn change_plugins(
        &self,
        id: AgentId,
        edit: impl FnOnce(&mut Vec<Slot>) -> Result<()> + Send,
    ) -> Result<()> {
        let agent = self.agent(id)?;
        change(&agent, None, |slots| edit(slots).map(|()| true)).await
    }

    /// Stores a choice after it was carried out.
    async fn choose(
        &self,
        id: AgentId,
        name: &str,
        choose: impl FnOnce(&mut Choices, &[Slot]) + Send,
        edit: impl FnOnce(&mut Slot) + Send,
    ) -> Result<()> {
        let agent = self.agent(id)?;
        let store = &*self.options.store;
        let mut choices = Choices::load(store, id).await?;
        let chosen = &mut choices;
        let carry_out = |slots: &mut Vec<Slot>| {
            let at = checks::place(slots, name)?;
            if let Some(slot) = slots.get_mut(at) {
                edit(slot);
                checks::without_models(&slot.plugin)?;
            }
            with_needed_of(slots, name);
            choose(chosen, slots);
            chosen.apply(slots);
            Ok(true)
        };
        change(&agent, None, carry_out).await?;
        choices.save(store, id).await
    }

    pub(super) fn agent(&self, id: AgentId) -> Result<Arc<Agent>> {
        let agent = self.lock().get(&id).map(|entry| Arc::clone(&entry.agent));
        agent.ok_or_else(|| unknown(id))
    }
}

/// Changes the plugins of an agent and its profile, or nothing. `edit` says whether anything is to be
/// done; changes of one agent are made one after another.
///
/// # Errors
/// Those of `edit`, and those of plugins that do not fit.
pub(super) async fn change(
    agent: &Arc<Agent>,
    profile: Option<Profile>,
    edit: impl FnOnce(&mut Vec<Slot>) -> Result<bool> + Send,
) -> Result<()> {
    let plugins = &agent.plugins;
    let Some(swapped) = plugins.swap(&agent.profile, profile, edit).await? else { return Ok(()) };
    let all = plugins.services_in_order();
    agent.services.stop_but(&all).await;
    services::start(agent, &all);
    plugins.settle(swapped);
    Ok(())
}

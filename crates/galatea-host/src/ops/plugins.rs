//! Plugins of the agents of this process, their services, and the tools that they bring.

use galatea_core::{AgentId, Error, Result, store::OperatorRole};
use galatea_runtime::{
    PluginInfo, PluginState, ServiceInfo,
    tools::{self, KnownTool},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::{Operator, Ops, agents::no_agent};

/// A plugin of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedPlugin {
    /// The agent.
    pub agent: AgentId,
    /// The plugin.
    pub plugin: PluginInfo,
}

/// A service of a plugin of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedService {
    /// The agent.
    pub agent: AgentId,
    /// The service.
    pub service: ServiceInfo,
}

/// A tool of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTool {
    /// The agent.
    pub agent: AgentId,
    /// The tool.
    pub tool: KnownTool,
}

impl Ops {
    fn agents_of(&self, agent: Option<AgentId>) -> Result<Vec<AgentId>> {
        let all = self.running()?.infos().into_iter().map(|info| info.id);
        Ok(all.filter(|id| agent.is_none_or(|wanted| wanted == *id)).collect())
    }

    /// Plugins by name, also those that are off.
    ///
    /// # Errors
    /// `Unsupported` in a process without agents.
    pub fn plugins(&self, by: &Operator, agent: Option<AgentId>) -> Result<Vec<ListedPlugin>> {
        by.need(OperatorRole::Viewer)?;
        let mut listed = Vec::new();
        for agent in self.agents_of(agent)? {
            let plugins = self.running()?.plugins(agent)?;
            listed.extend(plugins.into_iter().map(|plugin| ListedPlugin { agent, plugin }));
        }
        Ok(listed)
    }

    /// Services of the plugins that are on.
    ///
    /// # Errors
    /// `Unsupported` in a process without agents.
    pub fn services(&self, by: &Operator, agent: Option<AgentId>) -> Result<Vec<ListedService>> {
        by.need(OperatorRole::Viewer)?;
        let mut listed = Vec::new();
        for agent in self.agents_of(agent)? {
            let services = self.running()?.services(agent);
            listed.extend(services.into_iter().map(|service| ListedService { agent, service }));
        }
        Ok(listed)
    }

    /// Turns a plugin of an agent on or off, and sets its settings; a null removes one. Turns that begin
    /// from now on see it.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent or plugin, `Invalid` for a setting that it does not declare, for a
    /// secret, and for a plugin that another one needs.
    pub async fn change_plugin(
        &self,
        by: &Operator,
        agent: AgentId,
        name: &str,
        on: Option<bool>,
        settings: BTreeMap<String, Value>,
    ) -> Result<ListedPlugin> {
        by.need_on(OperatorRole::Owner, agent)?;
        let before = self.plugin(by, agent, name)?;
        let orchestrator = self.running()?;
        let names: Vec<String> = settings.keys().cloned().collect();
        if !settings.is_empty() {
            orchestrator.configure_plugin(agent, name, settings).await?;
        }
        match on {
            Some(true) => orchestrator.enable_plugin(agent, name).await?,
            Some(false) => orchestrator.disable_plugin(agent, name).await?,
            None => {}
        }
        let after = self.plugin(by, agent, name)?;
        let shown = |listed: &ListedPlugin| {
            let settings: BTreeMap<&str, &Option<String>> = listed
                .plugin
                .settings
                .iter()
                .filter(|own| names.contains(&own.name))
                .map(|own| (own.name.as_str(), &own.value))
                .collect();
            json!({ "on": listed.plugin.state == PluginState::On, "settings": settings })
        };
        let target = format!("{agent} {name}");
        let (before, shown_after) = (shown(&before), shown(&after));
        self.record(by, "plugin.change", target, Some(before), Some(shown_after)).await?;
        Ok(after)
    }

    fn plugin(&self, by: &Operator, agent: AgentId, name: &str) -> Result<ListedPlugin> {
        if self.running()?.info(agent).is_none() {
            return Err(no_agent(agent));
        }
        let all = self.plugins(by, Some(agent))?;
        all.into_iter().find(|listed| listed.plugin.name == name).ok_or_else(|| {
            Error::not_found("the agent has no plugin of this name")
                .with_code("GAL-PLUGIN-UNKNOWN")
                .with_fix("the list of plugins has their names")
        })
    }

    /// Tools that agents have, by their names in grants.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn tools(&self, by: &Operator, agent: Option<AgentId>) -> Result<Vec<ListedTool>> {
        by.need(OperatorRole::Viewer)?;
        let mut listed = Vec::new();
        for (id, _) in self.store.agents().await? {
            if agent.is_none_or(|wanted| wanted == id) {
                let known = tools::known(&*self.store, id, self.clock.now()).await?;
                listed.extend(known.into_iter().map(|tool| ListedTool { agent: id, tool }));
            }
        }
        Ok(listed)
    }
}

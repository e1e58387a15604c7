//! The plugins of an agent, for lists and status pages.

use galatea_core::{Plugin, PluginSetting, Settings, service::ServiceState, settings::Origin};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    begin::AgentPlugins,
    slot::{Loaded, Slot},
};

/// A plugin of an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginInfo {
    /// Its name.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// Its purpose, in one sentence.
    pub description: String,
    /// The versions of Galatea that it fits; all if empty.
    pub galatea: String,
    /// Whether turns use it.
    pub state: PluginState,
    /// True if it is off unless a character lists it or an owner enables it.
    pub optional: bool,
    /// True if it was added while the agent runs.
    pub added: bool,
    /// Names of plugins that it needs.
    pub needs: Vec<String>,
    /// What it brings.
    pub brings: ExtensionNames,
    /// Its services, with how they are doing.
    pub services: Vec<ServiceInfo>,
    /// Its settings, with the values of now; those of secrets are left out.
    pub settings: Vec<SettingInfo>,
}

/// Whether turns use a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PluginState {
    /// Turns use it.
    On,
    /// It is off.
    Off,
}

/// The names of what a plugin brings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionNames {
    /// Actions.
    pub actions: Vec<String>,
    /// Providers.
    pub providers: Vec<String>,
    /// Evaluators.
    pub evaluators: Vec<String>,
    /// Routes, as method and path.
    pub routes: Vec<String>,
    /// Number of models.
    pub models: usize,
}

/// A service of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceInfo {
    /// Its type name.
    pub name: String,
    /// How it is doing.
    #[serde(flatten)]
    pub state: ServiceState,
}

/// A setting of a plugin.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingInfo {
    /// Its name.
    pub name: String,
    /// JSON Schema of its value, with its purpose and default.
    pub schema: Value,
    /// The value of now; none for a secret and where it is unset.
    pub value: Option<String>,
    /// True if it has a value.
    pub is_set: bool,
    /// Where the value comes from.
    pub origin: String,
    /// A secret.
    pub secret: bool,
    /// The plugin is not loaded without it.
    pub required: bool,
}

impl AgentPlugins {
    /// The services of the plugins that are on.
    pub(in crate::orchestrator) fn service_infos(&self) -> Vec<ServiceInfo> {
        let slots = self.slots.load();
        slots.iter().filter_map(|slot| slot.loaded.as_ref()).flat_map(services).collect()
    }

    /// The plugins of an agent in order of their names.
    pub(in crate::orchestrator) fn infos(&self) -> Vec<PluginInfo> {
        let thinking = self.current.get();
        let settings = &thinking.profile.view.settings;
        let mut infos: Vec<PluginInfo> =
            self.slots.load().iter().map(|slot| info(slot, settings)).collect();
        infos.sort_by(|a, b| a.name.cmp(&b.name));
        infos
    }
}

fn info(slot: &Slot, settings: &Settings) -> PluginInfo {
    let own = settings.with_layer(slot.settings.clone());
    let setting = |declared: &PluginSetting| {
        let value = own.text(declared);
        let origin = own.origin(declared);
        SettingInfo {
            name: declared.name.to_string(),
            schema: declared.schema(),
            is_set: origin != Origin::Default,
            value: value.filter(|_| !declared.secret),
            origin: origin.to_string(),
            secret: declared.secret,
            required: declared.required,
        }
    };
    let plugin = &slot.plugin;
    PluginInfo {
        name: plugin.name.clone(),
        version: plugin.version.clone(),
        description: plugin.description.clone(),
        galatea: plugin.galatea.clone(),
        state: if slot.loaded.is_some() { PluginState::On } else { PluginState::Off },
        optional: plugin.optional,
        added: slot.added,
        needs: plugin.dependencies.clone(),
        brings: names(plugin),
        services: slot.loaded.as_ref().map(services).unwrap_or_default(),
        settings: plugin.settings.iter().map(setting).collect(),
    }
}

fn services(loaded: &Loaded) -> Vec<ServiceInfo> {
    let services = loaded.services.iter();
    services
        .map(|entry| ServiceInfo { name: entry.service.name().to_owned(), state: entry.state() })
        .collect()
}

fn names(plugin: &Plugin) -> ExtensionNames {
    ExtensionNames {
        actions: plugin.actions.iter().map(|action| action.docs().name).collect(),
        providers: plugin.providers.iter().map(|p| p.name().to_owned()).collect(),
        evaluators: plugin.evaluators.iter().map(|e| e.name().to_owned()).collect(),
        routes: plugin.routes.iter().map(|r| format!("{} {}", r.method, r.path)).collect(),
        models: plugin.models.len(),
    }
}

//! Creates, starts, stops, removes and watches many agents in one process.

mod agent;
mod chosen;
mod company;
mod create;
mod idle;
mod learn;
mod plugin_changes;
mod plugins;
mod press;
mod run;
mod service_runner;
mod service_steps;
mod services;
mod shared;
mod spec;
mod state;
mod supervise;
mod watch;

pub use crate::config::AccountSettings;
pub use plugins::{
    Choices as PluginChoices, ExtensionNames, PluginInfo, PluginState, ServiceInfo, SettingInfo,
};
pub use spec::{AgentChange, AgentFactory, AgentSpec, Encoder, Encoders, RuntimeOptions};
pub use state::Orchestrator;
pub use watch::{AgentInfo, AgentState, AgentWork, BudgetState, ConnectorStatus, SharedWork};

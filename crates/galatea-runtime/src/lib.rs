//! The engine that runs agents. It stores the messages that connectors decode (`intake`), hands
//! them to turns in order (`inbox`), decides and answers (`turn`), and delivers the answers
//! (`outbox`).

mod agent_room;
pub mod approvals;
mod backlog;
mod budget;
mod commands;
pub mod config;
mod directory;
pub mod explain;
mod grants;
pub mod history;
mod in_flight;
mod inbox;
mod intake;
mod lanes;
mod linking;
pub mod orchestrator;
mod outbox;
mod ownership;
mod pace;
pub mod pairing;
pub mod plan;
mod plugins;
mod profile;
mod recent;
mod retention;
mod tasks;
pub mod tools;
mod trace;
mod turn;
mod unknown_outcome;

pub use config::{VARIABLES, platform_variables};
pub use orchestrator::{
    AccountSettings, AgentChange, AgentFactory, AgentInfo, AgentSpec, AgentState, AgentWork,
    BudgetState, ConnectorStatus, Encoder, Encoders, ExtensionNames, Orchestrator, PluginChoices,
    PluginInfo, PluginState, RuntimeOptions, ServiceInfo, SettingInfo, SharedWork,
};
pub use outbox::{LongWait, beside::send_beside};
pub use ownership::{ClusterOptions, compare_clocks};
pub use trace::TraceCounts;
pub use turn::{Failing, Shortened};

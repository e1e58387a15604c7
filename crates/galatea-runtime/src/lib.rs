//! The engine: takes in what connectors decode, decides, answers, delivers.

mod agent_room;
mod backlog;
mod budget;
pub mod config;
mod directory;
pub mod explain;
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
mod registry;
mod retention;
mod turn;
mod unknown_outcome;

pub use config::{VARIABLES, platform_variables};
pub use orchestrator::{
    AccountSettings, AgentSpec, BudgetState, ConnectorStatus, Orchestrator, RuntimeOptions,
};
pub use ownership::{ClusterOptions, compare_clocks};

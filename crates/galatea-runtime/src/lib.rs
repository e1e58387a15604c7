//! The engine: takes in what connectors decode, decides, answers, delivers.

mod accounts;
mod agent;
pub mod config;
mod delivery;
mod doubt;
pub mod explain;
mod intake;
mod itself;
mod lanes;
mod leases;
pub mod orchestrator;
mod outbound;
pub mod pairing;
pub mod plan;
mod registry;
mod rooms;
mod supervise;
mod turn;

pub use config::{VARIABLES, platform_variables};
pub use leases::ClusterOptions;
pub use orchestrator::{AccountSettings, AgentSpec, ConnectorStatus, Orchestrator, RuntimeOptions};

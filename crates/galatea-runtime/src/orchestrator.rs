//! Creates, starts, stops, removes and watches many agents in one process.

mod agent;
mod company;
mod create;
mod idle;
mod learn;
mod run;
mod shared;
mod spec;
mod state;
mod supervise;
mod watch;

pub use crate::config::AccountSettings;
pub use spec::{AgentChange, AgentFactory, AgentSpec, Encoder, Encoders, RuntimeOptions};
pub use state::Orchestrator;
pub use watch::{AgentInfo, AgentState, AgentWork, BudgetState, ConnectorStatus, SharedWork};

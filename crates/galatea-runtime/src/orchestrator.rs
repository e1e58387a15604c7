//! Creates, starts, stops, removes and watches many agents in one process.

mod agent;
mod create;
mod run;
mod shared;
mod spec;
mod state;
mod supervise;
mod watch;

pub use crate::config::AccountSettings;
pub use spec::{AgentSpec, RuntimeOptions};
pub use state::Orchestrator;
pub use watch::{BudgetState, ConnectorStatus};

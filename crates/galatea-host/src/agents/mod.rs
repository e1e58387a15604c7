//! The agents of a process: their plugins, documents, models and connectors, put together.

pub mod boot;
pub(crate) mod factory;
pub mod follow;
pub mod library;
mod make;
pub mod mcp;
pub mod plugins;
mod summary;
pub(crate) mod surroundings;

pub use summary::{AgentSummary, PlatformState};
pub use surroundings::Platforms;

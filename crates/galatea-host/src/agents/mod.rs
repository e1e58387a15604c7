//! The agents of a process: their plugins, documents, models and connectors, put together.

pub mod boot;
pub mod library;
pub mod plugins;

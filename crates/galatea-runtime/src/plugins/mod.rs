//! The plugins of an agent as turns see them: an immutable registry of their extensions, each with
//! the plugin that it belongs to. The orchestrator replaces it whole.

pub(crate) mod order;
pub(crate) mod own_store;
pub(crate) mod own_view;
pub(crate) mod registry;
pub(crate) mod unit;

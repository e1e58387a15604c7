//! The models of an agent while it runs: their health, the choice from a provider's list, and
//! platforms that no model answers.

pub mod choosing;
pub mod no_model;
pub mod watch;

//! Models: one folder per wire format, one place that retries, and a script for when there is none.
//!
//! [`config::build`] reads an agent's settings and returns the [`galatea_core::Models`] it uses.
//! From the outside in, each is a [`chain`] of links, and a link is
//! `retry(breaker(stream(wire format)))`. Nothing falls back silently: an answer names who gave it.

pub mod anthropic;
pub mod budget;
pub mod chain;
pub mod check;
pub mod choices;
pub mod config;
pub mod dependencies;
pub mod doctor;
pub mod families;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod google;
mod guarded;
mod noticing;
pub mod ollama;
pub mod openai;
pub mod retry;
pub mod tuned;
pub mod wire;

pub use choices::{Change, Choices, When};
pub use config::{Configured, build};
pub use dependencies::Dependencies;
pub use doctor::OfflineModel;
pub use retry::{RetryPolicy, Retrying};
pub use wire::{Auth, Endpoint, Names, Times};

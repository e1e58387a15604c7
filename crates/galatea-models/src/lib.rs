//! Models: one folder per wire format, one place that retries, and a script for when there is none.
//!
//! [`config::build`] reads an agent's settings and returns the [`galatea_core::Models`] it uses. Nothing falls back silently: a configured
//! provider that fails says so.

pub mod anthropic;
pub mod check;
pub mod config;
pub mod doctor;
pub mod google;
pub mod ollama;
pub mod openai;
pub mod retry;
pub mod tuned;
pub mod wire;

pub use config::{Configured, build};
pub use doctor::OfflineModel;
pub use retry::{RetryPolicy, Retrying};
pub use wire::{Auth, Endpoint, Names, Times};

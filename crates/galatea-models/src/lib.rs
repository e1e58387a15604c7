//! Language and embedding models: clients for the providers' APIs, retries and fallbacks around
//! them, and an offline script for agents without a model.
//!
//! [`config::build`] reads an agent's settings and returns the [`galatea_core::Models`] it uses.
//! Each model is a [`chain`] of links that are asked in order. From the outside in, a link consists
//! of retries, a circuit breaker, streaming, and a provider's wire format. Each answer names the
//! model that gave it, so a fallback is never silent.

pub mod anthropic;
pub mod budget;
pub mod chain;
pub mod check;
pub mod choices;
pub mod config;
pub mod dependencies;
pub mod doctor;
mod embedding_offer;
pub mod families;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod google;
mod guarded;
mod limited;
pub mod local;
mod media;
mod noticing;
pub mod ollama;
pub mod openai;
pub mod retry;
mod tool_trial;
mod toolless;
pub mod tuned;
pub mod wire;

pub use choices::{Change, Choices, ToolSkill, When};
pub use config::{Configured, build, with_registered};
pub use dependencies::Dependencies;
pub use doctor::OfflineModel;
pub use embedding_offer::embedding_offer;
pub use retry::{RetryPolicy, Retrying};
pub use wire::{Auth, Endpoint, Names, Times};

//! Provider: one part of the composed context.

use async_trait::async_trait;

use crate::{error::Result, state::Fragment, turn::Turn};

/// Supplies one part of the context. Read-only; runs beside the others, each with a deadline.
#[async_trait]
pub trait Provider: Send + Sync {
    /// elizaOS name, such as `RECENT_MESSAGES`.
    fn name(&self) -> &'static str;
    /// What it adds, for the model when it may ask for it.
    fn description(&self) -> &'static str;
    /// Place in the prompt: lower comes first.
    fn position(&self) -> i32;
    /// When it takes part.
    fn when(&self) -> ProviderUse;
    /// Its part.
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment>;
}

/// When a provider takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderUse {
    /// In every turn.
    Always,
    /// Only when the model asks for it (elizaOS `dynamic`).
    OnRequest,
}

//! Evaluator: learns from a finished turn.

use async_trait::async_trait;

use crate::{error::Result, turn::FinishedTurn};

/// Runs after the commit, unable to delay the reply.
#[async_trait]
pub trait Evaluator: Send + Sync {
    /// elizaOS name, such as `REFLECTION`.
    fn name(&self) -> &'static str;
    /// What it learns.
    fn description(&self) -> &'static str;
    /// Looks at a finished turn.
    async fn evaluate(&self, turn: &FinishedTurn<'_>) -> Result<()>;
}

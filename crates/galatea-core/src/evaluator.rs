//! Evaluator: learns from a finished turn.

use async_trait::async_trait;

use crate::{error::Result, turn::FinishedTurn};

/// Learns from a finished turn. It runs after the commit, so it cannot delay the answer.
///
/// ```
/// use async_trait::async_trait;
/// use galatea_core::{Evaluator, FinishedTurn, Result};
///
/// struct Counter(std::sync::atomic::AtomicU64);
///
/// #[async_trait]
/// impl Evaluator for Counter {
///     fn name(&self) -> &'static str {
///         "COUNTER"
///     }
///     fn description(&self) -> &'static str {
///         "Counts answers"
///     }
///     async fn evaluate(&self, _: &FinishedTurn<'_>) -> Result<()> {
///         self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
///         Ok(())
///     }
/// }
///
/// assert_eq!(Counter(0.into()).description(), "Counts answers");
/// ```
#[async_trait]
pub trait Evaluator: Send + Sync {
    /// elizaOS name, such as `REFLECTION`.
    fn name(&self) -> &'static str;
    /// What it learns.
    fn description(&self) -> &'static str;
    /// Looks at a finished turn. Called once per answered turn, with a deadline of two minutes; a
    /// failure is logged and changes nothing.
    async fn evaluate(&self, turn: &FinishedTurn<'_>) -> Result<()>;
}

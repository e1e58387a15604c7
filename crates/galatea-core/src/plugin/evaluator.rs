//! Learns from a finished turn.

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
    /// elizaOS name, such as `REFLECTION`. Called when the plugin is loaded, and after each run.
    fn name(&self) -> &str;
    /// Purpose, in one sentence for the model and for people. Called for each turn.
    fn description(&self) -> &str;
    /// Time of its run. Called once, when the plugin is loaded.
    fn when(&self) -> EvaluatorUse {
        EvaluatorUse::AfterTurn
    }
    /// True if it has something to learn now (elizaOS `validate`). An
    /// [`EvaluatorUse::AfterTurn`] evaluator is asked right after each answered turn, and should only look
    /// at what the turn has at hand. An [`EvaluatorUse::WhenQuiet`] evaluator is asked when the Room is
    /// quiet, about the newest turn only: it should decide by what is new in the Room, not by one
    /// message. An error is logged and counts as no.
    async fn validate(&self, _turn: &FinishedTurn<'_>) -> Result<bool> {
        Ok(true)
    }
    /// Learns. Called after [`Evaluator::validate`] said yes, with a deadline of two minutes; a
    /// failure is logged and changes nothing. Per Room, one call runs at a time if it runs
    /// [`EvaluatorUse::WhenQuiet`].
    async fn evaluate(&self, turn: &FinishedTurn<'_>) -> Result<()>;
}

/// Time at which an evaluator runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvaluatorUse {
    /// After every turn, at once. For evaluators that call no model.
    AfterTurn,
    /// After nothing was answered in the Room for some seconds (`EVALUATION_PAUSE_SECONDS`), with
    /// the newest turn; in a Room that is never quiet, after every 24th turn. For evaluators that
    /// call a model: one call then covers many turns, and none competes with an answer.
    WhenQuiet,
}

//! A turn as it is shown.

use galatea_core::{
    Timestamp,
    store::{InboxItem, OutboxItem, StepKind, StepTexts, StepUse, TraceStep},
};
use serde::Serialize;

/// A step as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownStep {
    /// Its number in the trace, from 0.
    pub n: usize,
    /// Depth in the tree: steps of a turn stand below it.
    pub depth: u8,
    /// The step.
    #[serde(flatten)]
    pub step: TraceStep,
    /// True while it goes on.
    pub is_open: bool,
}

/// Figures of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceFigures {
    /// Milliseconds from the arrival to the commit; none while it is under way.
    pub took: Option<u64>,
    /// Milliseconds that the message waited for its turn.
    pub waited: u64,
    /// Use of all calls of models. Its cost is none if a price is unknown, or nothing was called.
    pub used: StepUse,
}

/// A message with what was decided about it, and the figures of its turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedTurn {
    /// The message with its verdict.
    pub item: InboxItem,
    /// Figures of the turn.
    pub figures: TraceFigures,
    /// The model that wrote most of the answer.
    pub model: Option<String>,
    /// Name of the agent.
    pub agent: String,
    /// Name of the Room.
    pub room: String,
    /// Name of the person.
    pub person: String,
}

/// A turn with all its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnTrace {
    /// The turn.
    pub turn: TracedTurn,
    /// Every step, oldest first.
    pub steps: Vec<ShownStep>,
    /// The steps that were recorded are gone, or were never kept.
    pub is_bare: bool,
    /// Prompts and answers are kept.
    pub has_texts: bool,
    /// Texts by the number of their step.
    pub texts: Vec<StepTexts>,
    /// The parts of the answer.
    pub parts: Vec<OutboxItem>,
}

/// Time at which a step ended.
pub(super) fn end(step: &TraceStep) -> Timestamp {
    Timestamp(step.at.0.saturating_add(i64::try_from(step.millis).unwrap_or(i64::MAX)))
}

/// A step that takes no time.
pub(super) fn moment(kind: StepKind, name: &str, at: Timestamp, note: Option<String>) -> TraceStep {
    TraceStep { kind, name: name.to_owned(), at, note, ..TraceStep::default() }
}

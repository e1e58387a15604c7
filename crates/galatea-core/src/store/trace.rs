//! Traces: what a turn did, step by step, kept for some days beside its verdict.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    clock::Timestamp,
    error::Result,
    ids::{AgentId, EntityId, RoomId, TurnId},
};

/// Sort of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// The message arrived.
    Receive,
    /// It waited.
    Wait,
    /// A rule of the gate.
    Gate,
    /// A provider added its part to the prompt.
    Provider,
    /// A model was asked.
    #[default]
    Model,
    /// An action ran.
    Action,
    /// An attempt to send a part.
    Send,
    /// The pause after a failed attempt.
    Backoff,
    /// An evaluator looked at the finished turn.
    Evaluate,
    /// The answer was stored.
    Commit,
}

impl StepKind {
    /// Name of the sort, as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Receive => "receive",
            Self::Wait => "wait",
            Self::Gate => "gate",
            Self::Provider => "provider",
            Self::Model => "model",
            Self::Action => "action",
            Self::Send => "send",
            Self::Backoff => "backoff",
            Self::Evaluate => "evaluate",
            Self::Commit => "commit",
        }
    }
}

/// Tokens and cost of a call of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StepUse {
    /// Tokens of the prompt.
    pub input: u64,
    /// Those of them that the service had kept.
    pub cached: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Cost in millionths of a US dollar; none where the price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
}

/// A step. It holds ids, names of parts of the program, and figures; never what people wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TraceStep {
    /// Sort of the step.
    pub kind: StepKind,
    /// Name of the provider, model, action, evaluator or platform.
    pub name: String,
    /// What came of it, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Time of its beginning.
    pub at: Timestamp,
    /// Duration in milliseconds.
    pub millis: u64,
    /// It failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Bytes that a provider added to the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Use of a model.
    #[serde(default, rename = "use", skip_serializing_if = "Option::is_none")]
    pub used: Option<StepUse>,
}

/// A block of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptBlock {
    /// Whose words these are: `instructions`, a speaker's name, `results`.
    pub from: String,
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// The words, cut in the middle where they are long.
    pub text: String,
}

/// Texts of a step. They may hold what people wrote, so they go when these people are forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StepTexts {
    /// Number of the step in its trace.
    pub step: usize,
    /// Parameters of an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// The prompt as it was sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompt: Vec<PromptBlock>,
    /// The answer of a model, the result of an action, the part of a provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// Steps of a turn: all up to its commit, or some that came later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The turn.
    pub turn: TurnId,
    /// The agent that answered.
    pub agent: AgentId,
    /// The Room.
    pub room: RoomId,
    /// The person who was answered.
    pub person: EntityId,
    /// Time at which the turn began.
    pub at: Timestamp,
    /// Time of the oldest message in its prompt.
    pub since: Timestamp,
    /// The steps came after the commit: attempts to send, evaluators.
    pub late: bool,
    /// The steps in their order.
    pub steps: Vec<TraceStep>,
    /// Texts of the steps. None where they were not kept, or are gone.
    pub texts: Option<Vec<StepTexts>>,
}

/// Bounds of what is kept of an agent's traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceBounds {
    /// Traces of turns before this go.
    pub before: Timestamp,
    /// Bytes of texts that are kept, the newest.
    pub bytes: u64,
}

/// Keeps traces. Written after the commit of a turn, read by the control plane.
#[async_trait]
pub trait TraceStore: Send + Sync {
    /// Adds traces. The texts of turns that began before a person of the agent was forgotten, or
    /// before a message of their Room was deleted, are left out. Called a few times a second.
    async fn add_traces(&self, traces: &[Trace]) -> Result<()>;
    /// All of a turn in the order in which they were added.
    async fn traces_of(&self, turn: TurnId) -> Result<Vec<Trace>>;
    /// All of these turns, without their texts. Called by lists.
    async fn trace_steps(&self, turns: &[TurnId]) -> Result<Vec<Trace>>;
    /// The newest of a person, without texts. Called by exports.
    async fn traces_of_person(
        &self,
        agent: AgentId,
        person: EntityId,
        limit: u32,
    ) -> Result<Vec<Trace>>;
    /// Deletes what is beyond the bounds, in small commits. Gives how many traces are gone. Called
    /// every hour.
    async fn prune_traces(&self, agent: AgentId, bounds: &TraceBounds) -> Result<u64>;
}

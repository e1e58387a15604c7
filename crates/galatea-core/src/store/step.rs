//! The journal of a turn: what its actions have done outside of its commit.

use async_trait::async_trait;
use serde_json::Value;

use crate::{clock::Timestamp, error::Result, ids::MemoryId};

/// An action with an effect of its own, in a turn that is not committed yet.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalStep {
    /// The first message the turn answers: it is the same however often the turn is run.
    pub message: MemoryId,
    /// Number within the turn, from 0.
    pub n: u32,
    /// Name of the action.
    pub action: String,
    /// Hash of its arguments.
    pub input: String,
    /// Its result; none when it was begun and its outcome is unknown.
    pub output: Option<Value>,
    /// Time of its beginning.
    pub begun_at: Timestamp,
}

/// Steps. They go with the commit that finishes their message.
#[async_trait]
pub trait StepStore: Send + Sync {
    /// The steps of the turn that begins with this message, in order. Called before the first
    /// action of a turn that has an effect of its own.
    async fn steps(&self, message: MemoryId) -> Result<Vec<JournalStep>>;
    /// Inserts a step, or sets the result of one that is there. Called before and after each such
    /// action.
    async fn save_step(&self, step: &JournalStep) -> Result<()>;
}

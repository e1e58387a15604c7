//! Verdict: why a message was or was not answered, in an order a person can follow.

use serde::{Deserialize, Serialize};

/// The decision about one message with every step that led to it. Stored with the message; `galatea explain` prints it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// What came out.
    pub decision: Decision,
    /// Steps in the order they were taken.
    pub steps: Vec<Step>,
    /// The one setting that would have changed the outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

/// What came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Answer it.
    Answer,
    /// Stay silent.
    #[default]
    Skip,
    /// Answered together with a later message of the same room.
    Merged,
    /// Handled as a command.
    Command,
    /// Too old when its turn came.
    Expired,
    /// Given up after repeated failures.
    Failed,
}

/// One step of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Rule or stage: `own-message`, `bots`, `muted`, `dm-policy`, `mention`, `model`, …
    pub rule: String,
    /// What it did: `pass`, `answer`, `skip`, `note`.
    pub outcome: String,
    /// Why, in a sentence.
    pub reason: String,
}

/// A setting and the value that would have changed the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its name.
    pub setting: String,
    /// The value.
    pub value: String,
}

impl Verdict {
    /// Notes a step.
    pub fn step(&mut self, rule: &str, outcome: &str, reason: impl Into<String>) {
        self.steps.push(Step { rule: rule.to_owned(), outcome: outcome.to_owned(), reason: reason.into() });
    }
}

//! Verdict: why a message was or was not answered, in an order a person can follow.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

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
    pub rule: Cow<'static, str>,
    /// What it did: `pass`, `answer`, `skip`, `note`.
    pub outcome: Cow<'static, str>,
    /// Why, in a sentence.
    pub reason: Cow<'static, str>,
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
    pub fn step(&mut self, rule: &'static str, outcome: &'static str, reason: impl Into<Cow<'static, str>>) {
        self.steps.push(Step { rule: rule.into(), outcome: outcome.into(), reason: reason.into() });
    }
}

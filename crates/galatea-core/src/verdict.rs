//! Why a message was or was not answered, in an order a person can follow.

use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt};

use crate::redact::masked_text;

/// The decision about one message with every step that led to it. Stored with the message;
/// `galatea explain` prints it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Decision about the message.
    pub decision: Decision,
    /// Steps in the order they were taken.
    pub steps: Vec<Step>,
    /// The one setting that would have changed the outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

/// Decision about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It is answered.
    Answer,
    /// It is remembered and gets no answer.
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

/// A step of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Rule or stage: `own-message`, `bots`, `muted`, `dm-policy`, `mention`, `model`, …
    pub rule: Cow<'static, str>,
    /// Outcome.
    pub outcome: StepOutcome,
    /// Why, in a sentence.
    pub reason: Cow<'static, str>,
}

/// Outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepOutcome {
    /// The rule has nothing against an answer.
    Pass,
    /// The rule asks for an answer.
    Answer,
    /// The rule keeps the message from being answered.
    Skip,
    /// Something to know that decides nothing.
    Note,
    /// The step could not be done; the message is not to blame.
    Failed,
    /// A word of another version of the program.
    #[serde(other)]
    Other,
}

impl StepOutcome {
    /// The spelling in the database and in `galatea explain`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Answer => "answer",
            Self::Skip => "skip",
            Self::Note => "note",
            Self::Failed => "failed",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for StepOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A setting and the value that would have changed the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Name of the setting, or a command.
    pub setting: String,
    /// The value that would have let the message through.
    pub value: String,
}

impl Verdict {
    /// Records a step, in the order of the calls. Whatever has the shape of a secret is masked in
    /// the reason.
    pub fn step(
        &mut self,
        rule: impl Into<Cow<'static, str>>,
        outcome: StepOutcome,
        reason: impl Into<Cow<'static, str>>,
    ) {
        let reason = masked_text(reason.into());
        self.steps.push(Step { rule: rule.into(), outcome, reason });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_stored_as_they_are_spelt_and_old_rows_are_read() {
        for outcome in [
            StepOutcome::Pass,
            StepOutcome::Answer,
            StepOutcome::Skip,
            StepOutcome::Note,
            StepOutcome::Failed,
        ] {
            let stored = serde_json::to_value(outcome).unwrap();
            assert_eq!(stored, outcome.as_str());
            assert_eq!(serde_json::from_value::<StepOutcome>(stored).unwrap(), outcome);
        }
        let old = r#"{"rule":"model","outcome":"mended","reason":"x"}"#;
        assert_eq!(serde_json::from_str::<Step>(old).unwrap().outcome, StepOutcome::Other);
    }
}

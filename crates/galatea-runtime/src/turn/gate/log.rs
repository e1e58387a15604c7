//! Records the steps of the gate in the verdict, and what the gate decides.

use galatea_core::{Decision, StepOutcome, Verdict, verdict::Change};
use std::borrow::Cow;

/// Verdict of the gate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Judged {
    /// A model answers it.
    Answer(Verdict),
    /// It gets no answer.
    Skip(Verdict),
    /// A command or a confirmation, which no model sees.
    Command(Verdict),
    /// It is older than `MESSAGE_TTL_MINUTES`, and gets no answer.
    Expired(Verdict),
    /// A model has to decide (ambient groups).
    Ask(Verdict),
    /// A stranger gets a pairing code.
    Pair(Verdict),
}

/// The verdict so far.
pub(super) struct Log(pub(super) Verdict);

impl Log {
    pub(super) fn note(
        &mut self,
        rule: &'static str,
        outcome: StepOutcome,
        reason: impl Into<Cow<'static, str>>,
    ) {
        self.0.step(rule, outcome, reason);
    }

    /// Records a rule that lets the message pass.
    pub(super) fn pass(&mut self, rule: &'static str, reason: impl Into<Cow<'static, str>>) {
        self.note(rule, StepOutcome::Pass, reason);
    }

    /// Names the setting that would change the outcome.
    pub(super) fn change(&mut self, setting: &str, value: &str) {
        self.0.change = Some(Change { setting: setting.to_owned(), value: value.to_owned() });
    }

    /// Ends with an answer.
    pub(super) fn answer(
        mut self,
        rule: &'static str,
        reason: impl Into<Cow<'static, str>>,
    ) -> Judged {
        self.note(rule, StepOutcome::Answer, reason);
        self.0.decision = Decision::Answer;
        Judged::Answer(self.0)
    }

    /// Ends without an answer; `change` would let the message through.
    pub(super) fn skip(
        mut self,
        rule: &'static str,
        reason: impl Into<Cow<'static, str>>,
        change: Option<(&str, &str)>,
    ) -> Judged {
        self.note(rule, StepOutcome::Skip, reason);
        if let Some((setting, value)) = change {
            self.change(setting, value);
        }
        self.0.decision = Decision::Skip;
        Judged::Skip(self.0)
    }
}

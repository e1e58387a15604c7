//! How a verdict is stored: its usual steps as numbers, which a reader turns into words again. Most
//! verdicts consist of such steps; written out they were the longest text of a message's row.

use galatea_core::{
    Result,
    StepOutcome::{self, Answer, Note, Pass},
    Verdict,
    redact::Redactor,
    verdict::{Change, Decision, Step},
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use crate::convert::{from_json, to_json};

/// Steps that are stored as their place in this list. Stored rows refer to the places, so a step is
/// only ever added at the end, and none is changed. A step whose words are changed elsewhere in the
/// program is stored in full until its new words are added here.
const USUAL: &[(&str, StepOutcome, &str)] = &[
    ("own-message", Pass, "another person wrote it"),
    ("allowed-rooms", Pass, "every room is allowed"),
    ("allowed-rooms", Pass, "this room is allowed"),
    ("muted", Pass, "this room is not muted"),
    ("dm-policy", Answer, "direct messages are open to everybody"),
    ("dm-policy", Answer, "the sender is on the allowlist"),
    ("dm-policy", Answer, "the owner approved the sender"),
    ("mention", Answer, "it mentions the agent"),
    ("mention", Pass, "it does not mention the agent"),
    ("mention", Pass, "mentions are not looked at"),
    ("reply", Answer, "it replies to the agent"),
    ("reply", Pass, "it does not reply to the agent"),
    ("reply", Pass, "replies are not looked at"),
    ("name", Answer, "it calls the agent by name"),
    ("name", Pass, "it contains the agent's name without addressing it"),
    ("name", Pass, "it does not call the agent by name"),
    ("name", Pass, "names are not looked at"),
    ("followed", Answer, "the agent follows this room"),
    ("group-policy", Answer, "every message in groups is answered"),
    ("group-policy", StepOutcome::Skip, "the message does not address the agent"),
    ("always-respond", Answer, "rooms of this type always get an answer"),
    ("always-respond", Answer, "this platform always gets an answer"),
    ("model", Note, "answered as tool calls"),
    ("model", Note, "answered as JSON"),
    ("model", Note, "answered as XML"),
    ("model", Note, "answered as plain text"),
    ("dm-policy", Answer, "direct messages are open to everyone"),
];

/// A verdict as it is stored. Its other keys are those of [`Verdict`].
#[derive(Serialize, Deserialize)]
struct Stored<'a> {
    decision: Decision,
    steps: Vec<StoredStep<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    change: Option<Cow<'a, Change>>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredStep<'a> {
    /// Place in [`USUAL`].
    Usual(usize),
    Other(Cow<'a, Step>),
}

/// The verdict with secrets masked in the reasons that were made at run time.
pub(crate) fn cleaned(verdict: &Verdict, redactor: &Redactor) -> Verdict {
    let mut verdict = verdict.clone();
    for step in &mut verdict.steps {
        if let Cow::Owned(reason) = &step.reason
            && let Cow::Owned(clean) = redactor.clean_error(reason)
        {
            step.reason = Cow::Owned(clean);
        }
    }
    verdict
}

/// The text that a verdict is stored as.
pub(crate) fn encode(verdict: &Verdict) -> Result<String> {
    let step = |step| match place(step) {
        Some(place) => StoredStep::Usual(place),
        None => StoredStep::Other(Cow::Borrowed(step)),
    };
    to_json(&Stored {
        decision: verdict.decision,
        steps: verdict.steps.iter().map(step).collect(),
        change: verdict.change.as_ref().map(Cow::Borrowed),
    })
}

/// Reads a stored verdict, also one whose steps are all written out, as versions before this one
/// stored them.
///
/// # Errors
/// `Unreadable` for any other text.
pub(crate) fn decode(text: &str) -> Result<Verdict> {
    let Stored { decision, steps, change } = from_json("verdict", text)?;
    let steps = steps.into_iter().map(|step| match step {
        StoredStep::Usual(place) => usual(place),
        StoredStep::Other(step) => step.into_owned(),
    });
    Ok(Verdict { decision, steps: steps.collect(), change: change.map(Cow::into_owned) })
}

fn place(step: &Step) -> Option<usize> {
    USUAL.iter().position(|(rule, outcome, reason)| {
        step.outcome == *outcome && step.rule == *rule && step.reason == *reason
    })
}

/// A step of a newer version is not known here; the others stay readable.
fn usual(place: usize) -> Step {
    let (rule, outcome, reason) = USUAL.get(place).copied().unwrap_or((
        "unknown",
        StepOutcome::Other,
        "a step that a newer version of the program stored",
    ));
    Step { rule: rule.into(), outcome, reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn verdict(steps: &[(&'static str, StepOutcome, &'static str)]) -> Verdict {
        let mut verdict = Verdict { decision: Decision::Answer, ..Verdict::default() };
        for (rule, outcome, reason) in steps {
            verdict.step(*rule, *outcome, *reason);
        }
        verdict
    }

    #[test]
    fn usual_steps_are_numbers_and_read_back_as_words() {
        let mut all = verdict(USUAL);
        all.step("model", Note, "answered as XML, mended: cut off inside a tag");
        all.change = Some(Change { setting: "TELEGRAM_DM_POLICY".into(), value: "open".into() });
        let stored = encode(&all).unwrap();
        assert!(stored.starts_with(r#"{"decision":"answer","steps":[0,1,2,3,"#), "{stored}");
        assert_eq!(decode(&stored).unwrap(), all);
        assert_eq!(USUAL.iter().collect::<HashSet<_>>().len(), USUAL.len(), "each stands once");
    }

    #[test]
    fn rows_of_other_versions_are_read() {
        let full = verdict(&[("muted", Pass, "this room is not muted"), ("x", Note, "y")]);
        assert_eq!(decode(&serde_json::to_string(&full).unwrap()).unwrap(), full);
        let newer = decode(r#"{"decision":"skip","steps":[3,9999]}"#).unwrap();
        assert_eq!(newer.steps[0].reason, "this room is not muted");
        assert_eq!(newer.steps[1].outcome, StepOutcome::Other);
        assert!(decode(r#"{"decision":"skip","steps":["words"]}"#).is_err());
    }

    /// The list is part of the database: a place that changes its meaning would falsify old rows.
    #[test]
    fn places_keep_their_meaning() {
        let places = [(0, "own-message"), (6, "dm-policy"), (19, "group-policy"), (25, "model")];
        assert_eq!(places.map(|(place, _)| USUAL[place].0), places.map(|(_, rule)| rule));
        assert_eq!(USUAL[6].2, "the owner approved the sender");
        assert_eq!(USUAL[19].2, "the message does not address the agent");
        assert_eq!(USUAL[25].2, "answered as plain text");
        assert_eq!(USUAL[26].2, "direct messages are open to everyone");
    }
}

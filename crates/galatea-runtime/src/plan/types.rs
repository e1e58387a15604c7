//! The plan, and how it was read.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::names;

/// Bytes of an answer that are read; the rest is cut off. Far beyond any model's output limit (64k
/// tokens are about 256 kB), so only hostile input meets it.
pub const MAX_ANSWER: usize = 1 << 20;
/// Actions one plan may take; more are dropped.
pub const MAX_ACTIONS: usize = 16;
/// Providers one plan may ask for; more are dropped.
pub const MAX_PROVIDERS: usize = 32;

/// The model's decision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Its reasoning; never shown to the chat.
    pub thought: Option<String>,
    /// Its words for this place, as Markdown, trimmed, without any markup of the envelope.
    ///
    /// A `REPLY` among the actions carries the same words in `params.text`: say it once, through
    /// `REPLY` when there is one, else directly.
    pub text: String,
    /// Actions in order, with the names of known ones. Never empty when there is text: words
    /// alone are a `REPLY`, and so is `NONE` with words.
    pub actions: Vec<PlannedAction>,
    /// Providers it asks for before it can answer, as it wrote them.
    pub providers: Vec<String>,
}

impl Plan {
    /// True if it says something, does something, or chooses to be silent; one that only names
    /// providers does nothing of that.
    pub(crate) fn does_something(&self) -> bool {
        !self.text.is_empty() || self.actions.iter().any(|action| action.name != names::REPLY)
    }
}

impl Plan {
    /// True if it calls something besides words and silence.
    pub(crate) fn acts(&self) -> bool {
        let words = [names::REPLY, names::IGNORE, names::NONE];
        self.actions.iter().any(|action| !words.contains(&action.name.as_str()))
    }
}

/// An action with its arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedAction {
    /// Name of a known action.
    pub name: String,
    /// A JSON object; scalars are brought to the types the action's schema asks for.
    pub params: Value,
}

/// A [`Plan`] and how it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parsed {
    /// The words and actions of the model.
    pub plan: Plan,
    /// The format in which the model wrote it.
    pub format: PlanFormat,
    /// Mended faults, for `explain`; empty for a flawless answer.
    pub repairs: Vec<&'static str>,
    /// Names of called tools that do not exist.
    pub unknown: Vec<String>,
    /// False when there is nothing to do or say in it: ask the model again.
    pub usable: bool,
}

impl Parsed {
    /// An answer of these words.
    pub(crate) fn words(text: &str) -> Self {
        let params = serde_json::json!({ "text": text });
        let reply = PlannedAction { name: names::REPLY.to_owned(), params };
        let plan = Plan { text: text.to_owned(), actions: vec![reply], ..Plan::default() };
        Self { plan, usable: true, ..Self::default() }
    }

    /// True if the model called a tool in its words, as one that cannot call tools does.
    pub(crate) fn calls_in_text(&self) -> bool {
        self.repairs.contains(&CALL_AS_TEXT)
    }

    /// Replaces what is said.
    pub(crate) fn say(&mut self, text: String) {
        for action in &mut self.plan.actions {
            let said = action.params.get_mut("text");
            if let Some(said) = said.filter(|said| said.as_str() == Some(&self.plan.text)) {
                *said = text.clone().into();
            }
        }
        self.plan.text = text;
    }
}

/// The form of answer that a prompt asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerForm {
    /// A plan in XML or JSON, as the template of a character does. Plans are looked for anywhere in
    /// the answer, and mended.
    Envelope,
    /// Words, or one JSON object that is a plan: actions are described in the prompt.
    JsonOrWords,
    /// Words. Actions are tools of the provider's own format.
    Words,
}

/// The format in which the model wrote its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanFormat {
    /// Tool calls of the provider's own format.
    ToolCalls,
    /// A JSON object in the text.
    Json,
    /// Elements as elizaOS asks for them.
    Xml,
    /// A text without any structure.
    #[default]
    Plain,
}

/// The note of an answer that called a tool in its words.
pub(super) const CALL_AS_TEXT: &str = "tool call written as text taken out";

/// The note of reasoning in an answer.
pub(super) const REASONING: &str = "reasoning kept from the chat";
/// The note of words beside a plan.
pub(super) const WORDS_AROUND: &str = "words around the plan left out";
/// The note of tags that were cut off or not closed.
pub(super) const TORN_MARKUP: &str = "torn markup mended";

/// Notes of what was mended, each once.
#[derive(Debug, Default)]
pub(super) struct Repairs(pub(super) Vec<&'static str>);

impl Repairs {
    pub(super) fn note(&mut self, what: &'static str) {
        if !self.0.contains(&what) {
            self.0.push(what);
        }
    }

    pub(super) fn extend(&mut self, others: Self) {
        others.0.into_iter().for_each(|what| self.note(what));
    }
}

//! State and Fragment: the composed context of a turn, and one provider's part of it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

use crate::rights::Authorship;

/// A provider's part of the [`State`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Fragment {
    /// Rendered for the prompt.
    pub text: String,
    /// Values for templates, by elizaOS names (`recentMessages`, `agentName`, …). Shared, since those
    /// of the character are the same in all turns of a day.
    pub values: Arc<Map<String, Value>>,
    /// Structured data for actions and evaluators.
    pub data: Map<String, Value>,
    /// Authors of its words: [`Authorship::Own`] if [`crate::Provider::authorship`] says so of all
    /// its text, or if the provider has looked at what this text holds.
    #[serde(skip)]
    pub authorship: Authorship,
    /// True if the text may stand among the instructions: only the operator wrote it. Set by
    /// the runtime from [`crate::Provider::authorship`].
    #[serde(skip)]
    pub instructs: bool,
    /// True if the text is the same in every turn of a day; set by the runtime from
    /// [`crate::Provider::lasting`].
    #[serde(skip)]
    pub lasting: bool,
    /// Notes of its making for `explain`; no message text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Fragment {
    /// A fragment with a text and no values.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
    /// With something that `explain` tells.
    #[must_use]
    pub fn noted(mut self, note: Option<String>) -> Self {
        self.notes.extend(note);
        self
    }
    /// With a template value.
    #[must_use]
    pub fn value(mut self, key: &str, value: impl Into<Value>) -> Self {
        Arc::make_mut(&mut self.values).insert(key.to_owned(), value.into());
        self
    }
}

/// The composed context of a turn.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// Fragments by provider name, in prompt order.
    pub fragments: Vec<(String, Fragment)>,
    /// Providers left out, with the reason.
    pub left_out: Vec<(String, String)>,
}

impl State {
    /// Contribution of a provider; none if it was left out.
    pub fn fragment(&self, provider: &str) -> Option<&Fragment> {
        self.fragments.iter().find(|(name, _)| name == provider).map(|(_, f)| f)
    }

    /// A template value; the first provider that has it wins.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.fragments.iter().find_map(|(_, f)| f.values.get(key))
    }
}

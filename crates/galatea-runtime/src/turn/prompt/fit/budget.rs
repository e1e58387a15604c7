//! Budget of tokens for one prompt, in the model's own count.

use galatea_core::{
    model::ChatMessage,
    tokens::{Family, Scale},
};

/// Budget of a prompt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PromptBudget {
    /// Counting of the model.
    pub(crate) family: Family,
    /// Ratio of its counts to the estimate.
    pub(crate) scale: Scale,
    /// Tokens of the whole request; none when nothing is known.
    pub(crate) tokens: Option<u64>,
}

impl PromptBudget {
    /// Tokens of a text.
    pub(super) fn of(self, text: &str) -> u64 {
        self.scale.apply(self.family.text(text))
    }

    /// Tokens of a message with its frame.
    pub(super) fn message(self, message: &ChatMessage) -> u64 {
        self.scale.apply(self.family.message(message))
    }
}

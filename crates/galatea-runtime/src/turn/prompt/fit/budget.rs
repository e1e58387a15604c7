//! Budget of tokens for one prompt, in the model's own count.

use galatea_core::{
    model::ChatMessage,
    tokens::{Family, Scale},
};

/// What a prompt may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PromptBudget {
    /// How the model counts.
    pub(crate) family: Family,
    /// How its counts compare to the estimate.
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

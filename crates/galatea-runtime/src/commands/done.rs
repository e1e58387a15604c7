//! What a command answers and changes.

use galatea_core::{Address, Content, store::RequestedChange};

/// What a command says and changes.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) reply: Content,
    /// What is said in other Rooms.
    pub(crate) notices: Vec<(Address, Content)>,
    pub(crate) effects: Vec<RequestedChange>,
}

pub(super) fn say(text: impl Into<String>) -> Done {
    Done { reply: Content::text(text), ..Done::default() }
}

//! Answer and changes of a command.

use galatea_core::{Address, Content, store::RequestedChange};

/// Answer and changes of a command.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) reply: Content,
    /// Messages for other Rooms.
    pub(crate) notices: Vec<(Address, Content)>,
    pub(crate) effects: Vec<RequestedChange>,
}

pub(super) fn say(text: impl Into<String>) -> Done {
    Done { reply: Content::text(text), ..Done::default() }
}

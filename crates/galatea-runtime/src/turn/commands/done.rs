//! What a command answers and changes.

use galatea_core::{Address, Content, store::RequestedChange};

use crate::turn::outcome::Outcome;

/// What a command says and changes.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) reply: Content,
    /// What is said in other Rooms.
    pub(crate) notices: Vec<(Address, Content)>,
    pub(crate) effects: Vec<RequestedChange>,
}

impl From<Done> for Outcome {
    fn from(done: Done) -> Self {
        let Done { reply, notices, effects } = done;
        Self { replies: vec![reply], notices, effects, ..Self::default() }
    }
}

pub(super) fn say(text: impl Into<String>) -> Done {
    Done { reply: Content::text(text), ..Done::default() }
}

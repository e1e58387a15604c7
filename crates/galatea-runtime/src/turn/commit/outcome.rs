//! Outcome of a turn, before it is committed.

use galatea_core::{ActionResult, Address, Content, store::RequestedChange};

use super::held::Continuation;
use crate::commands::Done;

/// Outcome of a turn, before it is committed.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Messages for this Room, in order.
    pub(crate) replies: Vec<Content>,
    /// The rest of earlier answers, to be gone on with.
    pub(crate) resumed: Vec<(Content, Continuation)>,
    /// Messages for other Rooms.
    pub(crate) elsewhere: Vec<(Address, Content)>,
    /// Notices elsewhere, which are not remembered.
    pub(crate) notices: Vec<(Address, Content)>,
    /// Changes that are committed with the answer.
    pub(crate) effects: Vec<RequestedChange>,
    pub(crate) results: Vec<ActionResult>,
    /// The model's reasoning, stored with the first reply.
    pub(crate) thought: Option<String>,
    /// Replies are worth remembering (notices are not).
    pub(crate) remember: bool,
    /// Other people's words were before the model: what it says may be theirs.
    pub(crate) others_words: bool,
    /// The reply is a failure notice; the Room gets at most one per interval.
    pub(crate) notice: bool,
}

impl From<Done> for Outcome {
    fn from(done: Done) -> Self {
        let Done { reply, notices, effects } = done;
        Self { replies: vec![reply], notices, effects, ..Self::default() }
    }
}

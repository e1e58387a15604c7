//! Short texts that say why there is no answer.

use galatea_core::{Content, Outgoing, StepOutcome, Timestamp, Verdict};

use super::context::TurnContext;
use crate::turn::{commit::outcome::Outcome, state::notices::Notices};

/// Text for a room when no answer could be made, and the fault is ours.
pub(super) const BROKEN: &str =
    "Sorry, something went wrong here, and I could not answer. Please try again in a few minutes.";

/// The notice for a refused person. A connector leaves it out for unasked posts and where a notice
/// costs money.
pub(super) fn limit_notice(text: String) -> Content {
    let mut notice = Content::text(text);
    notice.extra.insert("notice".into(), true.into());
    notice
}

/// A notice, once per room and ten minutes.
pub(super) fn notice(
    notices: &Notices,
    now: Timestamp,
    context: &TurnContext,
    verdict: &mut Verdict,
    text: Option<&str>,
) -> Outcome {
    let room = context.info.room.id;
    let mut outcome = Outcome::default();
    if let Some(text) = text.filter(|_| !context.ask && notices.is_due(room, now)) {
        outcome.notice = true;
        let mut notice = Content::text(text);
        // A connector leaves it out for unasked posts, such as scheduled ones, and where it would
        // be public.
        notice.extra.insert("notice".into(), true.into());
        let asked = context.message.entry.remote.clone();
        if context
            .route
            .handler
            .encode(&Outgoing::Message { content: notice.clone(), reply_to: Some(asked) })
            .is_ok_and(|parts| parts.is_empty())
        {
            verdict.step("notice", StepOutcome::Note, "this platform gets no failure notices");
            return outcome;
        }
        outcome.replies.push(notice);
        verdict.step("notice", StepOutcome::Note, "a notice was sent to the room");
    }
    outcome
}

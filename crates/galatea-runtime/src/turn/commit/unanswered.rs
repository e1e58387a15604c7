//! Ends the sign that an answer is coming for messages that get none.

use galatea_core::{Address, Decision, RemoteId, StepOutcome, Verdict, store::InboxEntry};
use std::sync::Arc;

use super::held;
use crate::{
    outbox::Route,
    turn::{act::pending::answer, engine::Engine},
};

/// A message for which the platform shows that an answer is coming, and none is.
pub(crate) struct Unanswered {
    route: Arc<Route>,
    address: Address,
    message: RemoteId,
    why: String,
    /// It is a press that was carried out: its buttons are used up.
    used: bool,
}

impl Unanswered {
    pub(crate) fn of(engine: &Engine, entry: &InboxEntry, verdict: &Verdict) -> Option<Self> {
        let InboxEntry { source, account, room_remote, remote, memory, .. } = entry;
        let route = engine
            .outbox
            .routes
            .any(source, account)
            .filter(|route| route.handler.awaits(remote))?;
        let address = Address {
            source: source.clone(),
            account: account.clone(),
            room: memory.room_id,
            remote: room_remote.clone(),
        };
        let why = match verdict.decision {
            Decision::Merged => "I answer this together with what was said after it.".to_owned(),
            Decision::Expired => "I came to this too late to answer it.".to_owned(),
            Decision::Failed => {
                "Something went wrong here, and I could not answer this.".to_owned()
            }
            Decision::Answer | Decision::Command | Decision::Skip => {
                let reason = verdict
                    .steps
                    .iter()
                    .rev()
                    .find(|step| step.outcome == StepOutcome::Skip)
                    .map_or("there is nothing to say", |step| &step.reason);
                format!("I do not answer this: {reason}.")
            }
        };
        // A button of the agent's own questions and long answers is pressed once. Buttons of
        // plugins in groups may be for several people.
        let pressed = entry.envelope.pressed.as_deref();
        let carried_out = matches!(verdict.decision, Decision::Answer | Decision::Command)
            && verdict.steps.iter().all(|step| step.outcome != StepOutcome::Skip);
        let once =
            pressed.is_some_and(|data| held::pressed(data).is_some() || answer(data).is_some());
        if pressed.is_some() && carried_out && !once {
            return None;
        }
        Some(Self { route, address, message: remote.clone(), why, used: once && carried_out })
    }

    pub(crate) fn report(self, engine: &Engine) {
        engine.background.until_halt(async move {
            let Self { route, address, message, why, used } = self;
            if used {
                if let Err(error) = route.stack.used(&address, &message).await {
                    tracing::info!(source = %address.source, room = %address.room, message_id = %message, error = %error.report(), "failed to mark a button as used; it can be pressed again, which does nothing");
                }
                return;
            }
            if let Err(error) = route.stack.unanswered(&address, &message, &why).await {
                tracing::info!(source = %address.source, room = %address.room, message_id = %message, error = %error.report(), "failed to end the sign that an answer is coming; it stays until the platform ends it");
            }
        });
    }
}

impl Engine {
    /// Ends the sign that an answer is coming for a message that another process has finished.
    pub(crate) fn report_unanswered(&self, entry: &InboxEntry, verdict: &Verdict) {
        if let Some(unanswered) = Unanswered::of(self, entry, verdict) {
            unanswered.report(self);
        }
    }
}

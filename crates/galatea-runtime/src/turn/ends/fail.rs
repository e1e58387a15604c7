//! Finishes a turn that cannot be committed at all as failed.

use futures::FutureExt;
use galatea_core::{Decision, Error, ErrorKind, Result, StepOutcome, Verdict};
use std::panic::AssertUnwindSafe;

use crate::{
    budget::Budget,
    turn::{
        commit::{commit, finish_unanswered},
        context::{TurnContext, TurnPlace},
        engine::Engine,
        message::{Claimed, Waiting},
        notice::{BROKEN, notice},
    },
};

impl Engine {
    /// Finishes messages whose turn cannot be committed (the connector cannot encode the answer,
    /// the turn crashed), and says so in their Room.
    ///
    /// # Errors
    /// `Unavailable` while the store is away.
    pub(crate) async fn fail(&self, taken: &[Claimed], error: &Error) -> Result<()> {
        let Some(last) = taken.last() else { return Ok(()) };
        let room = last.entry.memory.room_id;
        tracing::error!(room = %room, message_id = %last.entry.memory.id, code = error.code(), error = %error.report(), "a turn failed; its messages are finished without an answer");
        self.state.failures.failed(error);
        let mut verdict = Verdict { decision: Decision::Failed, ..Verdict::default() };
        verdict.step("turn", StepOutcome::Failed, error.to_string());
        let finished = |verdict: &Verdict| -> Vec<(Waiting, Verdict)> {
            taken.iter().map(|taken| (taken.message.clone(), verdict.clone())).collect()
        };
        let (source, account) = (&last.entry.source, &last.entry.account);
        let place = match TurnPlace::of(self, last).await {
            Ok(place) => place,
            Err(_) if self.outbox.routes.ready(source, account).is_none() => None,
            Err(error) => return Err(error),
        };
        if let Some(place) = place {
            let person = last.entry.memory.entity_id;
            let visit = Budget::bystander(&place.policy, &place.info, person);
            let message = last.message.clone();
            let context = TurnContext::new(self, &place, message, verdict.clone(), visit);
            let mut noted = verdict.clone();
            let outcome =
                notice(&self.state.notices, self.clock.now(), &context, &mut noted, Some(BROKEN));
            let committed = AssertUnwindSafe(commit(self, &context, outcome, finished(&noted)))
                .catch_unwind()
                .await;
            match committed {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(error)) if error.kind() == ErrorKind::Unavailable => return Err(error),
                // The notice cannot be said either.
                Ok(Err(_)) | Err(_) => {}
            }
        }
        finish_unanswered(self, room, finished(&verdict), Vec::new()).await
    }
}

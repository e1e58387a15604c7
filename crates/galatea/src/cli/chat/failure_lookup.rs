//! Finds out why a message gets no answer, from the database of the running process.

use galatea_core::{
    Decision, Error, ErrorKind, MemoryId, Settings, StepOutcome, Store, store::InboxState,
};
use std::{sync::Arc, time::Duration};

use super::exchange::FailureLookup;
use galatea_host::{
    report::Trouble,
    storage::{data_dir::DataDir, database},
};

/// Interval of the checks. Answers arrive on their own; this only has to be faster than a person's
/// patience.
const PAUSE: Duration = Duration::from_millis(500);

/// Reads the message's row in the inbox. Without a store it finds nothing.
pub(crate) struct Verdicts(pub(crate) Option<Arc<dyn Store>>);

impl FailureLookup for Verdicts {
    async fn failure(&self, memory: MemoryId) -> Option<Error> {
        let item = self.0.as_ref()?.inbox_item(memory).await.ok()??;
        let verdict = item.verdict.filter(|verdict| verdict.decision == Decision::Failed)?;
        let step = verdict.steps.iter().rfind(|step| step.outcome == StepOutcome::Failed)?;
        let trouble = Trouble::of_text(&step.reason);
        let mut error = Error::new(
            ErrorKind::Unavailable,
            format!("the agent could not answer: {}", trouble.message),
        )
        .with_code("GAL-CHAT-FAILED");
        for (key, value) in [("cause", trouble.cause), ("where", trouble.origin)] {
            if let Some(value) = value {
                error = error.with(key, value);
            }
        }
        Some(
            error.with_fix(format!(
                "`galatea doctor` shows what to do; more: galatea explain {memory}"
            )),
        )
    }

    async fn reason(&self, memory: Option<MemoryId>) -> Error {
        let (Some(store), Some(memory)) = (&self.0, memory) else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(PAUSE).await;
            // A read error may be temporary, and the caller's deadline ends the loop.
            let Ok(Some(item)) = store.inbox_item(memory).await else { continue };
            let (Some(turn), Some(verdict)) = (item.turn, item.verdict) else { continue };
            // Parts in the outbox will still arrive.
            if item.state == InboxState::New
                || !store.deliveries_of(turn).await.is_ok_and(|parts| parts.is_empty())
            {
                continue;
            }
            let why = verdict
                .steps
                .last()
                .map_or_else(|| "no reason was noted".to_owned(), |step| step.reason.to_string());
            let message = match verdict.decision {
                Decision::Expired => "the message was too old when its turn came",
                Decision::Failed => "the answer failed and was given up",
                Decision::Skip => "the agent stays silent",
                Decision::Answer | Decision::Merged | Decision::Command => {
                    "the agent handled the message without saying anything"
                }
            };
            let error = Error::not_found(message).with_code("GAL-CHAT-SILENT").with("cause", why);
            return match verdict.change {
                Some(change) => error.with_fix(format!(
                    "set {}={}; more: galatea explain {memory}",
                    change.setting, change.value
                )),
                None => error.with_fix(format!("galatea explain {memory}")),
            };
        }
    }
}

/// Opens the running process's database. `None` if that fails, and then no reason can be shown.
pub(crate) async fn beside(settings: &Settings, data_dir: &DataDir) -> Option<Arc<dyn Store>> {
    match database::open_beside(settings, data_dir).await {
        Ok(database) => Some(database.store()),
        Err(error) => {
            tracing::debug!(error = %error.report(), "no reasons for missing answers: database not opened");
            None
        }
    }
}

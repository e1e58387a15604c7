//! Records what actions with an effect of their own have done in this turn, also when an earlier
//! run of it ended in a crash.

use galatea_core::{
    ActionResult, Error, MemoryId, Result, Store, Turn, kill_point, store::JournalStep,
};
use sha2::{Digest, Sha256};

use crate::plan::PlannedAction;

/// The steps of one turn.
pub(crate) struct Journal<'a> {
    store: &'a dyn Store,
    /// The first message it answers, which is the same in every run.
    message: MemoryId,
    /// Steps of earlier runs; read once, before the first such action.
    left: Option<Vec<JournalStep>>,
    next: u32,
}

/// Entry of the journal for an action that is about to run.
pub(crate) enum Recorded {
    /// An earlier run has done it, and this came of it.
    Done(Box<ActionResult>),
    /// An earlier run began it and did not get to its result: whether it was done is unknown.
    Begun,
    /// Nothing: to be done, and ended with this.
    New(JournalStep),
}

impl<'a> Journal<'a> {
    pub(crate) fn of(store: &'a dyn Store, turn: &Turn<'_>) -> Self {
        Self {
            store,
            message: turn.merged.first().map_or(turn.message.id, |first| first.id),
            left: None,
            next: 0,
        }
    }

    /// Entry of this action; new ones are noted down as begun.
    pub(crate) async fn begin(
        &mut self,
        turn: &Turn<'_>,
        plugin: &str,
        planned: &PlannedAction,
    ) -> Result<Recorded> {
        let left = match self.left.take() {
            Some(left) => left,
            None => {
                let left = self.store.steps(self.message).await?;
                self.next = left.iter().map(|step| step.n + 1).max().unwrap_or(0);
                left
            }
        };
        let input = hash(planned)?;
        let action = format!("{plugin}/{}", planned.name);
        let left = self.left.insert(left);
        // A call that stands twice in one plan is two steps, so each of an earlier run stands for
        // one of this.
        if let Some(at) = left.iter().position(|step| step.action == action && step.input == input)
        {
            let step = left.remove(at);
            tracing::info!(turn = %turn.id, action = planned.name, done = step.output.is_some(), "an earlier run of this turn has begun this action; it is not run twice");
            let result = step.output.and_then(|output| serde_json::from_value(output).ok());
            return Ok(result.map_or(Recorded::Begun, |result| Recorded::Done(Box::new(result))));
        }
        let step = JournalStep {
            message: self.message,
            n: self.next,
            action,
            input,
            output: None,
            begun_at: turn.now(),
        };
        self.store.save_step(&step).await?;
        kill_point("action.begun");
        self.next += 1;
        Ok(Recorded::New(step))
    }

    /// Notes down what came of it. Failing to costs only that a crash before the commit leaves it
    /// with an unknown outcome.
    pub(crate) async fn end(&mut self, turn: &Turn<'_>, step: JournalStep, result: &ActionResult) {
        kill_point("action.done");
        let kept = match serde_json::to_value(result) {
            Ok(output) => self.store.save_step(&JournalStep { output: Some(output), ..step }).await,
            Err(error) => {
                Err(Error::unexpected("an action's result cannot be stored").with_source(error))
            }
        };
        if let Err(error) = kept {
            tracing::warn!(turn = %turn.id, error = %error.report(), "failed to store the result of an action; a crash before the commit leaves its outcome unknown");
        }
        kill_point("action.noted");
    }
}

/// Of the arguments as the model wrote them. They may hold what people said, so only the hash is
/// stored.
fn hash(planned: &PlannedAction) -> Result<String> {
    let text = serde_json::to_string(&planned.params)
        .map_err(|e| Error::unexpected("the arguments are not valid JSON").with_source(e))?;
    Ok(Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect())
}

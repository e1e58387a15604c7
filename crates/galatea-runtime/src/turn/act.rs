//! Act: the plan's actions in order → results and drafts. One that fails is a result, not a crash. What has an effect of its own is journaled,
//! so that a turn that is run again after a crash does not do it twice.

use futures::FutureExt;
use galatea_core::{ActionResult, AnyAction, Event, Timestamp, Turn};
use std::{panic::AssertUnwindSafe, time::Duration};

use super::journal::{Journal, Known};
use crate::{leases::Tenure, plan::PlannedAction, registry::Registry};

/// Longest time of one action.
const DEADLINE: Duration = Duration::from_secs(30);
/// Actions of one plan; more is a model gone wild.
const MOST: usize = 10;

/// How long actions may be begun.
pub(crate) struct Term<'a> {
    /// Until then at most.
    pub(crate) until: Timestamp,
    /// As long as the Room is this process's: another one would do them, too.
    pub(crate) tenure: &'a Tenure,
}

/// elizaOS `processActions`: runs these. What was done and said before counts, however long the next one takes.
pub(crate) async fn process_actions(turn: &Turn<'_>, registry: &Registry, planned: &[PlannedAction], term: &Term<'_>) -> Vec<ActionResult> {
    let mut results: Vec<ActionResult> = Vec::new();
    let mut journal = Journal::of(turn);
    for action in planned.iter().take(MOST) {
        turn.events.publish(Event::ActionStarted { agent: turn.agent.identity.id(), turn: turn.id, action: action.name.clone() });
        let mut result = run(turn, registry, action, &results, &mut journal, term).await;
        result.action.clone_from(&action.name);
        if !result.success {
            // A failed action must not speak or change anything.
            result.drafts.clear();
            result.elsewhere.clear();
            result.effects.clear();
            tracing::warn!(turn = %turn.id, action = action.name, "an action failed");
        }
        turn.events.publish(Event::ActionCompleted { agent: turn.agent.identity.id(), turn: turn.id, action: action.name.clone(), success: result.success });
        results.push(result);
    }
    results
}

async fn run(turn: &Turn<'_>, registry: &Registry, planned: &PlannedAction, earlier: &[ActionResult], journal: &mut Journal, term: &Term<'_>) -> ActionResult {
    // Only what was offered: validate has passed for everything in the catalog.
    let offered = turn.catalog.actions.iter().any(|docs| docs.name == planned.name);
    let Some(action) = registry.action(&planned.name).filter(|_| offered) else {
        return ActionResult::failed(format!("{} is not available here", planned.name));
    };
    let time = term.until.since(turn.now()).min(DEADLINE);
    if !term.tenure.is_held() {
        return ActionResult::failed(format!("{} was not done: another process has the room now", planned.name));
    }
    if time.is_zero() {
        return ActionResult::failed(format!("there was no time left for {}", planned.name));
    }
    let begun = if action.has_side_effect() {
        match journal.begin(turn, planned).await {
            Ok(Known::Done(result)) => return *result,
            Ok(Known::Perhaps) => return ActionResult::failed(format!("{} was begun before and may have been done; it is not done twice", planned.name)),
            Ok(Known::New(step)) => Some(step),
            Err(error) => {
                tracing::warn!(turn = %turn.id, action = planned.name, error = %error.report(), "an action could not be journaled and is not done");
                return ActionResult::failed(format!("{} could not be noted down, so it was not done", planned.name));
            }
        }
    } else {
        None
    };
    let result = perform(turn, action.as_ref(), planned, earlier, time).await;
    if let Some(step) = begun {
        journal.end(turn, step, &result).await;
    }
    result
}

async fn perform(turn: &Turn<'_>, action: &dyn AnyAction, planned: &PlannedAction, earlier: &[ActionResult], time: Duration) -> ActionResult {
    let work = AssertUnwindSafe(action.run(turn, planned.params.clone(), earlier)).catch_unwind();
    match tokio::time::timeout(time, work).await {
        Ok(Ok(Ok(result))) => result,
        Ok(Ok(Err(error))) => {
            tracing::warn!(turn = %turn.id, action = planned.name, error = %error.report(), "an action returned an error");
            ActionResult::failed(error.to_string())
        }
        Ok(Err(_)) => ActionResult::failed(format!("{} crashed", planned.name)),
        Err(_) => ActionResult::failed(format!("{} took longer than {:.0} s", planned.name, time.as_secs_f32())),
    }
}

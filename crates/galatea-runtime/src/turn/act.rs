//! Act: the plan's actions in order → results and drafts. One that fails is a result, not a crash. What has an effect of its own is journaled,
//! so that a turn that is run again after a crash does not do it twice.

use futures::FutureExt;
use galatea_core::{ActionResult, AnyAction, Event, Turn};
use std::{panic::AssertUnwindSafe, time::Duration};

use super::journal::{Journal, Known};
use crate::{plan::PlannedAction, registry::Registry};

/// Longest time of one action.
const DEADLINE: Duration = Duration::from_secs(30);
/// Actions of one plan; more is a model gone wild.
const MOST: usize = 10;

/// elizaOS `processActions`: runs these.
pub(crate) async fn process_actions(turn: &Turn<'_>, registry: &Registry, planned: &[PlannedAction]) -> Vec<ActionResult> {
    let mut results: Vec<ActionResult> = Vec::new();
    let mut journal = Journal::of(turn);
    for action in planned.iter().take(MOST) {
        turn.events.publish(Event::ActionStarted { agent: turn.agent.identity.id(), turn: turn.id, action: action.name.clone() });
        let mut result = run(turn, registry, action, &results, &mut journal).await;
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

async fn run(turn: &Turn<'_>, registry: &Registry, planned: &PlannedAction, earlier: &[ActionResult], journal: &mut Journal) -> ActionResult {
    // Only what was offered: validate has passed for everything in the catalog.
    let offered = turn.catalog.actions.iter().any(|docs| docs.name == planned.name);
    let Some(action) = registry.action(&planned.name).filter(|_| offered) else {
        return ActionResult::failed(format!("{} is not available here", planned.name));
    };
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
    let result = perform(turn, action.as_ref(), planned, earlier).await;
    if let Some(step) = begun {
        journal.end(turn, step, &result).await;
    }
    result
}

async fn perform(turn: &Turn<'_>, action: &dyn AnyAction, planned: &PlannedAction, earlier: &[ActionResult]) -> ActionResult {
    let work = AssertUnwindSafe(action.run(turn, planned.params.clone(), earlier)).catch_unwind();
    match tokio::time::timeout(DEADLINE, work).await {
        Ok(Ok(Ok(result))) => result,
        Ok(Ok(Err(error))) => {
            tracing::warn!(turn = %turn.id, action = planned.name, error = %error.report(), "an action returned an error");
            ActionResult::failed(error.to_string())
        }
        Ok(Err(_)) => ActionResult::failed(format!("{} crashed", planned.name)),
        Err(_) => ActionResult::failed(format!("{} took longer than {} s", planned.name, DEADLINE.as_secs())),
    }
}

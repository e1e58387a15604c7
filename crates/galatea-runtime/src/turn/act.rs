//! Runs the plan's actions in order, and returns results and drafts. One that fails is a result,
//! not a crash. What has an effect of its own is journaled, so that a turn that is run again after
//! a crash does not do it twice. What an action may do is checked here, by its declared scope
//! before it runs and by what it returns afterwards; nothing a model writes gets past this step.

mod attribution;
mod check;
pub(super) mod pending;

use futures::FutureExt;
use galatea_core::{ActionResult, AnyAction, Event, Timestamp, Turn, rights::Ruling};
use std::{panic::AssertUnwindSafe, time::Duration};

use super::engine::Engine;
use super::journal::{Journal, Recorded};
use crate::{ownership::LeaseGuard, plan::PlannedAction, registry::Extension};
use check::{Checked, Consent};
use pending::Request;

/// Most actions of one plan. A plan with more comes from a runaway model.
const MOST: usize = 10;

/// Until when the actions of a turn may begin.
pub(crate) struct ActionBounds<'a> {
    /// The turn's deadline.
    pub(crate) until: Timestamp,
    /// The Room's lease: without it another process runs the same actions.
    pub(crate) lease: &'a LeaseGuard,
}

/// What came of a plan's actions.
#[derive(Default)]
pub(crate) struct Acted {
    /// A result for each, in order.
    pub(crate) results: Vec<ActionResult>,
    /// What waits for the consent of the person who asked.
    pub(crate) requests: Vec<Request>,
    /// The rule that kept an action from being done, for `explain`; holds no message text.
    pub(crate) rulings: Vec<(Ruling, String)>,
}

/// elizaOS `processActions`: runs these. What was done and said before counts, however long the
/// next one takes.
pub(crate) async fn process_actions(
    turn: &Turn<'_>,
    engine: &Engine,
    planned: &[PlannedAction],
    bounds: &ActionBounds<'_>,
) -> Acted {
    let mut acted = Acted::default();
    let mut journal = Journal::of(&*engine.store, turn);
    for action in planned.iter().take(MOST) {
        let offered = turn.catalog.actions.iter().any(|docs| docs.name == action.name);
        let known = engine.registry.action(&action.name).filter(|_| offered);
        carry(turn, engine, known, action, &mut acted, &mut journal, bounds, Consent::Asked).await;
    }
    acted
}

/// Does what was confirmed: by the rights of the person who confirms as they are now.
pub(super) async fn process_confirmed(
    turn: &Turn<'_>,
    engine: &Engine,
    requests: Vec<Request>,
    bounds: &ActionBounds<'_>,
) -> Acted {
    let mut acted = Acted::default();
    let mut journal = Journal::of(&*engine.store, turn);
    for request in requests {
        let Some(result) = request.result else {
            let known = engine.registry.action(&request.call.name);
            carry(
                turn,
                engine,
                known,
                &request.call,
                &mut acted,
                &mut journal,
                bounds,
                Consent::Given,
            )
            .await;
            continue;
        };
        let checked = check::result(turn, engine, &result, Consent::Given).await;
        let result = settle(turn, &request.call, result, checked, &mut acted, true);
        finish(turn, &request.call, result, &mut acted);
    }
    acted
}

/// Whether an action's declared scope lets it be done here at all, confirmed or not.
pub(super) fn may_be_offered(turn: &Turn<'_>, engine: &Engine, action: &dyn AnyAction) -> bool {
    check::scope(turn, engine, action.scope(), action.has_side_effect(), Consent::Given).ruling
        != Ruling::Refuse
}

#[allow(
    clippy::too_many_arguments,
    reason = "one action has this many sides, and both ways to it share them"
)]
async fn carry(
    turn: &Turn<'_>,
    engine: &Engine,
    known: Option<&Extension<dyn AnyAction>>,
    planned: &PlannedAction,
    acted: &mut Acted,
    journal: &mut Journal<'_>,
    bounds: &ActionBounds<'_>,
    consent: Consent,
) {
    turn.events.publish(Event::ActionStarted {
        agent: turn.agent.identity.id(),
        turn: turn.id,
        action: planned.name.clone(),
    });
    let result = match known {
        Some(action) => {
            checked(turn, engine, action, planned, acted, journal, bounds, consent).await
        }
        // Only what was offered: validate has passed for everything in the catalog.
        None => ActionResult::failed(format!("{} is not available here", planned.name)),
    };
    finish(turn, planned, result, acted);
}

fn finish(turn: &Turn<'_>, planned: &PlannedAction, mut result: ActionResult, acted: &mut Acted) {
    result.action.clone_from(&planned.name);
    if !result.success {
        // A failed action must not speak or change anything.
        result.drafts.clear();
        result.elsewhere.clear();
        result.effects.clear();
        tracing::warn!(turn = %turn.id, action = planned.name, "an action failed; its messages and changes are dropped");
    }
    turn.events.publish(Event::ActionCompleted {
        agent: turn.agent.identity.id(),
        turn: turn.id,
        action: planned.name.clone(),
        success: result.success,
    });
    acted.results.push(result);
}

#[allow(clippy::too_many_arguments, reason = "as above")]
async fn checked(
    turn: &Turn<'_>,
    engine: &Engine,
    action: &Extension<dyn AnyAction>,
    planned: &PlannedAction,
    acted: &mut Acted,
    journal: &mut Journal<'_>,
    bounds: &ActionBounds<'_>,
    consent: Consent,
) -> ActionResult {
    let before = check::scope(turn, engine, action.scope(), action.has_side_effect(), consent);
    match before.ruling {
        Ruling::Refuse => return refused(planned, before, acted),
        // What happens while it runs cannot be taken back, so it does not run yet.
        Ruling::Confirm if action.has_side_effect() => {
            acted.rulings.push((before.ruling, format!("{}: {}", planned.name, before.why)));
            acted.requests.push(Request { call: planned.clone(), result: None });
            return waits(planned);
        }
        Ruling::Confirm | Ruling::Allow => {}
    }
    let result = run(turn, action, planned, &acted.results, journal, bounds).await;
    if !result.success {
        return result;
    }
    let after = check::result(turn, engine, &result, consent).await;
    // What a side effect has done is done; what it returns is kept back if the rules refuse it.
    settle(turn, planned, result, before.or_worse(after), acted, false)
}

/// A result as it was checked.
fn settle(
    turn: &Turn<'_>,
    call: &PlannedAction,
    mut result: ActionResult,
    checked: Checked,
    acted: &mut Acted,
    again: bool,
) -> ActionResult {
    match checked.ruling {
        Ruling::Refuse => refused(call, checked, acted),
        Ruling::Confirm if !again => {
            acted.rulings.push((checked.ruling, format!("{}: {}", call.name, checked.why)));
            acted.requests.push(Request { call: call.clone(), result: Some(result) });
            waits(call)
        }
        Ruling::Confirm | Ruling::Allow => {
            result
                .elsewhere
                .iter_mut()
                .for_each(|(_, content)| attribution::attribute(turn, content));
            result
        }
    }
}

fn refused(planned: &PlannedAction, checked: Checked, acted: &mut Acted) -> ActionResult {
    let Checked { ruling, why } = checked;
    acted.rulings.push((ruling, format!("{}: {why}", planned.name)));
    ActionResult::failed(format!("{} is not allowed: {why}", planned.name))
}

fn waits(planned: &PlannedAction) -> ActionResult {
    ActionResult::failed(format!(
        "{} is not done yet: it waits for the confirmation of the person who asked",
        planned.name
    ))
}

async fn run(
    turn: &Turn<'_>,
    action: &Extension<dyn AnyAction>,
    planned: &PlannedAction,
    earlier: &[ActionResult],
    journal: &mut Journal<'_>,
    bounds: &ActionBounds<'_>,
) -> ActionResult {
    let time = bounds.until.since(turn.now()).min(action.time());
    if !bounds.lease.is_held() {
        return ActionResult::failed(format!(
            "{} was not done: another process has the room now",
            planned.name
        ));
    }
    if time.is_zero() {
        return ActionResult::failed(format!("there was no time left for {}", planned.name));
    }
    let begun = if action.has_side_effect() {
        match journal.begin(turn, planned).await {
            Ok(Recorded::Done(result)) => return *result,
            Ok(Recorded::Begun) => {
                return ActionResult::failed(format!(
                    "{} was begun before and may have been done; it is not done twice",
                    planned.name
                ));
            }
            Ok(Recorded::New(step)) => Some(step),
            Err(error) => {
                tracing::warn!(turn = %turn.id, action = planned.name, error = %error.report(), "failed to journal an action; it is not done");
                return ActionResult::failed(format!(
                    "{} could not be noted down, so it was not done",
                    planned.name
                ));
            }
        }
    } else {
        None
    };
    let result = perform(turn, action, planned, earlier, time).await;
    if let Some(step) = begun {
        journal.end(turn, step, &result).await;
    }
    result
}

async fn perform(
    turn: &Turn<'_>,
    action: &Extension<dyn AnyAction>,
    planned: &PlannedAction,
    earlier: &[ActionResult],
    time: Duration,
) -> ActionResult {
    let turn = &action.turn(turn);
    let work = AssertUnwindSafe(action.run(turn, planned.params.clone(), earlier)).catch_unwind();
    match tokio::time::timeout(time, work).await {
        Ok(Ok(Ok(result))) => result,
        Ok(Ok(Err(error))) => {
            tracing::warn!(turn = %turn.id, action = planned.name, error = %error.report(), "an action returned an error; it counts as failed and the turn continues");
            ActionResult::failed(error.to_string())
        }
        Ok(Err(_)) => ActionResult::failed(format!("{} crashed", planned.name)),
        Err(_) => ActionResult::failed(format!(
            "{} took longer than {:.0} s",
            planned.name,
            time.as_secs_f32()
        )),
    }
}

/// An action that speaks on a platform without a connector has failed; neither the model nor a
/// person is informed of a success.
pub(super) fn only_reachable(engine: &Engine, result: &mut ActionResult) {
    let silent = result
        .elsewhere
        .iter()
        .find(|(there, _)| engine.outbox.routes.ready(&there.source, &there.account).is_none());
    if let Some((there, _)) = silent {
        let text = format!("nothing was said: {} is not connected", there.source);
        *result = ActionResult {
            action: std::mem::take(&mut result.action),
            ..ActionResult::failed(text)
        };
    }
}

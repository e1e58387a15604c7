//! Runs the plan's actions in order, and returns results and drafts. One that fails is a result,
//! not a crash. What has an effect of its own is journaled, so that a turn that is run again after
//! a crash does not do it twice. What an action may do is checked here, by its declared scope
//! before it runs and by what it returns afterwards; nothing a model writes gets past this step.

mod attribution;
mod check;
pub(crate) mod journal;
pub(super) mod pending;
mod reason;

use futures::FutureExt;
use galatea_core::{
    ActionResult, AnyAction, Event, EventBus, Result, Timestamp, Turn,
    rights::{Authorship, Grant, Ruling, ToolIdentity},
    store::StepKind,
};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use self::journal::{Journal, Recorded};
use super::engine::Engine;
use crate::{
    outbox::Outbox,
    ownership::LeaseGuard,
    plan::PlannedAction,
    plugins::unit::Extension,
    trace::{Raw, Recorder, StepClock},
};
use check::{Checked, Checker, Consent, Declared};
use pending::Request;
use reason::reason;

/// Most actions of one plan. A plan with more comes from a runaway model.
const MOST: usize = 10;

/// Until when the actions of a turn may begin.
pub(crate) struct ActionBounds<'a> {
    /// Deadline of the turn: no action begins after it.
    pub(crate) until: Timestamp,
    /// The Room's lease: without it another process runs the same actions.
    pub(crate) lease: &'a LeaseGuard,
    /// Records each action.
    pub(crate) trace: &'a Recorder,
}

/// Result of a plan's actions.
#[derive(Default)]
pub(crate) struct Acted {
    /// A result for each, in order.
    pub(crate) results: Vec<ActionResult>,
    /// Actions that wait for the consent of the person who asked.
    pub(crate) requests: Vec<Request>,
    /// The rule that kept an action from being done, for `explain`; holds no message text.
    pub(crate) rulings: Vec<(Ruling, String)>,
    /// Errors of actions, for `explain`: they name hosts and settings of the owner.
    pub(crate) errors: Vec<String>,
}

/// elizaOS `processActions`: runs these. What was done and said before counts, however long the
/// next one takes. `earlier` are the results of earlier steps: the model has read them.
pub(crate) async fn process_actions(
    turn: &Turn<'_>,
    engine: &Engine,
    planned: &[PlannedAction],
    earlier: &[ActionResult],
    bounds: &ActionBounds<'_>,
) -> Acted {
    let mut acting = Acting::new(turn, engine, bounds, Consent::Asked).await.after(earlier);
    for action in planned.iter().take(MOST) {
        // Only what was offered: validate has passed for everything in the catalog.
        let offered = turn.catalog.actions.iter().any(|docs| docs.name == action.name);
        let known = engine.thinking.registry.action(&action.name).filter(|_| offered);
        acting.carry_out(known, action).await;
    }
    acting.acted.results.drain(..earlier.len());
    acting.acted
}

/// Authors of these results together.
pub(crate) fn authorship(results: &[ActionResult]) -> Authorship {
    results.iter().map(|result| result.authorship).max().unwrap_or(Authorship::Own)
}

/// Does what was confirmed: by the rights of the person who confirms as they are now.
pub(super) async fn process_confirmed(
    turn: &Turn<'_>,
    engine: &Engine,
    requests: Vec<Request>,
    bounds: &ActionBounds<'_>,
) -> Acted {
    let mut acting = Acting::new(turn, engine, bounds, Consent::Given).await;
    for Request { call, plugin, result, tool, .. } in requests {
        // Confirmed was this tool of this plugin, as it described itself then, and not another one that
        // has its name by now.
        let known = engine.thinking.registry.action_of(&plugin, &call.name);
        let known = known.filter(|action| action.identity_of(&call.name, &call.params) == tool);
        let asked = Asked { plugin: &plugin, tool };
        let Some(result) = result.filter(|_| known.is_some()) else {
            acting.carry_out(known, &call).await;
            continue;
        };
        let checked = acting.checker.result(&result).await;
        let result = acting.settle(asked, &call, result, checked, Consent::Given);
        acting.finish(&call, result);
    }
    acting.acted
}

/// True if an action's declared scope lets anyone in the conversation do it here, confirmed or not.
pub(super) fn may_be_offered(
    turn: &Turn<'_>,
    engine: &Engine,
    grants: Option<&Arc<[Grant]>>,
    name: &str,
    action: &Extension<dyn AnyAction>,
) -> bool {
    let checker = Checker::new(turn, engine, Consent::Given, grants.cloned());
    let tool = action.identity(name);
    checker.scope_of_present(declared(&tool, &**action)).ruling != Ruling::Refuse
}

/// The grants of the agent; none while they cannot be read.
pub(super) async fn grants(engine: &Engine) -> Option<Arc<[Grant]>> {
    match engine.grants().await {
        Ok(grants) => Some(grants),
        Err(error) => {
            tracing::warn!(agent = %engine.view.identity.id(), error = %error.report(), "failed to read the grants of tools; no tool is used in this turn");
            None
        }
    }
}

fn declared<'a>(tool: &'a ToolIdentity, action: &dyn AnyAction) -> Declared<'a> {
    Declared { tool, scope: action.scope(), side_effect: action.has_side_effect() }
}

/// An action that may have to be confirmed, by its plugin and as a tool.
struct Asked<'a> {
    plugin: &'a str,
    tool: ToolIdentity,
}

/// The actions of one turn, and what has come of them so far.
struct Acting<'a> {
    turn: &'a Turn<'a>,
    checker: Checker<'a>,
    journal: Journal<'a>,
    events: &'a EventBus,
    bounds: &'a ActionBounds<'a>,
    /// The journal had the action at hand: an earlier run of the turn began it.
    from_journal: bool,
    acted: Acted,
}

impl<'a> Acting<'a> {
    async fn new(
        turn: &'a Turn<'a>,
        engine: &'a Engine,
        bounds: &'a ActionBounds<'a>,
        consent: Consent,
    ) -> Self {
        Self {
            turn,
            checker: Checker::new(turn, engine, consent, grants(engine).await),
            journal: Journal::of(&*engine.store, turn),
            events: &engine.events,
            bounds,
            from_journal: false,
            acted: Acted::default(),
        }
    }

    /// After the results of earlier steps.
    fn after(mut self, earlier: &[ActionResult]) -> Self {
        self.checker = self.checker.after(authorship(earlier));
        self.acted.results = earlier.to_vec();
        self
    }

    /// Carries out an action: checked, run, checked again.
    async fn carry_out(
        &mut self,
        known: Option<&Extension<dyn AnyAction>>,
        planned: &PlannedAction,
    ) {
        self.events.publish(Event::ActionStarted {
            agent: self.turn.agent.identity.id(),
            turn: self.turn.id,
            action: planned.name.clone(),
        });
        let time = StepClock::start(&**self.turn.clock);
        let (rulings, requests) = (self.acted.rulings.len(), self.acted.requests.len());
        self.from_journal = false;
        let result = match known {
            Some(action) => self.checked(action, planned).await,
            None => ActionResult::failed(format!("{} is not available here", planned.name)).own(),
        };
        let mut step = time.step(StepKind::Action, planned.name.as_str());
        step.failed = !result.success && self.acted.requests.len() == requests;
        step.note = Some(if self.acted.requests.len() > requests {
            "waits for the confirmation of the person who asked".to_owned()
        } else if let Some((_, why)) = self.acted.rulings.get(rulings..).and_then(<[_]>::last) {
            why.clone()
        } else if known.is_none() {
            "no tool of this name was offered".to_owned()
        } else if self.from_journal {
            "begun by an earlier run of this turn, which the process did not survive; not done twice"
                .to_owned()
        } else if result.success {
            "done".to_owned()
        } else {
            "failed".to_owned()
        });
        self.bounds.trace.add_with(step, || Raw::Call {
            input: serde_json::to_string(&planned.params).unwrap_or_default(),
            output: result.text.clone(),
        });
        self.finish(planned, result);
    }

    fn finish(&mut self, planned: &PlannedAction, mut result: ActionResult) {
        let turn = self.turn;
        result.action.clone_from(&planned.name);
        if !result.success {
            // A failed action must not speak or change anything.
            result.drafts.clear();
            result.files.clear();
            result.elsewhere.clear();
            result.effects.clear();
            tracing::warn!(turn = %turn.id, action = planned.name, "an action failed; its messages and changes are dropped");
        }
        self.events.publish(Event::ActionCompleted {
            agent: turn.agent.identity.id(),
            turn: turn.id,
            action: planned.name.clone(),
            success: result.success,
        });
        self.acted.results.push(result);
    }

    async fn checked(
        &mut self,
        action: &Extension<dyn AnyAction>,
        planned: &PlannedAction,
    ) -> ActionResult {
        let tool = action.identity_of(&planned.name, &planned.params);
        let before = self.checker.scope(declared(&tool, &**action));
        match before.ruling {
            Ruling::Refuse => return self.refused(planned, before),
            // Effects while it runs cannot be taken back, so it does not run yet.
            Ruling::Confirm if action.has_side_effect() => {
                return self.ask(Asked { plugin: action.plugin(), tool }, planned, None, before);
            }
            Ruling::Allow if !before.why.is_empty() => {
                let why = format!("{}: {}", planned.name, before.why);
                self.acted.rulings.push((Ruling::Allow, why));
            }
            Ruling::Confirm | Ruling::Allow => {}
        }
        let result = self.run(action, planned).await;
        if !result.success {
            return result;
        }
        let after = self.checker.result(&result).await;
        // Side effects cannot be undone; what it returns is kept back if the rules refuse it.
        let checked = before.or_worse(after);
        let asked = Asked { plugin: action.plugin(), tool };
        self.settle(asked, planned, result, checked, Consent::Asked)
    }

    /// A result as it was checked. What was confirmed is not asked for again.
    fn settle(
        &mut self,
        asked: Asked<'_>,
        call: &PlannedAction,
        mut result: ActionResult,
        checked: Checked,
        consent: Consent,
    ) -> ActionResult {
        match checked.ruling {
            Ruling::Refuse => self.refused(call, checked),
            Ruling::Confirm if consent == Consent::Asked => {
                self.ask(asked, call, Some(result), checked)
            }
            Ruling::Confirm | Ruling::Allow => {
                result
                    .elsewhere
                    .iter_mut()
                    .for_each(|(_, content)| attribution::attribute(self.turn, content));
                result
            }
        }
    }

    fn refused(&mut self, planned: &PlannedAction, checked: Checked) -> ActionResult {
        let Checked { ruling, why, .. } = checked;
        self.acted.rulings.push((ruling, format!("{}: {why}", planned.name)));
        ActionResult::failed(format!("{} is not allowed: {why}", planned.name)).own()
    }

    /// It waits for the consent of the person who asked.
    fn ask(
        &mut self,
        asked: Asked<'_>,
        call: &PlannedAction,
        result: Option<ActionResult>,
        checked: Checked,
    ) -> ActionResult {
        let Checked { ruling, why, may_be_kept } = checked;
        self.acted.rulings.push((ruling, format!("{}: {why}", call.name)));
        // What it would do elsewhere is another each time.
        let may_be_kept = may_be_kept && result.is_none();
        let Asked { plugin, tool } = asked;
        let (plugin, call_as_asked) = (plugin.to_owned(), call.clone());
        self.acted.requests.push(Request {
            call: call_as_asked,
            plugin,
            result,
            tool,
            may_be_kept,
        });
        ActionResult::failed(format!(
            "{} is not done yet: it waits for the confirmation of the person who asked",
            call.name
        ))
        .own()
    }

    /// Runs it, once even if the turn is run again after a crash, where it has an effect of its own.
    async fn run(
        &mut self,
        action: &Extension<dyn AnyAction>,
        planned: &PlannedAction,
    ) -> ActionResult {
        let (turn, bounds) = (self.turn, self.bounds);
        let time = bounds.until.since(turn.now()).min(action.time());
        if !bounds.lease.is_held() {
            return ActionResult::failed(format!(
                "{} was not done: another process has the room now",
                planned.name
            ))
            .own();
        }
        if time.is_zero() {
            return ActionResult::failed(format!("there was no time left for {}", planned.name))
                .own();
        }
        let begun = if action.has_side_effect() {
            match self.journal.begin(turn, action.plugin(), planned).await {
                Ok(Recorded::Done(result)) => {
                    self.from_journal = true;
                    return *result;
                }
                Ok(Recorded::Begun) => {
                    self.from_journal = true;
                    return ActionResult::failed(format!(
                        "{} was begun before and may have been done; it is not done twice",
                        planned.name
                    ))
                    .own();
                }
                Ok(Recorded::New(step)) => Some(step),
                Err(error) => {
                    tracing::warn!(turn = %turn.id, action = planned.name, error = %error.report(), "failed to journal an action; it is not done");
                    return ActionResult::failed(format!(
                        "{} could not be noted down, so it was not done",
                        planned.name
                    ))
                    .own();
                }
            }
        } else {
            None
        };
        let performed = perform(turn, action, planned, &self.acted.results, time).await;
        let mut result = performed.unwrap_or_else(|error| {
            self.acted.errors.push(format!("{}: {error}", planned.name));
            ActionResult::failed(reason(&error))
        });
        bounded(&mut result);
        if let Some(step) = begun {
            self.journal.end(turn, step, &result).await;
        }
        result
    }
}

/// Most bytes of a result that the model reads. The values for later actions have as many.
const MOST_BYTES: usize = 16 * 1024;

/// Cuts a result that is too long, and says so: the model must not take a part for the whole.
fn bounded(result: &mut ActionResult) {
    let whole = result.text.len();
    if whole > MOST_BYTES {
        result.text.truncate(result.text.floor_char_boundary(MOST_BYTES));
        result.text.push_str(&format!(
            "\n[cut here: these are the first {} of {whole} bytes; ask for less, or for the rest]",
            MOST_BYTES
        ));
    }
    let data = serde_json::to_string(&result.data).map_or(usize::MAX, |text| text.len());
    if data > MOST_BYTES {
        result.data.clear();
    }
}

async fn perform(
    turn: &Turn<'_>,
    action: &Extension<dyn AnyAction>,
    planned: &PlannedAction,
    earlier: &[ActionResult],
    time: Duration,
) -> Result<ActionResult> {
    let turn = &action.turn(turn);
    let work = AssertUnwindSafe(action.run(turn, planned.params.clone(), earlier)).catch_unwind();
    match tokio::time::timeout(time, work).await {
        Ok(Ok(Ok(result))) => Ok(result),
        Ok(Ok(Err(error))) => {
            tracing::warn!(turn = %turn.id, action = planned.name, error = %error.report(), "an action returned an error; it counts as failed and the turn continues");
            Err(error)
        }
        Ok(Err(_)) => Ok(ActionResult::failed(format!("{} crashed", planned.name)).own()),
        Err(_) => Ok(ActionResult::failed(format!(
            "{} took longer than {:.0} s",
            planned.name,
            time.as_secs_f32()
        ))
        .own()),
    }
}

/// An action that speaks on a platform without a connector has failed; neither the model nor a
/// person is informed of a success.
pub(super) fn only_reachable(outbox: &Outbox, result: &mut ActionResult) {
    let silent = result
        .elsewhere
        .iter()
        .find(|(there, _)| outbox.routes.ready(&there.source, &there.account).is_none());
    if let Some((there, _)) = silent {
        let text = format!("nothing was said: {} is not connected", there.source);
        *result = ActionResult {
            action: std::mem::take(&mut result.action),
            ..ActionResult::failed(text)
        };
    }
}

//! Runs evaluators after the commit, where they cannot delay the reply. Those that wait for a quiet
//! Room are in [`crate::turn::state::quiet`].

use futures::{FutureExt, future::BoxFuture};
use galatea_core::{
    Evaluator, EvaluatorUse, Event, FinishedTurn, Memory, State, Turn, Verdict, kill_point,
    store::StepKind,
};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use super::{context::TurnContext, engine::Engine};
use crate::{
    ownership::{LeaseGuard, WeakLease},
    plugins::registry::ExtensionName,
    trace::{Recorder, StepClock},
    turn::state::quiet::{Look, Watch},
};

/// Longest time of one evaluator: it may call a model.
const DEADLINE: Duration = Duration::from_secs(120);
/// Longest time of a look whether an evaluator has something to learn.
const LOOK: Duration = Duration::from_secs(5);

/// A committed turn, as its evaluators see it. It does not keep the Room's lease: a Room that is
/// to go to another process must not wait for them.
pub(super) struct Committed {
    context: TurnContext,
    state: State,
    replies: Vec<Memory>,
    verdict: Verdict,
    lease: WeakLease,
}

impl Committed {
    pub(super) fn new(
        mut context: TurnContext,
        state: State,
        replies: Vec<Memory>,
        verdict: Verdict,
    ) -> Self {
        let lease = context.message.lease.weak();
        context.message.lease = LeaseGuard::always();
        context.merged.clear();
        Self { context, state, replies, verdict, lease }
    }

    /// The turn as its evaluators see it.
    fn turn<'a>(&'a self, engine: &'a Engine) -> Turn<'a> {
        Turn { state: &self.state, ..self.context.turn(engine) }
    }

    /// True if this process still answers in the Room. Otherwise another one learns from it.
    fn is_here(&self) -> bool {
        self.lease.get().is_some_and(|lease| lease.is_open())
    }
}

/// Starts the evaluators of a committed turn: some at once, the others when the Room is quiet.
pub(super) fn evaluate(engine: &Arc<Engine>, committed: Committed) {
    kill_point("evaluate");
    let evaluators = &engine.thinking.registry.evaluators;
    let has = |when| evaluators.iter().any(|(kind, _)| *kind == when);
    let committed = Arc::new(committed);
    if has(EvaluatorUse::WhenQuiet) {
        wait_for_quiet(engine, Arc::clone(&committed));
    }
    if has(EvaluatorUse::AfterTurn) {
        let engine = Arc::clone(engine);
        engine.background.finish(after_turn(Arc::clone(&engine), committed));
    }
}

async fn after_turn(engine: Arc<Engine>, committed: Arc<Committed>) {
    if let Some(first) = first_wanted(&engine, &committed, EvaluatorUse::AfterTurn).await {
        run(&engine, &committed, &first).await;
    }
}

/// Notes the turn as the Room's newest. The first one that a Room waits with starts its task.
fn wait_for_quiet(engine: &Arc<Engine>, committed: Arc<Committed>) {
    let (room, clock) = (committed.context.info.room.id, engine.clock.as_ref());
    let pause = engine.limits.evaluation_pause;
    // A Room may be quiet long after its turn: plugins that leave meanwhile are not kept.
    let waiting = engine.without_plugins();
    let look = look(Arc::clone(&waiting), committed).boxed();
    if let Some(watch) = engine.background.quiet.offer(room, look, clock, pause) {
        engine.background.finish(when_quiet(waiting, watch));
    }
}

async fn when_quiet(engine: Arc<Engine>, watch: Watch<Look>) {
    let clock = engine.clock.as_ref();
    while let Some(look) = watch.next(clock).await {
        // Most Rooms have nothing to learn, and need no place among those that call the model.
        let Some(mut learn) = watch.look(look).await else { continue };
        let Some(_permit) = watch.permit().await else { return };
        if let Some(newer) = watch.newest(clock)
            && let Some(newer) = watch.look(newer).await
        {
            learn = newer;
        }
        learn.await;
    }
}

async fn look(engine: Arc<Engine>, committed: Arc<Committed>) -> Option<BoxFuture<'static, ()>> {
    if !committed.is_here() {
        return None;
    }
    let first = first_wanted(&engine.current(), &committed, EvaluatorUse::WhenQuiet).await?;
    let learn = async move {
        if committed.is_here() {
            run(&engine.current(), &committed, &first).await;
        }
    };
    Some(learn.boxed())
}

/// The first evaluator of this kind that has something to learn from the turn.
async fn first_wanted(
    engine: &Engine,
    committed: &Committed,
    when: EvaluatorUse,
) -> Option<ExtensionName> {
    let Committed { replies, verdict, .. } = committed;
    let turn = committed.turn(engine);
    for (kind, evaluator) in &engine.thinking.registry.evaluators {
        let turn = evaluator.turn(&turn);
        let finished = FinishedTurn { turn: &turn, replies, verdict };
        if *kind == when && is_wanted(&**evaluator, &finished).await {
            let (plugin, name) = (evaluator.plugin().to_owned(), evaluator.name().to_owned());
            return Some(ExtensionName { plugin, name });
        }
    }
    None
}

/// Runs the first wanted evaluator, and then those behind it that are of its kind and wanted. What one
/// has learnt can make the next one wanted, such as the profile of new facts. Counts what they used.
/// Nothing runs if the first one is gone with its plugin.
async fn run(engine: &Engine, committed: &Committed, first: &ExtensionName) {
    let Committed { context, replies, verdict, .. } = committed;
    let turn = committed.turn(engine);
    let registry = &engine.thinking.registry;
    let Some(first) = registry.evaluator(first) else { return };
    let mut rest = registry.evaluators.iter().skip(first);
    let Some((when, evaluator)) = rest.next() else { return };
    let own = evaluator.turn(&turn);
    let finished = FinishedTurn { turn: &own, replies, verdict };
    run_one(engine, &**evaluator, &finished, &context.trace).await;
    for (_, evaluator) in rest.filter(|(kind, _)| kind == when) {
        let own = evaluator.turn(&turn);
        let finished = FinishedTurn { turn: &own, replies, verdict };
        if is_wanted(&**evaluator, &finished).await {
            run_one(engine, &**evaluator, &finished, &context.trace).await;
        }
    }
    engine.tracer.add_late(context.trace_head(), &context.trace);
    engine.budget.keep(context.meter.take());
    engine.budget.flush().await;
}

/// True if an evaluator has something to learn; one that cannot tell has not.
async fn is_wanted(evaluator: &dyn Evaluator, finished: &FinishedTurn<'_>) -> bool {
    let work = AssertUnwindSafe(evaluator.validate(finished)).catch_unwind();
    let turn = finished.turn.id;
    match tokio::time::timeout(LOOK, work).await {
        Ok(Ok(Ok(wanted))) => wanted,
        Ok(Ok(Err(error))) => {
            tracing::warn!(turn = %turn, evaluator = evaluator.name(), error = %error.report(), "an evaluator could not tell whether it has something to learn; it is left out of this turn");
            false
        }
        Ok(Err(_)) | Err(_) => {
            tracing::warn!(turn = %turn, evaluator = evaluator.name(), "an evaluator crashed or took too long while looking for something to learn; it is left out of this turn");
            false
        }
    }
}

async fn run_one(
    engine: &Engine,
    evaluator: &dyn Evaluator,
    finished: &FinishedTurn<'_>,
    trace: &Recorder,
) {
    let (turn, events) = (finished.turn, &engine.events);
    let time = StepClock::start(&*engine.clock);
    events.publish(Event::EvaluatorStarted {
        agent: turn.agent.identity.id(),
        turn: turn.id,
        evaluator: evaluator.name().to_owned(),
    });
    let work = AssertUnwindSafe(evaluator.evaluate(finished)).catch_unwind();
    let success = match tokio::time::timeout(DEADLINE, work).await {
        Ok(Ok(Ok(()))) => true,
        Ok(Ok(Err(error))) => {
            tracing::warn!(turn = %turn.id, evaluator = evaluator.name(), error = %error.report(), "an evaluator failed; skipping it for this turn");
            false
        }
        Ok(Err(_)) | Err(_) => {
            tracing::warn!(turn = %turn.id, evaluator = evaluator.name(), "an evaluator crashed or exceeded its deadline; skipping it for this turn");
            false
        }
    };
    let mut step = time.step(StepKind::Evaluate, evaluator.name());
    step.failed = !success;
    trace.add(step);
    events.publish(Event::EvaluatorCompleted {
        agent: turn.agent.identity.id(),
        turn: turn.id,
        evaluator: evaluator.name().to_owned(),
        success,
    });
}

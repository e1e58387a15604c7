//! Runs evaluators after the commit, where they cannot delay the reply. Those that wait for a quiet
//! Room are in [`super::quiet`].

use futures::FutureExt;
use galatea_core::{
    Evaluator, EvaluatorUse, Event, FinishedTurn, Memory, State, Verdict, kill_point,
};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use super::{context::TurnContext, engine::Engine};
use crate::ownership::{LeaseGuard, WeakLease};

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

    /// Whether this process still answers in the Room. Otherwise another one learns from it.
    fn is_here(&self) -> bool {
        self.lease.get().is_some_and(|lease| lease.is_open())
    }
}

/// Has the evaluators of a committed turn run: some at once, one after another, the others when the
/// Room is quiet. With none of the first sort it only notes the turn, which costs an answer less than a
/// task.
pub(super) fn evaluate(engine: &Arc<Engine>, committed: Box<Committed>) {
    kill_point("evaluate");
    let evaluators = &engine.thinking.registry.evaluators;
    if evaluators.iter().all(|evaluator| evaluator.when() == EvaluatorUse::WhenQuiet) {
        return evaluate_when_quiet(engine, committed);
    }
    let later = Arc::clone(engine);
    engine.background.finish(async move {
        run(&later, &committed, EvaluatorUse::AfterTurn).await;
        evaluate_when_quiet(&later, committed);
    });
}

/// Notes the turn as the Room's newest. The first one that a Room waits with starts its task.
fn evaluate_when_quiet(engine: &Arc<Engine>, committed: Box<Committed>) {
    let evaluators = &engine.thinking.registry.evaluators;
    if evaluators.iter().all(|evaluator| evaluator.when() == EvaluatorUse::AfterTurn) {
        return;
    }
    let (room, later) = (committed.context.info.room.id, Arc::clone(engine));
    let work = async move {
        if committed.is_here() {
            run(&later, &committed, EvaluatorUse::WhenQuiet).await;
        }
    };
    let (now, pause) = (engine.clock.now(), engine.limits.evaluation_pause);
    if let Some(waiting) = engine.background.quiet.offer(room, work.boxed(), now, pause) {
        let waits = Arc::clone(engine);
        engine.background.finish(async move {
            waits.background.quiet.wait(waits.clock.as_ref(), room, waiting).await;
        });
    }
}

/// Runs the evaluators of this sort that have something to learn.
async fn run(engine: &Engine, committed: &Committed, now: EvaluatorUse) {
    let Committed { context, state, replies, verdict, .. } = committed;
    let catalog = galatea_core::turn::Catalog::default();
    let turn = context.turn(engine, state, &catalog);
    for evaluator in &engine.thinking.registry.evaluators {
        let turn = evaluator.turn(&turn);
        let finished = FinishedTurn { turn: &turn, replies, verdict };
        if evaluator.when() == now && is_wanted(&**evaluator, &finished).await {
            run_one(&**evaluator, &finished).await;
        }
    }
    engine.budget.keep(context.meter.take());
    engine.budget.flush().await;
}

/// Whether an evaluator has something to learn; one that cannot tell has not.
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

async fn run_one(evaluator: &dyn Evaluator, finished: &FinishedTurn<'_>) {
    let turn = finished.turn;
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
    turn.events.publish(Event::EvaluatorCompleted {
        agent: turn.agent.identity.id(),
        turn: turn.id,
        evaluator: evaluator.name().to_owned(),
        success,
    });
}

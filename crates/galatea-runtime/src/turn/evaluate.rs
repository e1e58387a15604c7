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

/// Runs the evaluators of a committed turn: some at once, one after another, the others when the
/// Room is quiet.
pub(super) async fn evaluate(engine: Arc<Engine>, committed: Box<Committed>) {
    kill_point("evaluate");
    if !run(&engine, &committed, EvaluatorUse::AfterTurn).await {
        return;
    }
    let (room, later) = (committed.context.info.room.id, Arc::clone(&engine));
    let work = async move {
        if committed.is_here() {
            run(&later, &committed, EvaluatorUse::WhenQuiet).await;
        }
    };
    let pause = engine.limits.evaluation_pause;
    engine.background.quiet.wait(engine.clock.as_ref(), pause, room, work.boxed()).await;
}

/// Runs the evaluators that have something to learn now. True when another one has something to
/// learn later.
async fn run(engine: &Engine, committed: &Committed, now: EvaluatorUse) -> bool {
    let Committed { context, state, replies, verdict, .. } = committed;
    let catalog = galatea_core::turn::Catalog::default();
    let turn = context.turn(engine, state, &catalog);
    let mut later = false;
    for evaluator in &engine.thinking.registry.evaluators {
        let turn = evaluator.turn(&turn);
        let finished = FinishedTurn { turn: &turn, replies, verdict };
        let evaluator = &**evaluator;
        let is_now = evaluator.when() == now;
        if now == EvaluatorUse::WhenQuiet && !is_now || !is_wanted(evaluator, &finished).await {
            continue;
        }
        if is_now {
            run_one(evaluator, &finished).await;
        } else {
            later = true;
        }
    }
    engine.budget.keep(context.meter.take());
    engine.budget.flush().await;
    later
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

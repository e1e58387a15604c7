//! Evaluate: evaluators, after the commit, unable to delay the reply.

use futures::FutureExt;
use galatea_core::{Evaluator, Event, FinishedTurn, kill_point};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

/// Longest time of one evaluator: it may call a model.
const DEADLINE: Duration = Duration::from_secs(120);

/// Runs them one after another; a failing one is logged.
pub(crate) async fn evaluate(finished: &FinishedTurn<'_>, evaluators: &[Arc<dyn Evaluator>]) {
    kill_point("evaluate");
    let turn = finished.turn;
    for evaluator in evaluators {
        let work = AssertUnwindSafe(evaluator.evaluate(finished)).catch_unwind();
        let success = match tokio::time::timeout(DEADLINE, work).await {
            Ok(Ok(Ok(()))) => true,
            Ok(Ok(Err(error))) => {
                tracing::warn!(turn = %turn.id, evaluator = evaluator.name(), error = %error.report(), "an evaluator failed");
                false
            }
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(turn = %turn.id, evaluator = evaluator.name(), "an evaluator crashed or took too long");
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
}

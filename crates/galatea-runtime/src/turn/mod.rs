//! Turn: the line from a stored message to a committed answer. [`run_turn`] reads as its table of contents.

mod act;
mod attempt;
pub(crate) mod commands;
pub(crate) mod commit;
mod compose;
mod decide;
mod evaluate;
mod gate;
mod journal;
mod prompt;
mod queue;
mod seat;
mod see;
mod silence;
mod take_up;
mod think;
mod typing;

use galatea_core::{Decision, Event, FinishedTurn, Memory, Result, State, Verdict};
use std::sync::Arc;

pub(crate) use commit::tell_awaited;
pub(crate) use queue::{IN_MEMORY, Waiting, enqueue, enqueue_again, work};
pub(crate) use seat::Seat;
pub(crate) use take_up::{recover, recover_shared, sweep, take_up_rooms, watch_rooms};

use crate::agent::Agent;

/// Answers what waits in this seat: typing on, think, commit, hand over, evaluate.
/// `behind` messages of the room wait after it.
pub(crate) async fn run_turn(agent: &Arc<Agent>, mut seat: Seat, behind: usize, interrupted: impl Future<Output = ()>) -> Result<Ended> {
    let id = agent.view.identity.id();
    let room = seat.info.room.id;
    let started = agent.clock.now();
    agent.events.publish(Event::TurnStarted { agent: id, room, turn: seat.turn });
    let typing = typing::Typing::start(agent, &seat.route, seat.address());
    seat.recall(agent, behind).await?;
    // Whether to join in is asked without looking: strangers' albums would cost a call each.
    if !seat.ask && seat.verdict.decision == Decision::Answer {
        Box::pin(see::see(agent, &mut seat)).await;
    }
    let thought = tokio::select! {
        biased;
        thought = Box::pin(think::think(agent, &seat)) => thought,
        () = interrupted => return Ok(Ended::Interrupted(Box::new(seat))),
    };
    drop(typing);
    let (outcome, verdict, state) = thought;
    let decision = verdict.decision;
    let finished = seat.finish(&verdict);
    let parts = u32::try_from(outcome.replies.len()).unwrap_or(u32::MAX);
    let replies = Box::pin(commit::commit(agent, &seat, outcome, finished)).await?;
    let millis = u64::try_from(agent.clock.now().since(started).as_millis()).unwrap_or(u64::MAX);
    tracing::debug!(source = %seat.info.room.source, room = %room, turn = %seat.turn, decision = ?decision, millis, "turn finished");
    agent.events.publish(Event::TurnDecided { agent: id, room, turn: seat.turn, memory: seat.message.entry.memory.id, decision });
    agent.events.publish(Event::TurnFinished { agent: id, room, turn: seat.turn, millis, parts });
    if !agent.registry.evaluators.is_empty() && !replies.is_empty() {
        agent.tasks.spawn(reflect(Arc::clone(agent), seat, state, replies, verdict));
    }
    Ok(Ended::Committed(decision))
}

/// How a turn ended.
pub(crate) enum Ended {
    /// It is committed, with this decision.
    Committed(Decision),
    /// A newer message came; nothing was committed.
    Interrupted(Box<Seat>),
}

async fn reflect(agent: Arc<Agent>, seat: Seat, state: State, replies: Vec<Memory>, verdict: Verdict) {
    let catalog = galatea_core::turn::Catalog::default();
    let turn = seat.turn(&agent, &state, &catalog);
    let finished = FinishedTurn { turn: &turn, replies: &replies, verdict: &verdict };
    evaluate::evaluate(&finished, &agent.registry.evaluators).await;
}

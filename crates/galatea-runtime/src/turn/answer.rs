//! Recalls, sees, thinks, commits and evaluates.

use galatea_core::{Decision, ErrorKind, Event, Result, store::RequestedChange};
use std::sync::Arc;

use super::{
    commit::commit,
    context::TurnContext,
    engine::Engine,
    evaluate::{Committed, evaluate},
    see::see,
    think::think,
    typing::Typing,
};

/// How often a command that links people runs again because what it read has changed.
const LINKING: u32 = 3;

/// Answers the messages of a context: shows typing, recalls, sees, thinks, commits, then evaluates.
/// `behind` messages of the room wait after it.
pub(super) async fn answer(
    engine: &Arc<Engine>,
    mut context: TurnContext,
    behind: usize,
    interrupted: impl Future<Output = ()>,
) -> Result<Ended> {
    let id = engine.view.identity.id();
    let room = context.info.room.id;
    let started = engine.clock.now();
    engine.events.publish(Event::TurnStarted { agent: id, room, turn: context.turn });
    let typing = Typing::start(&engine.clock, &context.route, context.address());
    context.recall(engine, behind).await?;
    // Whether to join in is asked without looking: strangers' albums would cost a call each.
    if !context.ask && context.verdict.decision == Decision::Answer {
        Box::pin(see(engine, &mut context)).await;
    }
    let thought = tokio::select! {
        biased;
        thought = Box::pin(think(engine, &context)) => thought?,
        () = interrupted => return Ok(Ended::Interrupted(Box::new(context))),
    };
    drop(typing);
    let (mut outcome, mut verdict, mut state) = thought;
    let links = |effect: &RequestedChange| matches!(effect, RequestedChange::LinkPeople { .. });
    let mut tries = if outcome.effects.iter().any(links) { LINKING } else { 0 };
    let (replies, parts) = loop {
        let finished = context.finish(&verdict);
        let parts = u32::try_from(outcome.replies.len()).unwrap_or(u32::MAX);
        match Box::pin(commit(engine, &context, outcome, finished)).await {
            Ok(replies) => break (replies, parts),
            // The other side took it back meanwhile: the command runs again and says what holds.
            Err(error) if error.kind() == ErrorKind::Conflict && tries > 0 => {
                tries -= 1;
                (outcome, verdict, state) = Box::pin(think(engine, &context)).await?;
            }
            Err(error) => return Err(error),
        }
    };
    let decision = verdict.decision;
    let millis = u64::try_from(engine.clock.now().since(started).as_millis()).unwrap_or(u64::MAX);
    tracing::debug!(source = %context.info.room.source, room = %room, turn = %context.turn, decision = ?decision, millis, "turn finished");
    engine.events.publish(Event::TurnDecided {
        agent: id,
        room,
        turn: context.turn,
        memory: context.message.entry.memory.id,
        decision,
    });
    engine.events.publish(Event::TurnFinished {
        agent: id,
        room,
        turn: context.turn,
        millis,
        parts,
    });
    if !engine.registry.evaluators.is_empty() && !replies.is_empty() {
        let committed = Box::new(Committed::new(context, state, replies, verdict));
        engine.background.finish(evaluate(Arc::clone(engine), committed));
    }
    Ok(Ended::Committed(decision))
}

/// How a turn ended.
pub(super) enum Ended {
    /// It is committed, with this decision.
    Committed(Decision),
    /// A newer message came; nothing was committed.
    Interrupted(Box<TurnContext>),
}

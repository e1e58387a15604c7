//! Runs one turn, from a lane's next message to a committed answer. [`Engine::run_turn`] and
//! [`answer`] read as the table of contents of this folder.

use galatea_core::{
    Decision, Error, ErrorKind, Event, Result, RoomId, StepOutcome, kill_point,
    store::{InboxItem, InboxState, RequestedChange},
};
use std::sync::Arc;

use super::{
    commit::commit,
    context::{TurnContext, TurnPlace},
    engine::{ATTEMPTS, Engine, SUSPECT},
    evaluate::{Committed, evaluate},
    gate::Judged,
    gather::{busy_policy, gather, interruption},
    message::{Claimed, Waiting},
    more::{self, More},
    see::see,
    think::think,
    typing,
};
use crate::{
    budget::{Budget, Visit},
    config::BusyPolicy,
    lanes::Lane,
    turn::{
        ends::{
            pair, refuse,
            skip::{self, drop_late, give_up, skip},
        },
        gate::{judge::Judge, twin},
        state::{edits::reread, repeated},
    },
};

/// Number of repetitions of a command that links people because what it read has changed.
const LINKING: u32 = 3;
/// Number of times that an answer begins again because its message was edited. Further edits come
/// too late: a person who never stops must not cost a model call each time.
const EDITS: u32 = 2;

/// End of a turn.
pub(crate) enum TurnEnd {
    /// All that was taken is finished.
    Finished,
    /// The first message's Room has moved: the message goes on in the new one, still in flight.
    Moved(Box<(Claimed, InboxItem)>),
}

impl Engine {
    /// Runs one turn: judges the first message of `taken`, gathers those of the lane that belong to
    /// it, and answers. Whatever else it takes from the lane is added to `taken`.
    ///
    /// # Errors
    /// Nothing is committed. `Unavailable` and `Exhausted` say that the messages have to wait.
    pub(crate) async fn run_turn(
        self: &Arc<Self>,
        lane: &Lane<RoomId, Claimed>,
        taken: &mut Vec<Claimed>,
    ) -> Result<TurnEnd> {
        let Some(first) = taken.first().map(|first| first.message.clone()) else {
            return Ok(TurnEnd::Finished);
        };
        let id = first.entry.memory.id;
        let is_new = |item: InboxItem| item.state == InboxState::New;
        if first.recheck && !self.store.inbox_item(id).await?.is_some_and(is_new) {
            return Ok(TurnEnd::Finished);
        }
        let Some(place) = TurnPlace::of(self, &first).await? else {
            return self.follow(taken).await;
        };
        // Before anything that may end the process again, such as the gate.
        if first.attempts >= ATTEMPTS {
            give_up(self, first).await?;
            return Ok(TurnEnd::Finished);
        }
        let _alone = if first.attempts >= SUSPECT {
            Some(self.wait_for_suspect(&first).await)
        } else {
            None
        };
        if first.read_back
            && let Err(error) = self.store.begin_turn(&[id]).await
        {
            tracing::warn!(message_id = %id, error = %error.report(), "failed to count a begun turn; the turn goes on");
        }

        let judge = Judge::new(self, &place, &first).await?;
        let answered = match skip::answered_before_edit(&*self.store, &first).await? {
            None => skip::answered_before_replaced(self, &place, &first).await?,
            answered => answered,
        };
        let judged = match answered {
            Some(verdict) => Judged::Skip(verdict),
            None => twin::leave_to_other(self, &place, &first, judge.evaluate(&first)).await?,
        };
        kill_point("gate");
        let visit = visit(&self.budget, &place, &judge, &judged, &first).await?;
        let refused = refuse::refusal(self, lane, &place, &first, &judged, &visit).await?;
        if let Some(refused) = refused {
            refuse::refuse(self, lane, taken, &place, refused, &judge).await?;
            return Ok(TurnEnd::Finished);
        }
        if let Some(first) = taken.first_mut() {
            first.message.admitted = true;
        }
        let ask = matches!(judged, Judged::Ask(_));
        let verdict = match judged {
            Judged::Skip(verdict) | Judged::Expired(verdict) => {
                skip(self, lane, taken, first, verdict, &judge).await?;
                return Ok(TurnEnd::Finished);
            }
            Judged::Pair(verdict) => {
                pair::welcome(self, &place, first, verdict).await?;
                return Ok(TurnEnd::Finished);
            }
            Judged::Answer(verdict) if judge.more(&first) == More::Asked => {
                more::go_on(self, &place, first, verdict, visit).await?;
                return Ok(TurnEnd::Finished);
            }
            Judged::Answer(verdict) | Judged::Command(verdict) | Judged::Ask(verdict) => verdict,
        };

        let mut context = TurnContext::new(self, &place, first, verdict, visit);
        context.ask = ask;
        context.save(&self.budget);
        if context.verdict.decision == Decision::Command {
            let repeats = repeated::gather(lane, &context.message, taken);
            context.passed.extend(repeats);
        }
        answer_busy(self, lane, taken, &judge, context).await?;
        Ok(TurnEnd::Finished)
    }

    /// The first message's Room is not stored: it has moved while the message waited.
    async fn follow(&self, taken: &mut Vec<Claimed>) -> Result<TurnEnd> {
        let Some(first) = taken.first() else { return Ok(TurnEnd::Finished) };
        let room = first.entry.memory.room_id;
        match self.store.inbox_item(first.entry.memory.id).await? {
            Some(item) if item.state == InboxState::New && item.entry.memory.room_id != room => {
                Ok(TurnEnd::Moved(Box::new((taken.remove(0), item))))
            }
            Some(item) if item.state == InboxState::New => {
                Err(Error::not_found("a message in a room that is not stored").with("room", room))
            }
            _ => Ok(TurnEnd::Finished),
        }
    }
}

/// Answers a message; what happens to those that arrive meanwhile, the busy policy says.
async fn answer_busy(
    engine: &Arc<Engine>,
    lane: &Lane<RoomId, Claimed>,
    taken: &mut Vec<Claimed>,
    judge: &Judge<'_>,
    mut context: TurnContext,
) -> Result<()> {
    let info = Arc::clone(&context.info);
    let busy = busy_policy(&engine.limits, &info);
    let collects = context.verdict.decision == Decision::Answer && !context.ask;
    if collects && matches!(busy, BusyPolicy::Collect | BusyPolicy::Interrupt) {
        gather(engine, lane, judge, &mut context, taken);
    }
    let mut edited = 0;
    let decision = loop {
        // Full, it is answered whatever else is said: a person who never stops must not keep
        // the rest waiting.
        let interruptible = collects
            && busy == BusyPolicy::Interrupt
            && context.merged.len() + 1 < engine.limits.collect;
        let from_bot = context.message.entry.envelope.from_bot;
        let watches = context.verdict.decision == Decision::Answer && edited < EDITS;
        let watch = engine.state.edits.watch(context.waiting());
        let interrupted = async {
            tokio::select! {
                () = interruption(lane, interruptible, judge) => Interruption::More,
                () = watch.changed(&*engine.store), if watches => Interruption::Edited,
            }
        };
        match Box::pin(answer(engine, context, lane.len(), interrupted)).await? {
            Ended::Committed(decision) => {
                engine.state.hops.count(info.room.id, from_bot, decision);
                break decision;
            }
            Ended::Interrupted(again, Interruption::Edited) => {
                context = *again;
                edited += 1;
                reread(&*engine.store, context.waiting_mut()).await;
                let why = "started again, because the message was edited meanwhile";
                context.verdict.step("edit", StepOutcome::Note, why);
            }
            Ended::Interrupted(again, Interruption::More) => {
                context = *again;
                if gather(engine, lane, judge, &mut context, taken) {
                    context.verdict.step(
                        "busy",
                        StepOutcome::Note,
                        "started again, because more was said meanwhile",
                    );
                }
            }
        }
    };
    if collects && busy == BusyPolicy::Drop && decision == Decision::Answer {
        drop_late(engine, lane).await;
    }
    Ok(())
}

/// Answers the messages of a context: shows typing, recalls, sees, thinks, commits, then evaluates.
/// `behind` messages of the room wait after it.
async fn answer(
    engine: &Arc<Engine>,
    mut context: TurnContext,
    behind: usize,
    interrupted: impl Future<Output = Interruption>,
) -> Result<Ended> {
    let id = engine.view.identity.id();
    let room = context.info.room.id;
    let started = engine.clock.now();
    engine.events.publish(Event::TurnStarted { agent: id, room, turn: context.turn });
    let (route, address) = (Arc::clone(&context.route), context.address());
    let thinking = async {
        context.recall(engine, behind).await?;
        // The question of joining in is asked without looking: strangers' albums would cost a call
        // each.
        if !context.ask && context.verdict.decision == Decision::Answer {
            Box::pin(see(engine, &mut context)).await;
        }
        tokio::select! {
            biased;
            thought = Box::pin(think(engine, &context)) => thought.map(Ok),
            why = interrupted => Ok(Err(why)),
        }
    };
    let thought = match Box::pin(typing::beside(&*engine.clock, &route, &address, thinking)).await?
    {
        Ok(thought) => thought,
        Err(why) => return Ok(Ended::Interrupted(Box::new(context), why)),
    };
    let (mut outcome, mut verdict, mut state) = thought;
    let links = |effect: &RequestedChange| matches!(effect, RequestedChange::LinkPeople { .. });
    let clears = |effect: &RequestedChange| matches!(effect, RequestedChange::MergeRoomMetadata { metadata, .. } if metadata.contains_key("resetAt"));
    let cleared = outcome.effects.iter().any(clears);
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
    if cleared {
        engine.events.publish(Event::RoomCleared { agent: id, room });
    }
    let decision = verdict.decision;
    if decision == Decision::Answer {
        engine.state.failures.answered();
    }
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
    if !engine.thinking.registry.evaluators.is_empty() && !replies.is_empty() {
        evaluate(engine, Committed::new(context, state, replies, verdict));
    }
    Ok(Ended::Committed(decision))
}

/// End of an answer.
enum Ended {
    /// It is committed, with this decision.
    Committed(Decision),
    /// Begun again; nothing was committed.
    Interrupted(Box<TurnContext>, Interruption),
}

/// Why an answer is begun again.
enum Interruption {
    /// A newer message came.
    More,
    /// The words of a message that it answers were changed.
    Edited,
}

/// Visit against whose limits the turn is counted.
async fn visit(
    budget: &Budget,
    place: &TurnPlace,
    judge: &Judge<'_>,
    judged: &Judged,
    first: &Waiting,
) -> Result<Visit> {
    let (policy, info, entity) = (&place.policy, &place.info, first.entry.memory.entity_id);
    match judged {
        Judged::Skip(_) | Judged::Expired(_) | Judged::Pair(_) => {
            Ok(Budget::bystander(policy, info, entity))
        }
        Judged::Answer(_) | Judged::Command(_) | Judged::Ask(_) => {
            let public = place.route.info.capabilities.public;
            budget.visit(policy, info, public, entity, judge.is_friend(first)).await
        }
    }
}

//! One turn, from a lane's next message to a committed answer. [`run_turn`] reads as the table of
//! contents of this folder.

use galatea_core::{
    Decision, Error, Result, RoomId, StepOutcome, kill_point,
    store::{InboxItem, InboxState},
};
use rand::RngExt;
use std::{sync::Arc, time::Duration};

use super::{
    answer::{Ended, answer},
    context::TurnContext,
    engine::Engine,
    gate::Judged,
    gather::{busy_policy, gather, interruption},
    judge::Judge,
    message::{Claimed, Waiting},
    more, pair,
    place::TurnPlace,
    refuse,
    skip::{self, drop_late, give_up, skip},
};
use crate::{
    budget::{Budget, Visit},
    config::BusyPolicy,
    lanes::Lane,
};

/// Turns begun for one message before it is given up: it seems to kill the program.
const ATTEMPTS: u32 = 10;
/// Turns begun for one message after which it may be what ends the program. From then on such
/// messages are answered one after another: whatever ends the program, only one of those that
/// happened to be under way is counted for it.
const SUSPECT: u32 = 3;
const SHUFFLE: Duration = Duration::from_millis(100);

/// How a turn ended.
pub(crate) enum TurnEnd {
    /// All that was taken is finished.
    Finished,
    /// The first message's Room has moved: the message goes on in the new one, still in flight.
    Moved(Box<(Claimed, InboxItem)>),
}

impl Engine {
    /// One turn: judges the first message of `taken`, gathers those of the lane that belong to it,
    /// and answers. Whatever else it takes from the lane is added to `taken`.
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
        let _alone = if first.attempts >= SUSPECT { Some(self.alone().await) } else { None };
        if first.read_back
            && let Err(error) = self.store.begin_turn(&[id]).await
        {
            tracing::warn!(message = %id, error = %error.report(), "failed to count a begun turn; the turn goes on");
        }

        let judge = Judge::new(self, &place, &first).await?;
        let judged = match skip::answered_before_edit(self, &first).await? {
            Some(verdict) => Judged::Skip(verdict),
            None => judge.evaluate(&first),
        };
        kill_point("gate");
        if first.attempts >= ATTEMPTS {
            give_up(self, first).await?;
            return Ok(TurnEnd::Finished);
        }
        let visit = visit(self, &place, &judge, &judged, &first).await?;
        if let Some(refused) = refuse::refusal(self, lane, &place, &first, &judged, &visit) {
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
            Judged::Answer(verdict) if more::is_asked(self, &first, &place.info) => {
                more::go_on(self, &place, first, verdict, visit).await?;
                return Ok(TurnEnd::Finished);
            }
            Judged::Answer(verdict) | Judged::Command(verdict) | Judged::Ask(verdict) => verdict,
        };

        let mut context = TurnContext::new(self, &place, first, verdict, visit);
        context.ask = ask;
        context.save(self);
        let busy = busy_policy(self, &place.info);
        let collects = context.verdict.decision == Decision::Answer && !ask;
        if collects && matches!(busy, BusyPolicy::Collect | BusyPolicy::Interrupt) {
            gather(self, lane, &judge, &mut context, taken);
        }
        let decision = loop {
            // Full, it is answered whatever else is said: a person who never stops must not keep
            // the rest waiting.
            let interruptible = collects
                && busy == BusyPolicy::Interrupt
                && context.merged.len() + 1 < self.limits.collect;
            let from_bot = context.message.entry.envelope.from_bot;
            let interrupted = interruption(lane, interruptible, &judge);
            match Box::pin(answer(self, context, lane.len(), interrupted)).await? {
                Ended::Committed(decision) => {
                    self.state.hops.count(place.info.room.id, from_bot, decision);
                    break decision;
                }
                Ended::Interrupted(again) => {
                    context = *again;
                    if gather(self, lane, &judge, &mut context, taken) {
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
            drop_late(self, lane).await;
        }
        Ok(TurnEnd::Finished)
    }

    /// Waits until no other suspect is answered, in random order: otherwise the same one would be
    /// counted each time.
    async fn alone(&self) -> tokio::sync::MutexGuard<'_, ()> {
        let pause = rand::rng().random_range(Duration::ZERO..SHUFFLE);
        tokio::time::sleep(pause).await;
        self.state.suspects.lock().await
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

/// Whose limits the turn is counted against.
async fn visit(
    engine: &Engine,
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
            engine.budget.visit(policy, info, public, entity, judge.is_friend(first)).await
        }
    }
}

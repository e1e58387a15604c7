//! Finishes a message that a limit keeps from being answered, and those of the same person that
//! wait behind it, in one commit.

use galatea_core::{
    ADMIN_COMMANDS, Decision, Event, Result, RoomId, StepOutcome, Verdict, verdict::Change,
};
use std::ops::ControlFlow;

use crate::{
    budget::{Budget, Refusal, Visit},
    commands::{self, known},
    directory::RoomInfo,
    lanes::Lane,
    turn::{
        commit::{commit, finish_unanswered, outcome::Outcome},
        context::{TurnContext, TurnPlace},
        engine::Engine,
        gate::{Judged, judge::Judge},
        message::{Claimed, Waiting},
        notice::limit_notice,
    },
};

/// Messages refused in one commit.
const AT_ONCE: usize = 100;

/// A message that is refused.
pub(crate) struct RefusedMessage {
    pub(crate) first: Waiting,
    /// With the limit noted.
    pub(crate) verdict: Verdict,
    pub(crate) visit: Visit,
    /// Absent for the queue share and for repeats, which get no notice.
    pub(crate) refusal: Option<Refusal>,
}

/// Limit that keeps the first message from being answered, if one does; a message that is let
/// through is counted.
///
/// # Errors
/// Those of the store, where other processes use the same limits.
pub(crate) async fn refusal(
    engine: &Engine,
    lane: &Lane<RoomId, Claimed>,
    place: &TurnPlace,
    first: &Waiting,
    judged: &Judged,
    visit: &Visit,
) -> Result<Option<RefusedMessage>> {
    if first.admitted {
        return Ok(None);
    }
    let (budget, now) = (&engine.budget, engine.clock.now());
    let refused = |verdict, refusal| {
        Ok(Some(RefusedMessage { first: first.clone(), verdict, visit: visit.clone(), refusal }))
    };
    let (verdict, admitted) = match judged {
        Judged::Answer(verdict) => {
            if let Some(verdict) = crowds(lane, &place.info, first, visit, verdict) {
                return refused(verdict, None);
            }
            (verdict, budget.admit(visit).await?)
        }
        // No answer goes to a code that does not wait, and each code waits for one answer to
        // an action that was counted.
        Judged::Command(_) if is_confirmation(first) => return Ok(None),
        Judged::Command(verdict) => {
            if let Some(verdict) = engine.state.shown.repeats(&place.info, first, verdict, now) {
                return refused(verdict, None);
            }
            let admitted = budget.admit_command(visit, rules(engine, place, first)).await?;
            if admitted.is_ok() {
                engine.state.shown.answers(&place.info, first, now);
            }
            (verdict, admitted)
        }
        Judged::Ask(verdict) => (verdict, budget.admit_opinion(visit).await?),
        Judged::Skip(_) | Judged::Expired(_) | Judged::Pair(_) => return Ok(None),
    };
    let Err(refusal) = admitted else { return Ok(None) };
    let mut verdict = verdict.clone();
    refusal.note(&mut verdict);
    refused(verdict, Some(refusal))
}

/// Not a command but the answer to a question of ours.
fn is_confirmation(message: &Waiting) -> bool {
    !message.entry.envelope.command.as_ref().is_some_and(|command| known::is_known(&command.name))
}

/// A command that changes the Room, of a person who may change it.
fn rules(engine: &Engine, place: &TurnPlace, message: &Waiting) -> bool {
    let entry = &message.entry;
    let is_of_admins = entry
        .envelope
        .command
        .as_ref()
        .is_some_and(|command| ADMIN_COMMANDS.contains(&command.name.as_str()));
    is_of_admins
        && commands::may_change(
            &place.info.room,
            place.info.world.as_ref(),
            entry.memory.entity_id,
            &engine.view.identity,
        )
}

/// The queue share: of many messages of one person that wait in a group, while others wait, the
/// newest are answered.
fn crowds(
    lane: &Lane<RoomId, Claimed>,
    info: &RoomInfo,
    first: &Waiting,
    visit: &Visit,
    verdict: &Verdict,
) -> Option<Verdict> {
    let (most, setting) = visit.queue_share()?;
    if info.room.kind.is_direct() || lane.len() <= most {
        return None;
    }
    let (mut own, mut others) = (0_usize, false);
    lane.scan(|next| {
        if next.entry.memory.entity_id == first.entry.memory.entity_id {
            own += 1
        } else {
            others = true
        }
        ControlFlow::Continue(())
    });
    if own <= most || !others {
        return None;
    }
    let mut verdict = verdict.clone();
    verdict.decision = Decision::Skip;
    verdict.step("queue-share", StepOutcome::Skip, format!("{own} newer messages of this person wait while others wait, too; the newest {most} are answered"));
    verdict.change = Some(Change { setting: setting.to_owned(), value: (own + 1).to_string() });
    Some(verdict)
}

/// True if another person's message may be answered together with the current ones; none when the
/// store must be read first.
pub(crate) fn admit(
    budget: &Budget,
    visit: &Visit,
    next: &Waiting,
    friend: bool,
) -> Option<std::result::Result<(), Refusal>> {
    let theirs = budget.visit_known(visit, next.entry.memory.entity_id, friend)?;
    budget.admit_known(&theirs)
}

/// Finishes a refused message and those of the same person behind it, and notifies the person if
/// that is due.
pub(crate) async fn refuse(
    engine: &Engine,
    lane: &Lane<RoomId, Claimed>,
    taken: &mut Vec<Claimed>,
    place: &TurnPlace,
    refused: RefusedMessage,
    judge: &Judge<'_>,
) -> Result<()> {
    let RefusedMessage { first, verdict, visit, refusal } = refused;
    let is_command = first
        .entry
        .envelope
        .command
        .as_ref()
        .is_some_and(|command| known::is_known(&command.name) && command.name != "ask");
    let (room, person, from_bot) =
        (place.info.room.id, first.entry.memory.entity_id, first.entry.envelope.from_bot);
    let mut verdicts = Vec::new();
    let more = match &refusal {
        Some(refusal) => lane.take_while(AT_ONCE, |next| {
            let (mut verdict, is_alike) = match judge.evaluate(next) {
                Judged::Answer(verdict) => (verdict, !is_command),
                Judged::Command(verdict) => {
                    let is_alike =
                        is_command && !is_confirmation(next) && !rules(engine, place, next);
                    (verdict, is_alike)
                }
                _ => return false,
            };
            if !is_alike || next.entry.memory.entity_id != person || next.admitted {
                return false;
            }
            refusal.note(&mut verdict);
            verdicts.push(verdict);
            true
        }),
        None => Vec::new(),
    };
    engine.state.hops.count(room, from_bot, Decision::Skip);
    let refused = u64::try_from(more.len() + 1).unwrap_or(u64::MAX);
    let addressed = verdict.steps.iter().any(|step| step.outcome == StepOutcome::Answer);
    let notice = refusal
        .as_ref()
        // A group that is flooded with commands is not flooded with notices instead.
        .filter(|_| addressed && !from_bot && (!is_command || place.info.room.kind.is_direct()))
        .and_then(|refusal| engine.budget.notice(&visit, refusal));
    tracing::debug!(room = %room, refused, notified = notice.is_some(), "a limit is reached");
    let of_the_day =
        notice.is_some() && refusal.as_ref().is_some_and(|refusal| !refusal.passes_soon());
    let usage = engine.budget.refused(&visit, refused, u64::from(of_the_day));
    let mut finished: Vec<(Waiting, Verdict)> = std::iter::once((first.clone(), verdict.clone()))
        .chain(more.iter().map(|claimed| claimed.message.clone()).zip(verdicts))
        .collect();
    taken.extend(more);
    let Some(text) = notice else {
        return finish_unanswered(engine, room, finished, vec![usage]).await;
    };
    if let Some((_, verdict)) = finished.first_mut() {
        verdict.step("notice", StepOutcome::Note, "a notice was sent to the person");
    }
    let outcome = Outcome { replies: vec![limit_notice(text)], ..Outcome::default() };
    let decided: Vec<_> = finished
        .iter()
        .map(|(waiting, verdict)| (waiting.entry.memory.id, verdict.decision))
        .collect();
    let context = TurnContext::new(engine, place, first, verdict, visit);
    context.meter.count(usage.amount);
    commit(engine, &context, outcome, finished).await?;
    for (memory, decision) in decided {
        engine.events.publish(Event::TurnDecided {
            agent: engine.view.identity.id(),
            room,
            turn: context.turn,
            memory,
            decision,
        });
    }
    Ok(())
}

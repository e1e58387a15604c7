//! Gathers messages that wait behind the first one and belong into the same answer.

use galatea_core::{Decision, RoomId, content::REPLACES};
use std::ops::ControlFlow;

use super::{
    context::TurnContext,
    engine::Engine,
    gate::Judged,
    message::{Claimed, Waiting},
    more::More,
};
use crate::{
    config::{BusyPolicy, Limits},
    directory::RoomInfo,
    lanes::Lane,
    turn::{ends::refuse, gate::judge::Judge},
};

/// Treatment of messages that arrive while an answer is made.
pub(super) fn busy_policy(limits: &Limits, info: &RoomInfo) -> BusyPolicy {
    limits.busy.unwrap_or(if info.room.kind.is_direct() {
        BusyPolicy::Collect
    } else {
        BusyPolicy::Each
    })
}

/// Takes what belongs into the answer. True when that adds to the question.
pub(super) fn gather(
    engine: &Engine,
    lane: &Lane<RoomId, Claimed>,
    judge: &Judge<'_>,
    context: &mut TurnContext,
    taken: &mut Vec<Claimed>,
) -> bool {
    let room_for = engine.limits.collect.saturating_sub(context.merged.len() + 1);
    let visit = &context.meter.visit;
    let mut verdicts = Vec::new();
    let more = lane.take_while(room_for, |next| match judge.evaluate(next) {
        // Its turn finds out whether the message was answered.
        _ if next.entry.envelope.edit_of.is_some() => false,
        _ if next.entry.memory.content.extra.contains_key(REPLACES) => false,
        // It is answered without a model.
        _ if judge.more(next) == More::Asked => false,
        // Several messages of one person get one answer; of several people each counts.
        Judged::Answer(mut verdict) => {
            let admitted = if next.admitted || judge.is_authors(next) {
                Some(Ok(()))
            } else {
                refuse::admit(&engine.budget, visit, next, judge.is_friend(next))
            };
            let Some(admitted) = admitted else { return false };
            if let Err(refusal) = admitted {
                refusal.note(&mut verdict);
            }
            verdicts.push(verdict);
            true
        }
        Judged::Skip(verdict) | Judged::Expired(verdict) => {
            verdicts.push(verdict);
            true
        }
        Judged::Command(_) | Judged::Ask(_) | Judged::Pair(_) => false,
    });
    let mut answers = false;
    for (mut next, verdict) in more.into_iter().zip(verdicts) {
        let message: Waiting = next.message.clone();
        next.message.admitted = true;
        taken.push(next);
        if verdict.decision == Decision::Answer {
            answers = true;
            context.merge(message);
        } else {
            context.passed.push((message, verdict));
        }
    }
    answers
}

/// Completes when something was said that belongs into this answer, if that is to interrupt.
pub(super) async fn interruption(lane: &Lane<RoomId, Claimed>, wanted: bool, judge: &Judge<'_>) {
    if !wanted {
        return std::future::pending().await;
    }
    loop {
        lane.arrived().await;
        let counts = lane.scan(|next| match judge.evaluate(next) {
            Judged::Answer(_) => ControlFlow::Break(true),
            Judged::Skip(_) | Judged::Expired(_) => ControlFlow::Continue(()),
            Judged::Command(_) | Judged::Ask(_) | Judged::Pair(_) => ControlFlow::Break(false),
        });
        if counts {
            return;
        }
    }
}

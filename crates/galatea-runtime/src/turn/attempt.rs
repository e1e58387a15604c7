//! Attempt: from a lane's next message to a committed turn, alone where it is suspected of ending the program.

use galatea_core::{Content, Decision, Error, ErrorKind, Result, RoomId, Verdict, kill_point, store::InboxState};
use rand::Rng;
use std::{ops::ControlFlow, sync::Arc, time::Duration};

use super::{
    Ended, Seat, Waiting, commit,
    gate::{self, Case, Judged},
    queue::{queue, waiting},
    run_turn,
    silence::{drop_late, give_up, skip},
};
use crate::{
    agent::Agent,
    config::{BusyPolicy, Policy},
    delivery::Route,
    lanes::Lane,
    pairing,
    rooms::RoomInfo,
};

/// Turns begun for one message before it is given up: it seems to kill the program.
const ATTEMPTS: u32 = 10;
/// Turns begun for one message after which it may be what ends the program. From then on such messages are answered one after another:
/// whatever ends the program, only one of those that happened to be under way is counted for it.
const SUSPECT: u32 = 3;
const SHUFFLE: Duration = Duration::from_millis(100);

/// One attempt at a turn: judges the first message, gathers what belongs to it, and answers.
pub(super) async fn attempt(agent: &Arc<Agent>, lane: &Lane<RoomId, Waiting>, taken: &mut Vec<Waiting>) -> Result<()> {
    let Some(first) = taken.first().cloned() else { return Ok(()) };
    if first.look_again && agent.store.inbox_item(first.entry.memory.id).await?.is_none_or(|item| item.state != InboxState::New) {
        return Ok(());
    }
    let room = first.entry.memory.room_id;
    let Some(info) = agent.rooms.load(agent.store.as_ref(), room).await? else { return follow(agent, taken, room).await };
    let (source, account) = (&first.entry.source, &first.entry.account);
    let route = agent.route(source, account).ok_or_else(|| Error::new(ErrorKind::Unavailable, "the platform's connector is not running yet"))?;
    let policy = agent.policy(source, account)?;
    let parent = info.parent.as_ref().map(galatea_core::RemoteId::as_str);
    let _alone = if first.attempts >= SUSPECT { Some(alone(agent).await) } else { None };
    if first.read_back
        && let Err(error) = agent.store.begin_turn(&[first.entry.memory.id]).await
    {
        tracing::warn!(error = %error.report(), "a begun turn could not be counted");
    }

    let paired = approved(agent, &policy, &first).await?;
    let entity = first.entry.memory.entity_id;
    let judge = |next: &Waiting| judge(agent, &policy, &info, &route, parent, next, paired && next.entry.memory.entity_id == entity);
    let judged = judge(&first);
    kill_point("gate");
    let mut seat = match judged {
        _ if first.attempts >= ATTEMPTS => return give_up(agent, room, first).await,
        Judged::Skip(verdict) | Judged::Expired(verdict) => return skip(agent, lane, taken, first, verdict, judge).await,
        Judged::Pair(verdict) => return pair(agent, info, route, first, verdict).await,
        Judged::Answer(verdict) | Judged::Command(verdict) => Seat::new(Arc::clone(&info), Arc::clone(&route), first, verdict),
        Judged::Ask(verdict) => {
            let mut seat = Seat::new(Arc::clone(&info), Arc::clone(&route), first, verdict);
            seat.ask = true;
            seat
        }
    };

    let busy = busy_policy(agent, &info);
    let collects = seat.verdict.decision == Decision::Answer && !seat.ask;
    let gather = |seat: &mut Seat, taken: &mut Vec<Waiting>| {
        let mut verdicts = Vec::new();
        let more = lane.take_while(agent.limits.collect.saturating_sub(seat.merged.len() + 1), |next| match judge(next) {
            Judged::Answer(verdict) | Judged::Skip(verdict) | Judged::Expired(verdict) => {
                verdicts.push(verdict);
                true
            }
            Judged::Command(_) | Judged::Ask(_) | Judged::Pair(_) => false,
        });
        taken.extend(more.iter().cloned());
        let mut answers = false;
        for (next, verdict) in more.into_iter().zip(verdicts) {
            if verdict.decision == Decision::Answer {
                answers = true;
                seat.merge(next);
            } else {
                seat.passed.push((next, verdict));
            }
        }
        answers
    };
    if collects && matches!(busy, BusyPolicy::Collect | BusyPolicy::Interrupt) {
        gather(&mut seat, taken);
    }
    let decision = loop {
        // Full, it is answered whatever else is said: somebody who never stops must not keep the rest waiting.
        let interruptible = collects && busy == BusyPolicy::Interrupt && seat.merged.len() + 1 < agent.limits.collect;
        let from_bot = seat.message.entry.envelope.from_bot;
        match Box::pin(run_turn(agent, seat, lane.len(), interruption(lane, interruptible, &judge))).await? {
            Ended::Committed(decision) => {
                count_hops(agent, room, from_bot, decision);
                break decision;
            }
            Ended::Interrupted(again) => {
                seat = *again;
                if gather(&mut seat, taken) {
                    seat.verdict.step("busy", "note", "started again, because more was said meanwhile");
                }
            }
        }
    };
    if collects && busy == BusyPolicy::Drop && decision == Decision::Answer {
        drop_late(agent, lane, taken, room).await;
    }
    Ok(())
}

/// Waits until no other suspect is answered, in no order: or it would always be the same one that is counted.
async fn alone(agent: &Agent) -> tokio::sync::MutexGuard<'_, ()> {
    let pause = rand::rng().random_range(Duration::ZERO..SHUFFLE);
    tokio::time::sleep(pause).await;
    agent.suspects.lock().await
}

/// A message whose room is gone: the room has moved while it waited, so it goes on in the new one.
async fn follow(agent: &Agent, taken: &mut Vec<Waiting>, room: RoomId) -> Result<()> {
    let Some(first) = taken.first() else { return Ok(()) };
    match agent.store.inbox_item(first.entry.memory.id).await? {
        Some(item) if item.state == InboxState::New && item.entry.memory.room_id != room => {
            // It stays marked as in a turn: only its lane changes.
            if let Some(next) = waiting(agent, item) {
                taken.clear();
                queue(agent, next);
            }
            Ok(())
        }
        Some(item) if item.state == InboxState::New => Err(Error::not_found("a message in a room that is not stored").with("room", room)),
        _ => Ok(()),
    }
}

/// Completes when something was said that belongs into this answer, if that is to interrupt.
async fn interruption(lane: &Lane<RoomId, Waiting>, wanted: bool, judge: &(impl Fn(&Waiting) -> Judged + Sync)) {
    if !wanted {
        return std::future::pending().await;
    }
    loop {
        lane.arrived().await;
        let counts = lane.scan(|next| match judge(next) {
            Judged::Answer(_) => ControlFlow::Break(true),
            Judged::Skip(_) | Judged::Expired(_) => ControlFlow::Continue(()),
            Judged::Command(_) | Judged::Ask(_) | Judged::Pair(_) => ControlFlow::Break(false),
        });
        if counts {
            return;
        }
    }
}

fn judge(agent: &Agent, policy: &Policy, info: &RoomInfo, route: &Route, parent: Option<&str>, waiting: &Waiting, paired: bool) -> Judged {
    gate::judge(&Case {
        policy,
        character: &agent.view.character,
        message: &waiting.entry.memory,
        envelope: &waiting.entry.envelope,
        room_kind: info.room.kind,
        room_remote: info.room.remote.as_str(),
        parent_remote: parent,
        own_state: info.own_state,
        public: route.info.capabilities.public,
        scripted: agent.models.large.info().scripted,
        hops: agent.hops.get(&info.room.id).unwrap_or(0),
        paired,
        received_at: waiting.received_at,
        now: agent.clock.now(),
        ahead: agent.clock.ahead(),
        message_ttl: agent.limits.message_ttl,
    })
}

async fn approved(agent: &Agent, policy: &Policy, waiting: &Waiting) -> Result<bool> {
    if policy.dm != crate::config::DmPolicy::Pairing {
        return Ok(false);
    }
    pairing::is_approved(&agent.store, &agent.clock, agent.view.identity.id(), waiting.entry.memory.entity_id).await
}

/// Answers to bots in a row. A person who speaks ends the run, answered or not.
pub(super) fn count_hops(agent: &Agent, room: RoomId, from_bot: bool, decision: Decision) {
    if !from_bot {
        agent.hops.invalidate(&room);
    } else if decision == Decision::Answer {
        agent.hops.insert(room, agent.hops.get(&room).unwrap_or(0) + 1);
    }
}

fn busy_policy(agent: &Agent, info: &RoomInfo) -> BusyPolicy {
    agent.limits.busy.unwrap_or(if info.room.kind.is_direct() { BusyPolicy::Collect } else { BusyPolicy::Each })
}

async fn pair(agent: &Arc<Agent>, info: Arc<RoomInfo>, route: Arc<Route>, waiting: Waiting, mut verdict: Verdict) -> Result<()> {
    let entity = waiting.entry.memory.entity_id;
    let name = waiting.entry.memory.metadata.get("entityName").and_then(serde_json::Value::as_str).unwrap_or("someone").to_owned();
    let code = {
        let _one_at_a_time = agent.pairing.lock().await;
        pairing::code_for(&agent.store, &agent.clock, agent.view.identity.id(), entity, &name).await?
    };
    let mut outcome = commit::Outcome::default();
    match code {
        Some(code) => {
            outcome.replies.push(Content::text(format!(
                "I only talk to people my owner knows. Ask the owner to run:\n\n`galatea pairing approve {code}`\n\nThe code is good for one hour."
            )));
            verdict.step("pairing", "note", "a code was sent");
        }
        None => verdict.step("pairing", "note", "too many strangers wait already, so no code was sent"),
    }
    let decision = verdict.decision;
    let (room, memory) = (info.room.id, waiting.entry.memory.id);
    let seat = Seat::new(info, route, waiting.clone(), verdict.clone());
    commit::commit(agent, &seat, outcome, vec![(waiting, verdict)]).await?;
    agent.events.publish(galatea_core::Event::TurnDecided { agent: agent.view.identity.id(), room, turn: seat.turn, memory, decision });
    Ok(())
}

//! Queue: a Room's lane of waiting messages → turns, one after another.

use futures::FutureExt;
use galatea_core::{
    Content, Decision, Error, ErrorKind, MemoryId, Result, RoomId, Timestamp, Verdict,
    store::{InboxEntry, InboxItem},
};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use super::{
    Ended, Seat, commit,
    gate::{self, Case, Judged},
    run_turn,
};
use crate::{
    agent::Agent,
    config::{BusyPolicy, Policy},
    delivery::Route,
    lanes::{Lane, Pushed, Taken},
    pairing,
    rooms::RoomInfo,
};

/// A message that waits for its turn.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    /// What was stored.
    pub(crate) entry: InboxEntry,
    /// When it was stored.
    pub(crate) received_at: Timestamp,
    /// Turns begun for it in earlier runs of the program.
    pub(crate) attempts: u32,
}

/// Messages kept in memory per room; more are read back from the store when their turn comes.
pub(crate) const IN_MEMORY: usize = 256;
/// Turns begun for one message before it is given up: it seems to kill the program.
const ATTEMPTS: u32 = 5;
const PAGE: u32 = 10_000;
const PAUSE: Duration = Duration::from_secs(1);

/// Puts a stored message into its room's lane.
pub(crate) fn enqueue(agent: &Arc<Agent>, entry: InboxEntry) {
    let now = agent.clock.now();
    push(agent, Waiting { entry, received_at: now, attempts: 0 });
}

fn push(agent: &Arc<Agent>, waiting: Waiting) {
    let Some(lanes) = agent.turns.get() else { return };
    let id = waiting.entry.memory.id;
    // Both the connector and recovery may hand over the same row: whoever comes first.
    if agent.in_turn.insert(id, ()).is_some() {
        return;
    }
    if lanes.push(waiting.entry.memory.room_id, waiting) == Pushed::Spilled {
        agent.in_turn.remove(&id);
    }
}

/// After a start: what was stored but not finished is answered now.
pub(crate) async fn recover(agent: Arc<Agent>, route: Arc<Route>) {
    let id = agent.view.identity.id();
    let items = loop {
        match agent.store.unfinished(id, &route.info.source, &route.info.account, PAGE).await {
            Ok(items) => break items,
            Err(error) => {
                tracing::error!(error = %error.report(), "cannot read what was left to answer; trying again");
                agent.clock.sleep(PAUSE).await;
            }
        }
    };
    let left: Vec<InboxItem> = items.into_iter().filter(|item| !agent.in_turn.contains_key(&item.entry.memory.id)).collect();
    if left.is_empty() {
        return;
    }
    tracing::info!(source = %route.info.source, count = left.len(), "messages left over from the last run are answered now");
    let ids: Vec<MemoryId> = left.iter().map(|item| item.entry.memory.id).collect();
    if let Err(error) = agent.store.begin_turn(&ids).await {
        tracing::warn!(error = %error.report(), "begun turns could not be counted");
    }
    for item in left {
        push(&agent, waiting(item));
    }
}

fn waiting(item: InboxItem) -> Waiting {
    Waiting { entry: item.entry, received_at: item.received_at, attempts: item.attempts }
}

/// Works one lane until it is empty.
pub(crate) async fn work(agent: Arc<Agent>, lane: Lane<RoomId, Waiting>) {
    loop {
        match lane.take() {
            Taken::Item(waiting) => {
                let ids = one(&agent, &lane, waiting).await;
                for id in ids {
                    agent.in_turn.remove(&id);
                }
            }
            Taken::ReadBack => read_back(&agent, &lane).await,
            Taken::Closed => return,
        }
    }
}

async fn read_back(agent: &Agent, lane: &Lane<RoomId, Waiting>) {
    let limit = u32::try_from(IN_MEMORY).unwrap_or(u32::MAX);
    match agent.store.unfinished_in_room(*lane.key(), limit).await {
        Ok(items) => {
            let complete = items.len() < IN_MEMORY;
            let fresh: Vec<Waiting> = items.into_iter().filter(|item| agent.in_turn.insert(item.entry.memory.id, ()).is_none()).map(waiting).collect();
            lane.put_back(fresh, complete);
        }
        Err(error) => {
            tracing::error!(room = %lane.key(), error = %error.report(), "cannot read back a room's messages; trying again");
            agent.clock.sleep(PAUSE).await;
        }
    }
}

/// One turn from its first message on. Gives the ids that it took out of the lane.
async fn one(agent: &Arc<Agent>, lane: &Lane<RoomId, Waiting>, first: Waiting) -> Vec<MemoryId> {
    let mut taken = vec![first.entry.memory.id];
    let mut pause = Duration::from_millis(250);
    loop {
        let attempt = AssertUnwindSafe(attempt(agent, lane, first.clone(), &mut taken)).catch_unwind().await;
        match attempt {
            Ok(Ok(())) => return taken,
            Ok(Err(error)) if error.kind() == ErrorKind::Conflict => {
                tracing::warn!(message = %taken[0], "finished by somebody else already");
                return taken;
            }
            // The store is away (disk full, I/O error): the room waits, nothing is lost, nothing is acknowledged.
            Ok(Err(error)) if error.kind() == ErrorKind::Unavailable => {
                tracing::error!(message = %taken[0], error = %error.report(), "a turn could not be stored; trying again");
                agent.clock.sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(10));
            }
            Ok(Err(error)) => {
                tracing::error!(message = %taken[0], error = %error.report(), "a turn failed; the message stays unanswered until the next start");
                return taken;
            }
            Err(_) => {
                tracing::error!(message = %taken[0], "a turn crashed; the message stays unanswered until the next start");
                return taken;
            }
        }
    }
}

async fn attempt(agent: &Arc<Agent>, lane: &Lane<RoomId, Waiting>, first: Waiting, taken: &mut Vec<MemoryId>) -> Result<()> {
    let room = first.entry.memory.room_id;
    let info =
        agent.rooms.load(agent.store.as_ref(), room).await?.ok_or_else(|| Error::not_found("a message in a room that is not stored").with("room", room))?;
    let (source, account) = (&first.entry.source, &first.entry.account);
    let route = agent.route(source, account).ok_or_else(|| Error::new(ErrorKind::Unavailable, "the platform's connector is not running yet"))?;
    let policy = agent.policy(source)?;
    let parent = parent_remote(&info);

    let judged = judge(agent, &policy, &info, &route, parent, &first, approved(agent, &policy, &first).await?);
    let mut seat = match judged {
        _ if first.attempts >= ATTEMPTS => return give_up(agent, info, route, first).await,
        Judged::Skip(verdict) | Judged::Expired(verdict) => return skip(agent, info, route, first, verdict).await,
        Judged::Pair(verdict) => return pair(agent, info, route, first, verdict).await,
        Judged::Answer(verdict) | Judged::Command(verdict) => Seat::new(Arc::clone(&info), Arc::clone(&route), first, verdict),
        Judged::Ask(verdict) => {
            let mut seat = Seat::new(Arc::clone(&info), Arc::clone(&route), first, verdict);
            seat.ask = true;
            seat
        }
    };
    count_hops(agent, room, &seat);

    let busy = busy_policy(agent, &info);
    let collects = seat.verdict.decision == Decision::Answer && !seat.ask;
    let gather = |seat: &mut Seat, taken: &mut Vec<MemoryId>| {
        let mut verdicts = Vec::new();
        let more = lane.take_while(agent.limits.collect.saturating_sub(seat.merged.len() + 1), |next| {
            match judge(agent, &policy, &info, &route, parent, next, false) {
                Judged::Answer(verdict) | Judged::Skip(verdict) | Judged::Expired(verdict) => {
                    verdicts.push(verdict);
                    true
                }
                Judged::Command(_) | Judged::Ask(_) | Judged::Pair(_) => false,
            }
        });
        let mut answers = false;
        for (next, verdict) in more.into_iter().zip(verdicts) {
            taken.push(next.entry.memory.id);
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
    loop {
        let interruptible = collects && busy == BusyPolicy::Interrupt;
        match run_turn(agent, seat, interruption(lane, interruptible)).await? {
            Ended::Committed => break,
            Ended::Interrupted(again) => {
                seat = *again;
                if gather(&mut seat, taken) {
                    seat.verdict.step("busy", "note", "started again, because more was said meanwhile");
                }
            }
        }
    }
    if collects && busy == BusyPolicy::Drop {
        for late in lane.take_while(usize::MAX, |w| w.entry.envelope.command.is_none()) {
            taken.push(late.entry.memory.id);
            let mut verdict = Verdict::default();
            verdict.step("busy", "skip", "it came while another message was being answered");
            verdict.change = Some(galatea_core::verdict::Change { setting: "BUSY_POLICY".into(), value: "collect".into() });
            skip(agent, Arc::clone(&info), Arc::clone(&route), late, verdict).await?;
        }
    }
    Ok(())
}

/// Completes when more was said, if that is to interrupt.
async fn interruption(lane: &Lane<RoomId, Waiting>, wanted: bool) {
    if wanted { lane.arrived().await } else { std::future::pending().await }
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
        message_ttl: agent.limits.message_ttl,
    })
}

/// A World's own id is its main room's on platforms where threads are rooms of a chat.
fn parent_remote(info: &RoomInfo) -> Option<&str> {
    info.room.parent_id.and(info.world.as_ref()).map(|world| world.remote.as_str())
}

async fn approved(agent: &Agent, policy: &Policy, waiting: &Waiting) -> Result<bool> {
    if policy.dm != crate::config::DmPolicy::Pairing {
        return Ok(false);
    }
    pairing::is_approved(&agent.store, &agent.clock, agent.view.identity.id(), waiting.entry.memory.entity_id).await
}

fn count_hops(agent: &Agent, room: RoomId, seat: &Seat) {
    if seat.message.entry.envelope.from_bot {
        agent.hops.insert(room, agent.hops.get(&room).unwrap_or(0) + 1);
    } else {
        agent.hops.invalidate(&room);
    }
}

fn busy_policy(agent: &Agent, info: &RoomInfo) -> BusyPolicy {
    agent.limits.busy.unwrap_or(if info.room.kind.is_direct() { BusyPolicy::Collect } else { BusyPolicy::Each })
}

/// Finishes a message without an answer.
async fn skip(agent: &Arc<Agent>, info: Arc<RoomInfo>, route: Arc<Route>, waiting: Waiting, verdict: Verdict) -> Result<()> {
    // A person who speaks ends a run of bot messages, answered or not.
    if !waiting.entry.envelope.from_bot && !waiting.entry.envelope.from_self {
        agent.hops.invalidate(&info.room.id);
    }
    end(agent, info, route, waiting, verdict, commit::Outcome::default()).await
}

async fn pair(agent: &Arc<Agent>, info: Arc<RoomInfo>, route: Arc<Route>, waiting: Waiting, mut verdict: Verdict) -> Result<()> {
    let entity = waiting.entry.memory.entity_id;
    let name = waiting.entry.memory.metadata.get("entityName").and_then(serde_json::Value::as_str).unwrap_or("someone").to_owned();
    let code = pairing::code_for(&agent.store, &agent.clock, agent.view.identity.id(), entity, &name).await?;
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
    end(agent, info, route, waiting, verdict, outcome).await
}

async fn give_up(agent: &Arc<Agent>, info: Arc<RoomInfo>, route: Arc<Route>, waiting: Waiting) -> Result<()> {
    let mut verdict = Verdict { decision: Decision::Failed, ..Verdict::default() };
    verdict.step("attempts", "failed", format!("{} turns were begun for it, and none was finished", waiting.attempts));
    end(agent, info, route, waiting, verdict, commit::Outcome::default()).await
}

async fn end(agent: &Arc<Agent>, info: Arc<RoomInfo>, route: Arc<Route>, waiting: Waiting, verdict: Verdict, outcome: commit::Outcome) -> Result<()> {
    let decision = verdict.decision;
    let (room, memory) = (info.room.id, waiting.entry.memory.id);
    tracing::debug!(room = %room, message = %memory, decision = ?decision, "decided");
    let seat = Seat::new(info, route, waiting.clone(), verdict.clone());
    commit::commit(agent, &seat, outcome, vec![(waiting, verdict)]).await?;
    agent.events.publish(galatea_core::Event::TurnDecided { agent: agent.view.identity.id(), room, turn: seat.turn, memory, decision });
    Ok(())
}

//! Queue: a Room's lane of waiting messages → turns, one after another.

use futures::FutureExt;
use galatea_core::{
    Content, Decision, Error, ErrorKind, Hint, MemoryId, Result, RoomId, Timestamp, Verdict, kill_point,
    store::{InboxEntry, InboxItem, InboxState},
};
use rand::Rng;
use std::{ops::ControlFlow, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use super::{
    Ended, Seat, commit,
    gate::{self, Case, Judged},
    run_turn,
    silence::{drop_late, give_up, skip},
    think,
};
use crate::{
    agent::Agent,
    config::{BusyPolicy, Policy},
    delivery::Route,
    lanes::{Lane, Pushed, Taken},
    leases::{Hands, Tenure},
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
    /// It was read back from the store, so its turn is counted there before it begins.
    pub(crate) read_back: bool,
    /// Answered only as long as its Room is this process's.
    pub(crate) tenure: Tenure,
}

/// Messages kept in memory per room; more are read back from the store when their turn comes.
pub(crate) const IN_MEMORY: usize = 256;
/// Turns begun for one message before it is given up: it seems to kill the program.
const ATTEMPTS: u32 = 10;
/// Turns begun for one message after which it may be what ends the program. From then on such messages are answered one after another:
/// whatever ends the program, only one of those that happened to be under way is counted for it.
const SUSPECT: u32 = 3;
const SHUFFLE: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_secs(1);
/// A commit is refused for a lease that was lost before this process knows of it: two signs of life later it does.
const LOSING: Duration = Duration::from_secs(2);

/// Puts a stored message into its room's lane. Before the leftovers of the last run are taken up it stays in the store,
/// behind them, and is read with them.
pub(crate) fn enqueue(agent: &Agent, entry: InboxEntry) {
    // Asked whatever follows: who says no has to read once more.
    let open = agent.any_route(&entry.source, &entry.account).is_some_and(|route| route.takeover.turns.admits());
    let tenure = match agent.shares.hands(&entry.source, entry.memory.room_id) {
        Hands::Own => open.then(Tenure::always),
        Hands::Share(share) => (share.intake.admits() && open).then(|| share.tenure.clone()),
        Hands::Others => {
            if entry.envelope.awaited {
                agent.awaited.insert(entry.memory.id, entry.clone());
            }
            agent.shares.hints().tell(Hint::Inbox);
            None
        }
    };
    if let Some(tenure) = tenure {
        let now = agent.clock.now();
        push(agent, Waiting { entry, received_at: now, attempts: 0, read_back: false, tenure });
    }
}

pub(super) fn push(agent: &Agent, waiting: Waiting) {
    // Both the connector and recovery may hand over the same row: whoever comes first.
    if agent.in_turn.insert(waiting.entry.memory.id, ()).is_none() {
        queue(agent, waiting);
    }
}

pub(super) fn queue(agent: &Agent, waiting: Waiting) {
    let Some(lanes) = agent.turns.get() else { return };
    let id = waiting.entry.memory.id;
    if lanes.push(waiting.entry.memory.room_id, waiting) == Pushed::Spilled {
        agent.in_turn.remove(&id);
    }
}

/// None when the Room is another process's.
pub(super) fn waiting(agent: &Agent, item: InboxItem) -> Option<Waiting> {
    let tenure = agent.shares.room(&item.entry.source, item.entry.memory.room_id)?;
    Some(Waiting { entry: item.entry, received_at: item.received_at, attempts: item.attempts, read_back: true, tenure })
}

/// Works one lane until it is empty.
pub(crate) async fn work(agent: Arc<Agent>, lane: Lane<RoomId, Waiting>) {
    loop {
        match lane.take() {
            // Another process has the Room now, and finds it in the store.
            Taken::Item(waiting) if !waiting.tenure.is_open() => {
                agent.in_turn.remove(&waiting.entry.memory.id);
            }
            Taken::Item(waiting) => {
                for id in one(&agent, &lane, waiting).await {
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
            let ours = items.into_iter().filter_map(|item| waiting(agent, item));
            let fresh: Vec<Waiting> = ours.filter(|waiting| agent.in_turn.insert(waiting.entry.memory.id, ()).is_none()).collect();
            lane.put_back(fresh, complete);
        }
        Err(error) => {
            tracing::error!(room = %lane.key(), error = %error.report(), "cannot read back a room's messages; trying again");
            agent.clock.sleep(PAUSE).await;
        }
    }
}

/// One turn from its first message on. Gives the ids that it is done with.
async fn one(agent: &Arc<Agent>, lane: &Lane<RoomId, Waiting>, first: Waiting) -> Vec<MemoryId> {
    let tenure = first.tenure.clone();
    let mut taken = vec![first];
    let mut pause = Duration::from_millis(250);
    loop {
        let outcome = AssertUnwindSafe(tenure.run(attempt(agent, lane, &mut taken))).catch_unwind().await;
        // Lost to another process, which begins anew.
        let Some(outcome) = outcome.transpose() else { return ids(&taken) };
        let error = match outcome {
            Ok(Ok(())) => return ids(&taken),
            Ok(Err(error)) => error,
            Err(_) => Error::unexpected("the turn crashed").with_code("GAL-TURN-PANIC"),
        };
        let settled = match error.kind() {
            ErrorKind::Unavailable => Err(error),
            ErrorKind::Conflict if tenure.fence().is_some() && tenure.is_lost_within(LOSING).await => return ids(&taken),
            ErrorKind::Conflict => sort_out(agent, lane, &mut taken, error).await,
            _ => fail(agent, &taken, &error).await,
        };
        match settled {
            Ok(()) => return ids(&taken),
            // The store is away (disk full, I/O error): the room waits, nothing is lost, nothing is acknowledged.
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                tracing::error!(room = %lane.key(), error = %error.report(), "a turn could not be stored; trying again");
                if tenure.run(agent.clock.sleep(pause)).await.is_none() {
                    return ids(&taken);
                }
                pause = (pause * 2).min(Duration::from_secs(10));
                // What was gathered besides the first waits again, or it would be forgotten.
                lane.put_front(taken.split_off(1));
            }
            Err(error) => {
                tracing::error!(room = %lane.key(), error = %error.report(), "a turn failed; its messages stay unanswered until the next start");
                return ids(&taken);
            }
        }
    }
}

pub(super) fn ids(taken: &[Waiting]) -> Vec<MemoryId> {
    taken.iter().map(|waiting| waiting.entry.memory.id).collect()
}

/// A turn whose messages were finished (deleted, or by another process) while it was made committed nothing: those still open
/// wait again, in their order.
async fn sort_out(agent: &Arc<Agent>, lane: &Lane<RoomId, Waiting>, taken: &mut Vec<Waiting>, error: Error) -> Result<()> {
    let (mut gone, mut open) = (Vec::new(), Vec::new());
    for waiting in taken.iter() {
        let item = agent.store.inbox_item(waiting.entry.memory.id).await?;
        if item.is_some_and(|item| item.state == InboxState::New) { open.push(waiting.clone()) } else { gone.push(waiting.clone()) }
    }
    if gone.is_empty() {
        return fail(agent, taken, &error).await;
    }
    tracing::info!(room = %lane.key(), gone = gone.len(), open = open.len(), "messages were deleted or finished by somebody else while they were answered");
    lane.put_front(open);
    *taken = gone;
    Ok(())
}

/// A turn that cannot be committed at all (a connector that cannot encode the answer, a crash) is finished as failed, and said.
async fn fail(agent: &Arc<Agent>, taken: &[Waiting], error: &Error) -> Result<()> {
    let Some(last) = taken.last() else { return Ok(()) };
    let room = last.entry.memory.room_id;
    tracing::error!(room = %room, code = error.code(), error = %error.report(), "a turn failed");
    let mut verdict = Verdict { decision: Decision::Failed, ..Verdict::default() };
    verdict.step("turn", "failed", error.to_string());
    let finished = |verdict: &Verdict| taken.iter().map(|waiting| (waiting.clone(), verdict.clone())).collect();
    if let Some(info) = agent.rooms.load(agent.store.as_ref(), room).await?
        && let Some(route) = agent.route(&last.entry.source, &last.entry.account)
    {
        let seat = Seat::new(info, route, last.clone(), verdict.clone());
        let mut told = verdict.clone();
        let outcome = think::notice(agent, &seat, &mut told, Some(think::BROKEN));
        let committed = AssertUnwindSafe(commit::commit(agent, &seat, outcome, finished(&told))).catch_unwind().await;
        match committed {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) if error.kind() == ErrorKind::Unavailable => return Err(error),
            // Even the notice cannot be said.
            Ok(Err(_)) | Err(_) => {}
        }
    }
    commit::silently(agent, room, finished(&verdict)).await
}

async fn attempt(agent: &Arc<Agent>, lane: &Lane<RoomId, Waiting>, taken: &mut Vec<Waiting>) -> Result<()> {
    let Some(first) = taken.first().cloned() else { return Ok(()) };
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
        match run_turn(agent, seat, lane.len(), interruption(lane, interruptible, &judge)).await? {
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
        drop_late(agent, lane, room).await;
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

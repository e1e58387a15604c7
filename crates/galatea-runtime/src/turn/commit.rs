//! Commit: memories, outbox rows and inbox-done in one commit (T2), then the parts go to their lane.

use galatea_core::{
    ActionResult, Address, Content, Decision, Delivery, DeliveryId, Error, ErrorKind, Event, Hint, Memory, MemoryId, MemoryKind, Outgoing, RemoteId, Result,
    RoomId, Timestamp, TurnId, Verdict, kill_point,
    protocol::Part,
    store::{Effect, FinishedMessage, InboxEntry, InboxState, NewDelivery, TurnRecord},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};

use super::{Seat, Waiting};
use crate::{
    agent::Agent,
    delivery::{Job, Route},
    doubt,
    leases::Tenure,
};

/// What a turn came to, before it is committed.
#[derive(Default)]
pub(crate) struct Outcome {
    /// What to say here, in order.
    pub(crate) replies: Vec<Content>,
    /// What to say elsewhere.
    pub(crate) elsewhere: Vec<(Address, Content)>,
    /// Changes.
    pub(crate) effects: Vec<Effect>,
    /// What actions did.
    pub(crate) results: Vec<ActionResult>,
    /// The model's reasoning.
    pub(crate) thought: Option<String>,
    /// Replies are worth remembering (notices are not).
    pub(crate) remember: bool,
    /// The reply tells the Room that something failed: not again for a while.
    pub(crate) notice: bool,
}

/// Commits a turn and hands its parts over. Gives the memories of the replies.
pub(crate) async fn commit(agent: &Arc<Agent>, seat: &Seat, outcome: Outcome, mut finished: Vec<(Waiting, Verdict)>) -> Result<Vec<Memory>> {
    let now = agent.clock.now();
    let address = agent.rooms.follow(seat.address());
    let mut record = TurnRecord {
        turn: seat.turn,
        agent: agent.view.identity.id(),
        room: address.room,
        memories: Vec::new(),
        deliveries: Vec::new(),
        finished: Vec::new(),
        effects: outcome.effects,
        at: now,
        fence: seat.message.tenure.fence(),
    };
    let mut jobs = Vec::new();
    let mut replies = Vec::new();
    let replies_are_none = outcome.replies.is_empty();
    for (n, mut content) in outcome.replies.into_iter().enumerate() {
        content.source.get_or_insert_with(|| seat.info.room.source.to_string());
        content.in_reply_to.get_or_insert(seat.message.entry.memory.id);
        if n == 0 {
            content.thought = outcome.thought.clone();
        }
        let memory = reply_memory(agent, seat, address.room, content.clone(), now);
        let reply_to = reply_target(seat).filter(|_| n == 0);
        let memory_id = outcome.remember.then_some(memory.id);
        parts(seat.turn, agent, &seat.route, address.clone(), &content, reply_to, memory_id, now, &mut jobs)?;
        if outcome.remember {
            record.memories.push(memory.clone());
            replies.push(memory);
        }
    }
    for (there, content) in outcome.elsewhere {
        let source = there.source.clone();
        let memory = memory_elsewhere(agent, &there, content.clone(), now).await;
        // What cannot be said elsewhere must not cost the answer here.
        let said = match agent.route(&there.source, &there.account) {
            Some(route) => parts(seat.turn, agent, &route, there, &content, None, Some(memory.id), now, &mut jobs),
            None => Err(Error::new(ErrorKind::Unavailable, "that platform is not connected")),
        };
        if said.is_ok() {
            record.memories.push(memory);
        } else if let Err(error) = said {
            tracing::warn!(turn = %seat.turn, source = %source, error = %error.report(), "what an action had to say elsewhere could not be sent");
            let answered = finished.iter_mut().filter(|(waiting, _)| seat.memories().any(|m| m.id == waiting.entry.memory.id));
            answered.for_each(|(_, verdict)| verdict.step("elsewhere", "failed", format!("nothing was said on {source}: {error}")));
        }
    }
    let answered = Some(&seat.message.entry.memory.id).filter(|_| !replies_are_none && reply_target(seat).is_some());
    let silent: Vec<Silent> =
        finished.iter().filter(|(w, _)| Some(&w.entry.memory.id) != answered).filter_map(|(w, v)| Silent::of(agent, &w.entry, v)).collect();
    record.finished = finished_rows(finished);
    record.memories.extend(outcome.results.into_iter().map(|result| result_memory(agent, seat, address.room, result, now)));
    let lanes = agent.sends.get();
    for (job, memory) in &mut jobs {
        // The first part of a room with nothing before it goes out at once; marking it here saves a commit.
        let first = job.delivery.part == 0 && lanes.is_some_and(|lanes| lanes.is_idle(&job.delivery.address.room));
        job.part.marked = first && sends(agent, &job.delivery.address);
        record.deliveries.push(NewDelivery { delivery: job.delivery.clone(), memory: *memory, sending: job.part.marked, expires: job.part.expires });
    }
    let effects = record.effects.clone();
    kill_point("commit.before");
    let (turn, first) = (record.turn, record.finished.first().map(|message| message.id));
    if let Err(error) = agent.store.finish_turn(record).await {
        doubt::settle(agent, error, turn, first).await?;
    }
    kill_point("commit.after");
    if outcome.notice {
        agent.notices.insert(seat.info.room.id, now);
    }
    agent.rooms.apply(&effects);
    if effects.iter().any(|effect| matches!(effect, Effect::ForgetPerson { .. })) {
        agent.known.clear();
    }
    silent.into_iter().for_each(|silent| silent.tell(agent));
    hand_over(agent, jobs.into_iter().map(|(job, _)| job));
    Ok(replies)
}

/// Whether this process sends to this address, and nothing there waits in the store.
fn sends(agent: &Agent, address: &Address) -> bool {
    agent.any_route(&address.source, &address.account).is_some_and(|route| route.sends().is_some() && route.takeover.sends.is_open())
}

/// Committed parts go to their lanes, or stay in the store for the process that sends.
pub(crate) fn hand_over(agent: &Agent, jobs: impl Iterator<Item = Job>) {
    let Some(lanes) = agent.sends.get() else { return };
    let sender = |address: &Address| {
        let route = agent.any_route(&address.source, &address.account)?;
        route.sends().map(|tenure| (route, tenure))
    };
    for mut job in jobs {
        let room = job.delivery.address.room;
        if let Some((_, tenure)) = sender(&job.delivery.address).filter(|(route, _)| route.takeover.sends.is_open()) {
            job.tenure = tenure;
            lanes.push(room, job);
            continue;
        }
        // Let go first: whoever sends from now on finds it in the store, or is told here that it read too early.
        drop(job.ticket.take());
        let Some((route, tenure)) = sender(&job.delivery.address) else {
            agent.shares.hints().tell(Hint::Outbox);
            continue;
        };
        if route.takeover.sends.admits() {
            job.ticket = agent.on_the_way.begin(job.delivery.id);
            job.tenure = tenure;
            if job.ticket.is_some() {
                lanes.push(room, job);
            }
        }
    }
}

/// Commits that messages get no answer.
pub(crate) async fn silently(agent: &Agent, room: RoomId, finished: Vec<(Waiting, Verdict)>) -> Result<()> {
    let (id, turn) = (agent.view.identity.id(), TurnId::fresh());
    let silent: Vec<Silent> = finished.iter().filter_map(|(waiting, verdict)| Silent::of(agent, &waiting.entry, verdict)).collect();
    // The agent's own words come back on some platforms; that is no news.
    let told = |(waiting, verdict): &(Waiting, Verdict)| (!waiting.entry.envelope.from_self).then_some((waiting.entry.memory.id, verdict.decision));
    let decided: Vec<(MemoryId, Decision)> = finished.iter().filter_map(told).collect();
    let fence = finished.first().and_then(|(waiting, _)| waiting.tenure.fence());
    let finished = finished_rows(finished);
    agent
        .store
        .finish_turn(TurnRecord {
            turn,
            agent: id,
            room,
            memories: Vec::new(),
            deliveries: Vec::new(),
            finished,
            effects: Vec::new(),
            at: agent.clock.now(),
            fence,
        })
        .await?;
    silent.into_iter().for_each(|silent| silent.tell(agent));
    for (memory, decision) in decided {
        tracing::debug!(room = %room, message = %memory, decision = ?decision, "decided");
        agent.events.publish(Event::TurnDecided { agent: id, room, turn, memory, decision });
    }
    Ok(())
}

/// For messages that another process has finished: where the platform shows that an answer is coming and none is, it is said.
pub(crate) async fn tell_awaited(agent: &Agent, route: &Route) {
    let mine = |entry: &InboxEntry| entry.source == route.info.source && entry.account == route.info.account;
    let waiting: Vec<MemoryId> = agent.awaited.iter().filter(|entry| mine(entry.value())).map(|entry| *entry.key()).collect();
    for id in waiting {
        let Ok(Some(item)) = agent.store.inbox_item(id).await else { continue };
        if item.state == InboxState::New {
            continue;
        }
        agent.awaited.remove(&id);
        if let Some(verdict) = item.verdict.filter(|verdict| !matches!(verdict.decision, Decision::Answer | Decision::Command))
            && let Some(silent) = Silent::of(agent, &item.entry, &verdict)
        {
            silent.tell(agent);
        }
    }
}

/// A message for which the platform shows that an answer is coming, and none is.
struct Silent {
    route: Arc<Route>,
    address: Address,
    message: RemoteId,
    why: String,
}

impl Silent {
    fn of(agent: &Agent, entry: &InboxEntry, verdict: &Verdict) -> Option<Self> {
        let InboxEntry { source, account, room_remote, remote, memory, .. } = entry;
        let route = agent.any_route(source, account).filter(|route| route.handler.awaits(remote))?;
        let address = Address { source: source.clone(), account: account.clone(), room: memory.room_id, remote: room_remote.clone() };
        let why = match verdict.decision {
            Decision::Merged => "I answer this together with what was said after it.".to_owned(),
            Decision::Expired => "I came to this too late to answer it.".to_owned(),
            Decision::Failed => "Something went wrong here, and I could not answer this.".to_owned(),
            Decision::Answer | Decision::Command | Decision::Skip => {
                let reason = verdict.steps.iter().rev().find(|step| step.outcome == "skip").map_or("there is nothing to say", |step| &step.reason);
                format!("I do not answer this: {reason}.")
            }
        };
        Some(Self { route, address, message: remote.clone(), why })
    }

    fn tell(self, agent: &Agent) {
        let halt = agent.halt.clone();
        agent.tasks.spawn(async move {
            let Self { route, address, message, why } = self;
            if let Some(Err(error)) = halt.run_until_cancelled(route.stack.unanswered(&address, &message, &why)).await {
                tracing::info!(room = %address.room, error = %error.report(), "whoever asked could not be told that there is no answer");
            }
        });
    }
}

fn finished_rows(finished: Vec<(Waiting, Verdict)>) -> Vec<FinishedMessage> {
    finished.into_iter().map(|(waiting, verdict)| FinishedMessage { id: waiting.entry.memory.id, state: state_of(verdict.decision), verdict }).collect()
}

/// Encodes and numbers the parts of one message.
#[allow(clippy::too_many_arguments, reason = "one row of the outbox has this many sides, and they come from four places")]
fn parts(
    turn: TurnId,
    agent: &Agent,
    route: &Route,
    address: Address,
    content: &Content,
    reply_to: Option<RemoteId>,
    memory: Option<MemoryId>,
    now: Timestamp,
    jobs: &mut Vec<(Job, Option<MemoryId>)>,
) -> Result<()> {
    let outgoing = Outgoing::Message { content: content.clone(), reply_to };
    for body in route.handler.encode(&outgoing)? {
        let part = u32::try_from(jobs.len()).map_err(|_| Error::unexpected("more parts than can be counted"))?;
        jobs.push((job(agent, turn, part, address.clone(), body, now, Some(agent.limits.answer_ttl)), memory));
    }
    Ok(())
}

/// A fresh job for one part.
pub(crate) fn job(agent: &Agent, turn: TurnId, part: u32, address: Address, body: galatea_core::Encoded, now: Timestamp, ttl: Option<Duration>) -> Job {
    let id = DeliveryId::fresh();
    let delivery = Delivery { id, agent: agent.view.identity.id(), turn, part, address, key: key(id), body, attempt: 0, created_at: now, previous: None };
    // In hand before it is committed, or whoever looks through the store would take it up, too.
    let ticket = agent.on_the_way.begin(id);
    Job { delivery, part: Part::new(now, ttl.map(|ttl| now.plus(ttl))), ticket, tenure: Tenure::always(), ahead: agent.clock.ahead(), look_again: false }
}

/// Base62 of the id: 22 characters hold 128 bits, and Discord's nonce takes 25.
fn key(id: DeliveryId) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut value = id.0.as_u128();
    let mut key = [b'0'; 22];
    for place in key.iter_mut().rev() {
        // A remainder of 62 indexes 62 digits.
        *place = DIGITS[(value % 62) as usize];
        value /= 62;
    }
    key.iter().map(|b| char::from(*b)).collect()
}

fn state_of(decision: Decision) -> InboxState {
    match decision {
        Decision::Answer | Decision::Merged | Decision::Command => InboxState::Done,
        Decision::Skip => InboxState::Skipped,
        Decision::Expired => InboxState::Expired,
        Decision::Failed => InboxState::Dead,
    }
}

/// In groups the question is quoted, so that everybody sees what is answered; between two it would only be noise,
/// unless several were answered at once or the platform keeps a place for the answer.
fn reply_target(seat: &Seat) -> Option<RemoteId> {
    let pressed = seat.message.entry.envelope.pressed.is_some();
    let remote = &seat.message.entry.remote;
    let shown = !seat.info.room.kind.is_direct() || !seat.merged.is_empty() || seat.message.entry.envelope.awaited || seat.route.handler.awaits(remote);
    (!pressed && shown).then(|| remote.clone())
}

fn reply_memory(agent: &Agent, seat: &Seat, room: RoomId, content: Content, now: Timestamp) -> Memory {
    let mut metadata = serde_json::Map::new();
    metadata.insert("type".into(), json!("message"));
    metadata.insert("entityName".into(), json!(agent.view.character.name));
    metadata.insert("turn".into(), json!(seat.turn));
    Memory {
        id: MemoryId::fresh(),
        kind: MemoryKind::Messages,
        agent_id: agent.view.identity.id(),
        entity_id: agent.view.identity.entity(),
        room_id: room,
        world_id: Some(seat.info.room.world_id),
        content,
        metadata,
        created_at: now,
    }
}

/// What is said in another Room is remembered there: whoever takes it up finds an agent that knows what it said.
pub(crate) async fn memory_elsewhere(agent: &Agent, there: &Address, mut content: Content, now: Timestamp) -> Memory {
    content.source.get_or_insert_with(|| there.source.to_string());
    let mut metadata = serde_json::Map::new();
    metadata.insert("type".into(), json!("message"));
    metadata.insert("entityName".into(), json!(agent.view.character.name));
    // Without its World it is found by its Room still.
    let info = agent.rooms.load(agent.store.as_ref(), there.room).await.ok().flatten();
    Memory {
        id: MemoryId::fresh(),
        kind: MemoryKind::Messages,
        agent_id: agent.view.identity.id(),
        entity_id: agent.view.identity.entity(),
        room_id: there.room,
        world_id: info.map(|info| info.room.world_id),
        content,
        metadata,
        created_at: now,
    }
}

fn result_memory(agent: &Agent, seat: &Seat, room: RoomId, result: ActionResult, now: Timestamp) -> Memory {
    let content = Content { actions: vec![result.action], ..Content::text(result.text) };
    let mut memory = Memory { kind: MemoryKind::ActionResult, ..reply_memory(agent, seat, room, content, now) };
    memory.metadata.insert("type".into(), json!("action_result"));
    memory.metadata.insert("success".into(), json!(result.success));
    if !result.data.is_empty() {
        memory.metadata.insert("data".into(), json!(result.data));
    }
    memory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_short_distinct_and_stable() {
        let (a, b) = (DeliveryId::fresh(), DeliveryId::fresh());
        assert_eq!(key(a).len(), 22);
        assert_eq!(key(a), key(a));
        assert_ne!(key(a), key(b));
        assert!(key(a).bytes().all(|c| c.is_ascii_alphanumeric()));
    }
}

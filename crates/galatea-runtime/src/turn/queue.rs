//! Queue: a Room's lane of waiting messages → turns, one after another. What is taken is in hand until its end is stored.

use futures::FutureExt;
use galatea_core::{
    Decision, Error, ErrorKind, Hint, MemoryId, Result, RoomId, Timestamp, Verdict,
    store::{InboxEntry, InboxItem, InboxState},
};
use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, PoisonError},
    time::Duration,
};

use super::{Seat, attempt::attempt, commit, think};
use crate::{
    agent::Agent,
    delivery,
    lanes::{Lane, Pushed, Taken},
    leases::{Hands, Tenure},
};

/// A message that waits for its turn.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    /// What was stored.
    pub(crate) entry: Arc<InboxEntry>,
    /// When it was stored.
    pub(crate) received_at: Timestamp,
    /// Turns begun for it in earlier runs of the program.
    pub(crate) attempts: u32,
    /// It was read back from the store, so its turn is counted there before it begins.
    pub(crate) read_back: bool,
    /// It may have been finished by whoever had it in hand while it was read.
    pub(crate) look_again: bool,
    /// Answered only as long as its Room is this process's.
    pub(crate) tenure: Tenure,
}

/// Messages kept in memory per room; more are read back from the store when their turn comes.
pub(crate) const IN_MEMORY: usize = 256;
/// Until a message that somebody has in hand is let go.
const IN_HAND: Duration = Duration::from_millis(20);
const PAUSE: Duration = Duration::from_secs(1);
/// A commit is refused for a lease that was lost before this process knows of it: two signs of life later it does.
const LOSING: Duration = Duration::from_secs(2);

/// Puts a stored message into its room's lane. Before the leftovers of the last run are taken up it stays in the store,
/// behind them, and is read with them.
pub(crate) fn enqueue(agent: &Agent, entry: InboxEntry) {
    if let Some(tenure) = admitted(agent, &entry) {
        let received_at = agent.clock.now();
        push(agent, Waiting { entry: Arc::new(entry), received_at, attempts: 0, read_back: false, look_again: false, tenure });
    }
}

/// The same for one that was stored before. When the store's answer to that was lost, it waits there in nobody's hands, and what follows it
/// would overtake it.
///
/// # Errors
/// The store cannot tell: nothing after it may go on.
pub(crate) async fn enqueue_again(agent: &Agent, id: MemoryId) -> Result<()> {
    if agent.in_turn.contains_key(&id) {
        return Ok(());
    }
    let item = agent.store.inbox_item(id).await?.filter(|item| item.state == InboxState::New);
    if let Some(InboxItem { entry, received_at, attempts, .. }) = item
        && let Some(tenure) = admitted(agent, &entry)
    {
        push(agent, Waiting { entry: Arc::new(entry), received_at, attempts, read_back: true, look_again: true, tenure });
    }
    Ok(())
}

/// The right to begin with a stored message at once, if it does not wait in the store for what goes before it or for another process.
fn admitted(agent: &Agent, entry: &InboxEntry) -> Option<Tenure> {
    // Asked whatever follows: who says no has to read once more.
    let open = agent.any_route(&entry.source, &entry.account).is_some_and(|route| route.takeover.turns.admits());
    match agent.shares.hands(&entry.source, entry.memory.room_id) {
        Hands::Own => open.then(Tenure::always),
        Hands::Share(share) => (share.intake.admits() && open).then(|| share.tenure.clone()),
        Hands::Others => {
            if entry.envelope.awaited {
                agent.awaited.insert(entry.memory.id, entry.clone());
            }
            agent.shares.hints().tell(Hint::Inbox);
            None
        }
    }
}

pub(super) fn push(agent: &Agent, waiting: Waiting) {
    // One step for whoever asks what is in hand: were it marked and not yet in its lane, what follows it could be put there before it.
    let _whole = agent.handing.lock().unwrap_or_else(PoisonError::into_inner);
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
    Some(Waiting { entry: Arc::new(item.entry), received_at: item.received_at, attempts: item.attempts, read_back: true, look_again: false, tenure })
}

/// Works one lane until it is empty.
pub(crate) async fn work(agent: Arc<Agent>, lane: Lane<RoomId, Waiting>) {
    loop {
        match lane.take() {
            // Another process has the Room now, and finds it in the store; if the Room comes back here, what is stored goes on in its order.
            Taken::Item(waiting) if !waiting.tenure.is_open() => {
                let behind = lane.spill();
                for waiting in std::iter::once(waiting).chain(behind) {
                    agent.in_turn.remove(&waiting.entry.memory.id);
                }
            }
            Taken::Item(waiting) => {
                for id in one(&agent, &lane, waiting).await {
                    agent.in_turn.remove(&id);
                }
            }
            Taken::ReadBack => Box::pin(read_back(&agent, &lane)).await,
            Taken::Closed => return,
        }
    }
}

/// Whether this process may begin with what is stored of the message's Room.
fn is_taken_up(agent: &Agent, item: &InboxItem) -> bool {
    match agent.shares.hands(&item.entry.source, item.entry.memory.room_id) {
        Hands::Share(share) => share.intake.is_open(),
        Hands::Own | Hands::Others => true,
    }
}

async fn read_back(agent: &Agent, lane: &Lane<RoomId, Waiting>) {
    let limit = u32::try_from(IN_MEMORY).unwrap_or(u32::MAX);
    match agent.store.unfinished_in_room(*lane.key(), limit).await {
        Ok(items) => {
            let mut complete = items.len() < IN_MEMORY;
            let mut fresh = Vec::new();
            for item in items {
                // What another process left for this Room goes first.
                let here = is_taken_up(agent, &item);
                let Some(waiting) = waiting(agent, item) else {
                    complete = true;
                    break;
                };
                // Those behind one that is on its way here wait for it.
                if !here || agent.in_turn.insert(waiting.entry.memory.id, ()).is_some() {
                    complete = false;
                    break;
                }
                fresh.push(waiting);
            }
            if !complete && fresh.is_empty() {
                tokio::time::sleep(IN_HAND).await;
            }
            lane.put_back(fresh, complete);
        }
        Err(error) => {
            tracing::error!(room = %lane.key(), error = %error.report(), "cannot read back a room's messages; trying again");
            agent.clock.sleep(PAUSE).await;
        }
    }
}

/// One turn from its first message on. Its steps are boxed, here and where they have steps of their own: a lane keeps the room of the largest
/// future in it as long as it lives, and there are as many lanes as busy Rooms. Gives the ids that it is done with.
async fn one(agent: &Arc<Agent>, lane: &Lane<RoomId, Waiting>, first: Waiting) -> Vec<MemoryId> {
    let tenure = first.tenure.clone();
    let mut taken = vec![first];
    let mut pause = Duration::from_millis(250);
    loop {
        let outcome = AssertUnwindSafe(tenure.run(Box::pin(attempt(agent, lane, &mut taken)))).catch_unwind().await;
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
            ErrorKind::Conflict => Box::pin(sort_out(agent, lane, &mut taken, error)).await,
            _ => Box::pin(fail(agent, &taken, &error)).await,
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
                // A Room that is to go to another process goes, whatever it waits for here.
                if !tenure.is_open() {
                    return ids(&taken);
                }
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
    // Another process's answer to them goes out before what is answered here next.
    if let Some(first) = taken.first()
        && let Some(route) = agent.any_route(&first.entry.source, &first.entry.account)
    {
        delivery::look_behind(agent, &route).await;
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

//! Runs one Room's turns, one after another.

use futures::FutureExt;
use galatea_core::{Backoff, Error, ErrorKind, Result, RoomId, store::InboxState};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use super::{
    reconcile::read_lane,
    state::{Inbox, InboxParts},
};
use crate::{
    lanes::{Lane, Taken},
    turn::{Claimed, TurnEnd},
};

/// First and longest pause before a turn that could not be stored is made again.
const PAUSE: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(10);
/// A commit is refused for a lease that was lost before this process knows of it: two heartbeats
/// later it does.
const LOSING: Duration = Duration::from_secs(2);

impl Inbox {
    /// An inbox whose lanes run turns.
    pub(crate) fn new(parts: InboxParts) -> Arc<Self> {
        Self::assemble(parts, work)
    }
}

/// Works one lane until it is empty.
async fn work(inbox: Arc<Inbox>, lane: Lane<RoomId, Claimed>) {
    loop {
        match lane.take() {
            // Another process has the Room now, and finds it in the store; if the Room comes back
            // here, the stored messages go on in their order.
            Taken::Item(first) if !first.lease.is_open() => {
                let behind = lane.spill();
                drop(first);
                behind.into_iter().for_each(drop);
            }
            Taken::Item(first) => run(&inbox, &lane, first).await,
            Taken::ReadBack => Box::pin(read_lane(&inbox, &lane)).await,
            Taken::Closed => return,
        }
    }
}

/// A turn from its first message on; the messages taken for it are in flight until this returns.
/// Its steps are boxed, here and where they have steps of their own: a lane keeps the room of the
/// largest future in it as long as it lives, and there are as many lanes as busy Rooms.
async fn run(inbox: &Arc<Inbox>, lane: &Lane<RoomId, Claimed>, first: Claimed) {
    let lease = first.lease.clone();
    let mut taken = vec![first];
    let mut backoff = Backoff::new(PAUSE, LONGEST);
    loop {
        // Once per turn: a change of the agent applies from the next one on.
        let engine = inbox.engine.current();
        let instance = inbox.instances.enter(engine.limits.instances);
        let Some(instance) = lease.run(instance).await else { return };
        let turn = Box::pin(engine.run_turn(lane, &mut taken));
        let outcome = AssertUnwindSafe(lease.run(turn)).catch_unwind().await;
        drop(instance);
        // Lost to another process, which starts over.
        let Some(outcome) = outcome.transpose() else { return };
        let error = match outcome {
            Ok(Ok(TurnEnd::Finished)) => return,
            Ok(Ok(TurnEnd::Moved(moved))) => {
                let (Claimed { in_flight, .. }, item) = *moved;
                if let Some(message) = inbox.to_waiting(item) {
                    inbox.requeue(Claimed { message, in_flight });
                }
                return;
            }
            Ok(Err(error)) => error,
            Err(_) => Error::unexpected("the turn crashed").with_code("GAL-TURN-PANIC"),
        };
        let settled = match error.kind() {
            ErrorKind::Unavailable | ErrorKind::Exhausted => Err(error),
            ErrorKind::Conflict
                if lease.fence().is_some() && lease.is_lost_within(LOSING).await =>
            {
                return;
            }
            ErrorKind::Conflict => Box::pin(sort_out(inbox, lane, &mut taken, error)).await,
            _ => Box::pin(engine.fail(&taken, &error)).await,
        };
        match settled {
            Ok(()) => return,
            // The store is away (disk full, I/O error), or this machine has no open files left: the
            // room waits, nothing is lost, nothing is acknowledged.
            Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Exhausted) => {
                let what = if error.kind() == ErrorKind::Exhausted { "answered" } else { "stored" };
                tracing::error!(room = %lane.key(), code = error.code(), error = %error.report(), "a turn could not be {what}; trying again");
                // It was counted once; waiting for this process's own trouble does not make it the
                // message that ends the program.
                if let Some(first) = taken.first_mut() {
                    first.message.read_back = false;
                }
                if lease.run(inbox.clock.sleep(backoff.next_pause())).await.is_none() {
                    return;
                }
                // The messages gathered besides the first wait again, or they would be forgotten.
                lane.put_front(taken.split_off(1));
                // A Room that is to go to another process goes, whatever it waits for here.
                if !lease.is_open() {
                    return;
                }
            }
            Err(error) => {
                tracing::error!(room = %lane.key(), error = %error.report(), "a failed turn could not be finished; its messages stay unanswered until the next start");
                return;
            }
        }
    }
}

/// A turn whose messages were finished (deleted, or by another process) while it was made committed
/// nothing: those still open wait again, in their order.
async fn sort_out(
    inbox: &Inbox,
    lane: &Lane<RoomId, Claimed>,
    taken: &mut Vec<Claimed>,
    error: Error,
) -> Result<()> {
    let mut open = Vec::new();
    for claimed in taken.iter() {
        let item = inbox.store.inbox_item(claimed.entry.memory.id).await?;
        open.push(item.is_some_and(|item| item.state == InboxState::New));
    }
    let gone = open.iter().filter(|open| !**open).count();
    if gone == 0 {
        return inbox.engine.fail(taken, &error).await;
    }
    // Another process's answer to them goes out before the next answer from here.
    if let Some(first) = taken.first()
        && let Some(route) = inbox.outbox.routes.any(&first.entry.source, &first.entry.account)
    {
        inbox.outbox.catch_up(&route).await;
    }
    tracing::info!(room = %lane.key(), gone, open = open.len() - gone, "messages were deleted or finished elsewhere while they were answered; the others wait again");
    let mut is_open = open.into_iter();
    let again = taken.extract_if(.., |_| is_open.next().unwrap_or(false)).collect();
    lane.put_front(again);
    Ok(())
}

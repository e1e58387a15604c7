//! Read back: when an account goes to another process, what waits in a lane goes back to the store. When the account is here again, the lane
//! goes on with what the store says, in its order; otherwise what came since would overtake what waited.

use galatea_core::{RoomId, store::OutboxItem};
use std::{sync::Arc, time::Duration};

use super::{Job, Route, recover::job};
use crate::{agent::Agent, lanes::Lane};

/// Until a part that somebody has in hand is stored or let go.
const IN_HAND: Duration = Duration::from_millis(20);
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// Lets go of a part whose account is another process's, and of all that waits behind it, the first one first: whoever finds one of them in
/// the store finds those before it, too.
pub(super) fn let_go(lane: &Lane<RoomId, Job>, first: Job) {
    let waiting = lane.spill();
    drop(first);
    waiting.into_iter().for_each(drop);
}

/// Takes up what is stored for a lane, as far as its accounts are here.
pub(super) async fn read_back(agent: &Agent, lane: &Lane<RoomId, Job>) {
    let routes: Vec<Arc<Route>> = agent.routes.iter().map(|route| Arc::clone(&route)).collect();
    let (mut jobs, mut complete) = (Vec::new(), true);
    for route in routes {
        let Some(tenure) = route.sends() else { continue };
        let stored = agent.store.unsettled(agent.view.identity.id(), &route.info.source, &route.info.account, &[], u32::MAX).await;
        let stored = match stored {
            Ok(stored) => stored,
            Err(error) => {
                tracing::error!(room = %lane.key(), error = %error.report(), "cannot read what was left to send; trying again");
                tokio::time::sleep(PAUSE).await;
                return lane.put_back(jobs, false);
            }
        };
        let of_lane = |item: &OutboxItem| item.delivery.address.room == *lane.key();
        for item in stored.into_iter().filter(of_lane) {
            // Just ended and not stored yet, or on its way here: those behind it wait for that.
            let Some(ticket) = agent.on_the_way.begin(item.delivery.id) else {
                complete = false;
                break;
            };
            jobs.push(job(agent, item, ticket, &tenure));
        }
    }
    if !complete && jobs.is_empty() {
        tokio::time::sleep(IN_HAND).await;
    }
    lane.put_back(jobs, complete);
}

/// Reads a part anew. False when it has ended, or is another process's before that is known.
pub(super) async fn is_still_open(agent: &Agent, job: &mut Job) -> bool {
    while job.tenure.is_open() {
        match agent.store.outbox_item(job.delivery.id).await {
            Ok(item) => {
                let open = item.filter(|item| item.state.is_open());
                return open.map(|item| job.read(agent, item)).is_some();
            }
            Err(error) => {
                tracing::debug!(delivery = %job.delivery.id, error = %error.report(), "cannot read how a part stands; trying again");
                agent.clock.sleep(PAUSE).await;
            }
        }
    }
    false
}

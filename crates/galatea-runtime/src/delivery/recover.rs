//! Recover: after a start, deliveries that were committed but not settled go on where they were.

use galatea_core::{kill_point, protocol::Part, store::OutboxItem};
use std::{sync::Arc, time::Duration};

use super::{Job, Route, Ticket};
use crate::agent::Agent;

/// All of them, as there is no later moment to read the rest: what waits here is bounded by the age at which answers expire.
const ALL: u32 = u32::MAX;
const PAUSE: Duration = Duration::from_secs(1);
/// The oldest rows are read first, and these are the oldest.
const AT_ONCE: u32 = 256;
/// The inbox is hardly ever ahead of its lanes.
const LOOKS_PER_SWEEP: u64 = 10;

/// Puts one account's unsettled deliveries into their lanes, in order of commit. Until then nothing new is sent through it,
/// or the same row could be read back here and sent twice.
pub(crate) async fn recover(agent: &Agent, route: &Route) {
    let id = agent.view.identity.id();
    let items = loop {
        match agent.store.unsettled(id, &route.info.source, &route.info.account, ALL).await {
            Ok(items) => break items,
            Err(error) => {
                tracing::error!(error = %error.report(), "cannot read what was left to send; trying again");
                agent.clock.sleep(PAUSE).await;
            }
        }
    };
    if !items.is_empty() {
        tracing::info!(source = %route.info.source, count = items.len(), "deliveries left over from the last run go on");
    }
    for item in items {
        if let Some(ticket) = agent.on_the_way.begin(item.delivery.id) {
            push(agent, item, ticket);
        }
    }
    kill_point("takeover.sends");
    route.takeover.sends_done();
}

fn push(agent: &Agent, item: OutboxItem, ticket: Ticket) {
    let part = Part::stored(&item);
    let job = Job { delivery: item.delivery, part, ticket: Some(ticket) };
    if let Some(lanes) = agent.sends.get() {
        lanes.push(job.delivery.address.room, job);
    }
}

/// Takes up what somebody else put into the outbox, such as an operator who wants a part sent again, and now and then what the inbox holds
/// and nobody has.
async fn look_around(agent: &Agent, route: &Route) {
    let id = agent.view.identity.id();
    for look in 1_u64.. {
        tokio::select! {
            () = agent.stop.cancelled() => return,
            // The machine's time: nothing is decided by when somebody looks.
            () = tokio::time::sleep(agent.look_around) => {}
        }
        // A failure is told by whoever writes; this one tries again anyway.
        let items = agent.store.unsettled(id, &route.info.source, &route.info.account, AT_ONCE).await.unwrap_or_default();
        for item in items {
            let Some(ticket) = agent.on_the_way.begin(item.delivery.id) else { continue };
            // It may have ended between the reading and now; whoever ended it stored that before letting it go.
            if let Ok(Some(item)) = agent.store.outbox_item(item.delivery.id).await
                && item.state.is_open()
            {
                push(agent, item, ticket);
            }
        }
        if look.is_multiple_of(LOOKS_PER_SWEEP) {
            crate::turn::sweep(agent, route).await;
        }
    }
}

/// Takes up an account's leftovers: sends first, then turns; then keeps an eye on the outbox.
pub(crate) async fn take_over(agent: Arc<Agent>, route: Arc<Route>) {
    recover(&agent, &route).await;
    crate::turn::recover(&agent, &route).await;
    look_around(&agent, &route).await;
}

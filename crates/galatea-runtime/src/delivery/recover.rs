//! Recover: after a start, deliveries that were committed but not settled go on where they were.

use galatea_core::{protocol::Part, store::OutboxItem};
use std::{sync::Arc, time::Duration};

use super::{Job, Route};
use crate::agent::Agent;

/// All of them, as there is no later moment to read the rest: what waits here is bounded by the age at which answers expire.
const ALL: u32 = u32::MAX;
const PAUSE: Duration = Duration::from_secs(1);

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
    if let Some(lanes) = agent.sends.get() {
        for item in items {
            lanes.push(item.delivery.address.room, job(item));
        }
    }
    route.takeover.sends_done();
}

fn job(item: OutboxItem) -> Job {
    let part = Part::stored(&item);
    Job { delivery: item.delivery, part }
}

/// Takes up an account's leftovers: sends first, then turns.
pub(crate) async fn take_over(agent: Arc<Agent>, route: Arc<Route>) {
    recover(&agent, &route).await;
    crate::turn::recover(&agent, &route).await;
}

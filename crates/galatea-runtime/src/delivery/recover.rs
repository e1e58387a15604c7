//! Recover: after a start, deliveries that were committed but not settled go on where they were.

use galatea_core::store::{OutboxItem, OutboxState};
use std::{sync::Arc, time::Duration};

use super::{Job, Route};
use crate::agent::Agent;

const PAGE: u32 = 10_000;
const PAUSE: Duration = Duration::from_secs(1);

/// Puts one account's unsettled deliveries into their lanes, in order of commit.
pub(crate) async fn recover(agent: Arc<Agent>, route: Arc<Route>) {
    let id = agent.view.identity.id();
    let items = loop {
        match agent.store.unsettled(id, &route.info.source, &route.info.account, PAGE).await {
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
    let Some(lanes) = agent.sends.get() else { return };
    for item in items {
        lanes.push(item.delivery.address.room, job(item));
    }
}

fn job(item: OutboxItem) -> Job {
    let sending = item.state == OutboxState::Sending;
    Job { delivery: item.delivery, marked: sending, ambiguous: sending, not_before: item.not_before, expires: item.expires }
}

//! Take up: messages that are stored and in nobody's hands go to their lanes, after a start and now and then.

use galatea_core::{kill_point, store::InboxState};
use std::time::Duration;

use super::queue::{push, queue, waiting};
use crate::{agent::Agent, delivery::Route};

/// Messages read at once after a start.
const PAGE: u32 = 10_000;
const PAUSE: Duration = Duration::from_secs(1);
/// Messages looked at in one sweep; the oldest come first.
const SWEPT: u32 = 256;

/// After a start: what was stored but not finished is answered now, in the order it came, before anything new.
pub(crate) async fn recover(agent: &Agent, route: &Route) {
    let id = agent.view.identity.id();
    let mut told = false;
    loop {
        route.takeover.reading();
        let items = match agent.store.unfinished(id, &route.info.source, &route.info.account, PAGE).await {
            Ok(items) => items,
            Err(error) => {
                tracing::error!(error = %error.report(), "cannot read what was left to answer; trying again");
                agent.clock.sleep(PAUSE).await;
                continue;
            }
        };
        if !items.is_empty() && !told {
            told = true;
            tracing::info!(source = %route.info.source, count = items.len(), "messages left over from the last run are answered now");
        }
        kill_point("takeover.turns");
        let all = items.len() < PAGE as usize;
        for item in items {
            push(agent, waiting(item));
        }
        if !all {
            // The rest is behind these: it comes into sight as they are finished.
            agent.clock.sleep(PAUSE).await;
        } else if route.takeover.open() {
            return;
        }
    }
}

/// Answers what is stored and in nobody's hands: a message whose commit succeeded although its connector was told otherwise.
pub(crate) async fn sweep(agent: &Agent, route: &Route) {
    let id = agent.view.identity.id();
    // A failure is told by whoever writes; the next sweep tries again.
    let items = agent.store.unfinished(id, &route.info.source, &route.info.account, SWEPT).await.unwrap_or_default();
    for item in items {
        let id = item.entry.memory.id;
        if agent.in_turn.insert(id, ()).is_some() {
            continue;
        }
        // It may have been finished between the reading and now; whoever did stored that before letting it go.
        match agent.store.inbox_item(id).await {
            Ok(Some(item)) if item.state == InboxState::New => queue(agent, waiting(item)),
            _ => {
                agent.in_turn.remove(&id);
            }
        }
    }
}

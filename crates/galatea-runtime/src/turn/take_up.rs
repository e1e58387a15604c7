//! Take up: messages that are stored and in nobody's hands go to their lanes, after a start and now and then.

use galatea_core::{
    Hint, Result, kill_point,
    store::{InHand, InboxItem},
};
use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use super::queue::{Waiting, push, waiting};
use crate::{
    agent::Agent,
    delivery::{self, Route},
    lanes::Lanes,
    leases::{Looks, RoomShare},
};

/// Messages read at once after a start.
const PAGE: u32 = 10_000;
const PAUSE: Duration = Duration::from_secs(1);
/// Messages looked at in one sweep; the oldest come first.
const SWEPT: u32 = 256;
/// Alone, a process knows what it stored; it only looks for what nobody has in hand.
const LOOKS_ALONE: u32 = 10;

/// After a start: what was stored but not finished is answered now, in the order it came, before anything new.
pub(crate) async fn recover(agent: &Agent, route: &Route) {
    let id = agent.view.identity.id();
    let mut told = false;
    loop {
        route.takeover.turns.reading();
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
            take(agent, item);
        }
        if !all {
            // The rest is behind these: it comes into sight as they are finished.
            agent.clock.sleep(PAUSE).await;
        } else if route.takeover.turns.open() {
            return;
        }
    }
}

/// Answers what is stored and in nobody's hands: a message whose commit succeeded although its connector was told otherwise.
pub(crate) async fn sweep(agent: &Agent, route: &Route) {
    let id = agent.view.identity.id();
    // A failure is told by whoever writes; the next sweep tries again.
    let items = agent.store.unfinished(id, &route.info.source, &route.info.account, SWEPT).await.unwrap_or_default();
    take_if_open(agent, items);
}

/// At once: were anything awaited between taking one in hand and putting it into its lane, a later one of its Room that is received meanwhile
/// would overtake it. Some may have been finished since they were read, which their turn finds out.
fn take_if_open(agent: &Agent, items: Vec<InboxItem>) {
    for item in items {
        if let Some(waiting) = waiting(agent, item) {
            push(agent, Waiting { look_again: true, ..waiting });
        }
    }
}

fn take(agent: &Agent, item: InboxItem) {
    if let Some(waiting) = waiting(agent, item) {
        push(agent, waiting);
    }
}

/// Takes up parts of the Rooms that another process had: first what it left to send, then what it left to answer, then what is new.
pub(crate) async fn take_up_rooms(agent: &Agent, shares: &[Arc<RoomShare>]) {
    // What others changed since these Rooms were here is not in memory.
    agent.rooms.forget_all();
    let routes: Vec<Arc<Route>> = agent.routes.iter().map(|route| Arc::clone(&route)).collect();
    for route in routes {
        delivery::look_behind(agent, &route).await;
    }
    let parts: Vec<u16> = shares.iter().map(|share| share.part).collect();
    let mut left: Vec<&Arc<RoomShare>> = shares.iter().collect();
    while !left.is_empty() && !agent.stop.is_cancelled() {
        left.iter().for_each(|share| share.intake.reading());
        let items = match agent.store.unfinished_in_parts(agent.view.identity.id(), &parts, &agent.shares.leased(), &in_hand(agent), PAGE).await {
            Ok(items) => items,
            Err(error) => {
                tracing::error!(error = %error.report(), "cannot read what another process left to answer; trying again");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let all = items.len() < PAGE as usize;
        for item in items {
            take(agent, item);
        }
        if all {
            left.retain(|share| share.tenure.is_open() && !share.intake.open());
        } else {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Takes up what other processes store for this one to answer, as long as the agent runs.
pub(crate) async fn watch_rooms(agent: Arc<Agent>) {
    let mut looks = Looks::new(agent.shares.hints(), Hint::Inbox);
    loop {
        let company = agent.shares.has_company();
        let pause = if company { agent.look_around } else { agent.look_around * LOOKS_ALONE };
        tokio::select! {
            () = agent.stop.cancelled() => return,
            () = looks.next(pause, company) => {}
        }
        // A failure is told by whoever writes; the next look tries again.
        while !agent.stop.is_cancelled() && matches!(poll(&agent).await, Ok(false)) {}
    }
}

/// After an account came here: what another process has stored of it goes before what is received here.
pub(crate) async fn recover_shared(agent: &Agent, route: &Route) {
    loop {
        route.takeover.turns.reading();
        match poll(agent).await {
            Ok(true) if route.takeover.turns.open() => return,
            Ok(_) => {}
            Err(error) => {
                tracing::error!(error = %error.report(), "cannot read what was left to answer; trying again");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Takes up what is stored in this process's parts of the Rooms and in nobody's hands. True when that was all.
async fn poll(agent: &Agent) -> Result<bool> {
    let _one_at_a_time = agent.polling.lock().await;
    let parts: Vec<u16> = agent.shares.rooms().iter().filter(|share| share.intake.is_open()).map(|share| share.part).collect();
    if parts.is_empty() {
        return Ok(true);
    }
    let items = agent.store.unfinished_in_parts(agent.view.identity.id(), &parts, &agent.shares.leased(), &in_hand(agent), SWEPT).await?;
    let all = items.len() < SWEPT as usize;
    take_if_open(agent, items);
    Ok(all)
}

/// Rooms with more than memory holds read the rest back by themselves. In this order: what such a Room has read back in between is either marked
/// or still to be read.
fn in_hand(agent: &Agent) -> InHand {
    let rooms = agent.turns.get().map(Lanes::spilled).unwrap_or_default();
    let _whole = agent.handing.lock().unwrap_or_else(PoisonError::into_inner);
    InHand { messages: agent.in_turn.iter().map(|entry| *entry.key()).collect(), rooms }
}

//! Recover: after a start, deliveries that were committed but not settled go on where they were.

use galatea_core::{Hint, Result, kill_point, protocol::Part, store::OutboxItem};
use std::{sync::Arc, time::Duration};

use super::{Job, Route, Ticket};
use crate::{
    agent::Agent,
    leases::{Looks, Tenure},
};

/// All of them, as there is no later moment to read the rest: what waits here is bounded by the age at which answers expire.
const ALL: u32 = u32::MAX;
const PAUSE: Duration = Duration::from_secs(1);
/// The oldest rows are read first, and these are the oldest.
const AT_ONCE: u32 = 256;
/// The inbox is hardly ever ahead of its lanes.
const LOOKS_PER_SWEEP: u64 = 10;

/// Puts one account's unsettled deliveries into their lanes, in order of commit. Until then nothing new is sent through it,
/// or the same row could be read back here and sent twice.
async fn recover(agent: &Agent, route: &Route, tenure: &Tenure) {
    let id = agent.view.identity.id();
    loop {
        route.takeover.sends.reading();
        let items = match agent.store.unsettled(id, &route.info.source, &route.info.account, &agent.on_the_way.ids(), ALL).await {
            Ok(items) => items,
            Err(error) => {
                tracing::error!(error = %error.report(), "cannot read what was left to send; trying again");
                agent.clock.sleep(PAUSE).await;
                continue;
            }
        };
        if !items.is_empty() {
            tracing::info!(source = %route.info.source, count = items.len(), "deliveries left over from the last run go on");
        }
        for item in items {
            if let Some(ticket) = agent.on_the_way.begin(item.delivery.id) {
                push(agent, item, ticket, tenure);
            }
        }
        kill_point("takeover.sends");
        if route.takeover.sends.open() {
            return;
        }
    }
}

/// Where an account's pause is kept until it is over.
fn pause_key(route: &Route) -> String {
    format!("pause:{}:{}", route.info.source, route.info.account)
}

/// What an account was told to wait holds after a restart, too.
async fn restore_pauses(agent: &Agent, route: &Route) {
    match agent.store.cached(agent.view.identity.id(), &pause_key(route), agent.clock.now()).await {
        Ok(kept) => {
            if let Some(pauses) = kept.and_then(|value| serde_json::from_value(value).ok()) {
                tracing::info!(source = %route.info.source, account = %route.info.account, "the platform had asked this account to wait, which still holds");
                route.stack.gate().restore(pauses, agent.clock.now());
            }
        }
        Err(error) => tracing::warn!(error = %error.report(), "whether the platform had asked to wait could not be read"),
    }
}

/// Stores what an account was told to wait, if that is new. Losing it costs one refused call.
pub(super) async fn keep_pauses(agent: &Agent, route: &Route) {
    let Some((pauses, until)) = route.stack.gate().to_keep() else { return };
    let kept = agent.store.cache(agent.view.identity.id(), &pause_key(route), &serde_json::json!(pauses), Some(until)).await;
    if let Err(error) = kept {
        tracing::warn!(error = %error.report(), "that the platform asked to wait could not be stored");
    }
}

/// A stored part, to be sent.
pub(super) fn job(agent: &Agent, item: OutboxItem, ticket: Ticket, tenure: &Tenure) -> Job {
    let part = Part::stored(&item).by(item.delivery.created_at, agent.clock.now());
    Job { delivery: item.delivery, part, ticket: Some(ticket), tenure: tenure.clone(), ahead: agent.clock.ahead() }
}

fn push(agent: &Agent, item: OutboxItem, ticket: Ticket, tenure: &Tenure) {
    let job = job(agent, item, ticket, tenure);
    if let Some(lanes) = agent.sends.get() {
        lanes.push(job.delivery.address.room, job);
    }
}

/// Takes up what somebody else put into the outbox: another process that answers, or an operator who wants a part sent again.
async fn look(agent: &Agent, route: &Route) -> Result<()> {
    let id = agent.view.identity.id();
    let Some(tenure) = route.sends() else { return Ok(()) };
    let _one_at_a_time = route.takeover.looking.lock().await;
    loop {
        let items = agent.store.unsettled(id, &route.info.source, &route.info.account, &agent.on_the_way.ids(), AT_ONCE).await?;
        let all = items.len() < AT_ONCE as usize;
        for item in items {
            let Some(ticket) = agent.on_the_way.begin(item.delivery.id) else { continue };
            // It may have ended between the reading and now; whoever ended it stored that before letting it go.
            if let Some(item) = agent.store.outbox_item(item.delivery.id).await?
                && item.state.is_open()
            {
                push(agent, item, ticket, &tenure);
            }
        }
        if all {
            return Ok(());
        }
    }
}

/// Before Rooms are taken from another process: what it committed for them goes out before what is committed here.
pub(crate) async fn look_behind(agent: &Agent, route: &Route) {
    // Not open yet: this makes it read once more.
    while route.sends().is_some() && route.takeover.sends.admits() {
        match look(agent, route).await {
            Ok(()) => return,
            Err(error) => {
                tracing::error!(error = %error.report(), "cannot read what another process left to send; trying again");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Keeps an eye on the outbox, and now and then on what the inbox holds and nobody has.
async fn look_around(agent: &Agent, route: &Route) {
    let mut looks = Looks::new(agent.shares.hints(), Hint::Outbox);
    for turn in 1_u64.. {
        tokio::select! {
            () = agent.stop.cancelled() => return,
            () = looks.next(agent.look_around, agent.shares.has_company()) => {}
        }
        // A failure is told by whoever writes; the next look tries again.
        let _ = look(agent, route).await;
        crate::turn::tell_awaited(agent, route).await;
        if turn.is_multiple_of(LOOKS_PER_SWEEP) && !agent.shares.is_leased(&route.info.source) {
            crate::turn::sweep(agent, route).await;
        }
    }
}

/// Takes up an account's leftovers: sends first, then turns; then keeps an eye on the outbox.
pub(crate) async fn take_over(agent: Arc<Agent>, route: Arc<Route>, tenure: Tenure) {
    let work = async {
        restore_pauses(&agent, &route).await;
        recover(&agent, &route, &tenure).await;
        if agent.shares.is_leased(&route.info.source) {
            crate::turn::recover_shared(&agent, &route).await;
        } else {
            crate::turn::recover(&agent, &route).await;
        }
        look_around(&agent, &route).await;
    };
    tokio::select! {
        () = work => {}
        () = tenure.closed() => {}
    }
}

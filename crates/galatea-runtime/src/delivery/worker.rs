//! Worker: sends one Room's deliveries in order, with retries between attempts.

use galatea_core::{
    Delivery, Error, Event, Found, Receipt, Result,
    store::{OutboxState, Settlement},
};
use rand::Rng;
use std::{sync::Arc, time::Duration};

use super::{Job, Route, Settler, retry, stack::Missed};
use crate::{
    agent::Agent,
    lanes::{Lane, Taken},
};

/// Time for a late arrival to show before looking for it; longer than a connector's HTTP timeout would double every wait,
/// so it is short, and looking again follows when it stays unknown.
pub(super) const SETTLE_TIME: Duration = Duration::from_secs(2);

/// Sends everything in a lane.
pub(crate) async fn work(agent: Arc<Agent>, settler: Settler, lane: Lane<galatea_core::RoomId, Job>) {
    let mut before: Option<Before> = None;
    loop {
        match lane.take() {
            Taken::Item(job) => {
                let (turn, part) = (job.delivery.turn, job.delivery.part);
                let broken = match &before {
                    Some(known) if known.turn == turn => known.broken,
                    _ => part > 0 && broke_off(&agent, &job.delivery).await,
                };
                let delivered = if broken {
                    ended(&agent, &settler, &job, OutboxState::Dead, "an earlier part of this answer was not delivered").await;
                    false
                } else {
                    deliver(&agent, &settler, job).await
                };
                before = Some(Before { turn, broken: !delivered });
            }
            // Sends do not spill: what waits is bounded by the turns that made it.
            Taken::ReadBack => lane.put_back(Vec::new(), true),
            Taken::Closed => return,
        }
    }
}

/// What became of the parts before, while this lane lives.
struct Before {
    turn: galatea_core::TurnId,
    broken: bool,
}

/// Whether an earlier part of the same answer, in the same Room, was given up before this lane began (after a restart).
async fn broke_off(agent: &Agent, delivery: &Delivery) -> bool {
    let parts = agent.store.deliveries_of(delivery.turn).await.unwrap_or_default();
    let earlier = parts.iter().filter(|p| p.delivery.part < delivery.part && p.delivery.address.room == delivery.address.room);
    earlier.into_iter().any(|p| matches!(p.state, OutboxState::Dead | OutboxState::Expired))
}

/// False when it is given up: what follows it would make no sense without it.
async fn deliver(agent: &Agent, settler: &Settler, mut job: Job) -> bool {
    let Some(route) = agent.any_route(&job.delivery.address.source, &job.delivery.address.account) else {
        // Stays pending in the store; sent once its connector registers.
        tracing::info!(delivery = %job.delivery.id, source = %job.delivery.address.source, "no connector for this delivery yet");
        return true;
    };
    loop {
        let now = agent.clock.now();
        if job.not_before > now {
            agent.clock.sleep(job.not_before.since(now)).await;
        }
        if job.ambiguous {
            // What went out before must be stored first, or the read-back takes it for the lost one.
            settler.flush().await;
            match look(agent, &route, &job.delivery).await {
                Looked::There(receipt) => {
                    sent(agent, settler, &job, receipt).await;
                    return true;
                }
                Looked::NotThere => job.doubt = false,
                Looked::Unclear => job.doubt = true,
            }
            if job.doubt && !agent.limits.resend_unsure {
                ended(agent, settler, &job, OutboxState::Ambiguous, "held back, as DELIVERY_WHEN_UNSURE says").await;
                // It may have arrived; what follows it goes on.
                return true;
            }
            job.ambiguous = false;
            if job.delivery.attempt >= retry::ATTEMPTS {
                ended(agent, settler, &job, OutboxState::Dead, "sending it failed too often").await;
                return job.doubt;
            }
        }
        if job.expires.is_some_and(|end| agent.clock.now() > end) {
            ended(agent, settler, &job, OutboxState::Expired, "too old to send").await;
            return job.doubt;
        }
        if !job.marked {
            // T3: must be durable before the platform hears of it, or a crash would send it twice.
            settler.settle_now(settlement(&job.delivery, OutboxState::Sending, agent)).await;
            job.marked = true;
        }
        let attempt = job.delivery.attempt + 1;
        let outcome = route.stack.send(&job.delivery).await;
        let now = agent.clock.now();
        let (error, next) = match outcome {
            Ok(receipt) => {
                job.delivery.attempt = attempt;
                sent(agent, settler, &job, receipt).await;
                return true;
            }
            Err(Missed::Held(error)) => {
                let next = retry::held(&error, now, job.expires);
                (error, next)
            }
            Err(Missed::Failed(error)) => {
                let next = retry::decide(&error, attempt, now, job.expires, rand::rng().random::<f64>());
                (error, next)
            }
        };
        match next {
            retry::Next::Dead => {
                job.delivery.attempt = attempt;
                ended(agent, settler, &job, OutboxState::Dead, &error.to_string()).await;
                return job.doubt;
            }
            retry::Next::Expired => {
                ended(agent, settler, &job, OutboxState::Expired, &error.to_string()).await;
                return job.doubt;
            }
            retry::Next::Again { delay, look, counts } => {
                if counts {
                    job.delivery.attempt = attempt;
                }
                again(agent, settler, &mut job, &error, delay, look).await;
            }
        }
    }
}

/// Waits for another attempt; a crash meanwhile finds the row pending (or, when the outcome is unknown, still sending).
async fn again(agent: &Agent, settler: &Settler, job: &mut Job, error: &Error, delay: Duration, look: bool) {
    let delay = if look { delay.max(SETTLE_TIME) } else { delay };
    job.not_before = agent.clock.now().plus(delay);
    job.ambiguous = look;
    job.marked = look;
    let state = if look { OutboxState::Sending } else { OutboxState::Pending };
    let note = Settlement { not_before: job.not_before, error: Some(error.to_string()), ..settlement(&job.delivery, state, agent) };
    settler.settle(note).await;
    let millis = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    tracing::info!(delivery = %job.delivery.id, attempt = job.delivery.attempt, millis, kind = ?error.kind(), code = error.code(), "sending again later");
    agent.events.publish(Event::DeliveryRetrying {
        agent: job.delivery.agent,
        room: job.delivery.address.room,
        delivery: job.delivery.id,
        attempt: job.delivery.attempt,
        reason: error.to_string(),
        millis,
    });
}

/// What a read-back came to.
enum Looked {
    There(Receipt),
    NotThere,
    /// It may have arrived, and nobody can tell: what happens now is the operator's choice, and the doubt is stored with it.
    Unclear,
}

async fn look(agent: &Agent, route: &Route, delivery: &Delivery) -> Looked {
    let mut tries = 0;
    loop {
        let found = match agent.store.trail(delivery).await {
            Ok(trail) => route.stack.find(delivery, &trail).await,
            Err(error) => Err(Missed::Failed(error)),
        };
        let (error, counts) = match found {
            Ok(Found::Sent(receipt)) => return Looked::There(receipt),
            Ok(Found::NotSent) => return Looked::NotThere,
            Ok(Found::Unknown) => {
                tracing::warn!(delivery = %delivery.id, "the platform gives no way to tell whether this was sent");
                return Looked::Unclear;
            }
            Err(Missed::Held(error)) => (error, false),
            Err(Missed::Failed(error)) => (error, true),
        };
        tries += u32::from(counts);
        let delay = match error.retry() {
            galatea_core::Retry::After(delay) => delay,
            galatea_core::Retry::Never => return Looked::Unclear,
            galatea_core::Retry::Soon => Duration::from_millis(500 << tries.min(6)),
        };
        if tries >= retry::ATTEMPTS {
            tracing::warn!(delivery = %delivery.id, error = %error.report(), "looking for an earlier send keeps failing");
            return Looked::Unclear;
        }
        tracing::info!(delivery = %delivery.id, error = %error.report(), "looking for an earlier send failed; trying again");
        agent.clock.sleep(delay).await;
    }
}

/// Stored with a delivery whose earlier attempt may have arrived too.
const DOUBT: &str = "an earlier attempt may have arrived as well; the platform could not tell";

async fn sent(agent: &Agent, settler: &Settler, job: &Job, receipt: Receipt) {
    let delivery = &job.delivery;
    if let Some(moved) = &receipt.moved_to
        && let Err(error) = moved_to(agent, delivery, moved).await
    {
        tracing::warn!(room = %delivery.address.room, error = %error.report(), "a room moved, but its move could not be stored");
    }
    let error = job.doubt.then(|| DOUBT.to_owned());
    settler.settle(Settlement { remote: receipt.id, error, ..settlement(delivery, OutboxState::Sent, agent) }).await;
    tracing::debug!(delivery = %delivery.id, room = %delivery.address.room, attempt = delivery.attempt, "sent");
    agent.events.publish(Event::DeliverySent { agent: delivery.agent, room: delivery.address.room, delivery: delivery.id, attempt: delivery.attempt });
}

async fn moved_to(agent: &Agent, delivery: &Delivery, to: &galatea_core::RemoteId) -> Result<()> {
    let room = agent.accounts.room(&delivery.address.source, &delivery.address.account, to);
    agent.store.move_room(delivery.address.room, room, to).await?;
    agent.rooms.moved(delivery.address.room, room, to);
    agent.known.clear();
    Ok(())
}

async fn ended(agent: &Agent, settler: &Settler, job: &Job, state: OutboxState, reason: &str) {
    let delivery = &job.delivery;
    let (state, reason) = if job.doubt { (OutboxState::Ambiguous, format!("{reason}; {DOUBT}")) } else { (state, reason.to_owned()) };
    settler.settle(Settlement { error: Some(reason.clone()), ..settlement(delivery, state, agent) }).await;
    tracing::warn!(delivery = %delivery.id, room = %delivery.address.room, source = %delivery.address.source, state = state.as_str(), reason, "not delivered");
    agent.events.publish(Event::DeliveryFailed { agent: delivery.agent, room: delivery.address.room, delivery: delivery.id, reason });
}

fn settlement(delivery: &Delivery, state: OutboxState, agent: &Agent) -> Settlement {
    Settlement { id: delivery.id, state, attempt: delivery.attempt, not_before: agent.clock.now(), remote: None, error: None }
}

#[cfg(test)]
pub(super) mod tests {
    use galatea_core::{Account, Address, AgentId, Delivery, DeliveryId, Encoded, RemoteId, RoomId, Source, Timestamp, TurnId};
    use uuid::Uuid;

    /// A delivery to room `n`.
    pub(in crate::delivery) fn delivery(n: u128) -> Delivery {
        Delivery {
            id: DeliveryId(Uuid::from_u128(n)),
            agent: AgentId(Uuid::nil()),
            turn: TurnId(Uuid::from_u128(n)),
            part: 0,
            address: Address { source: Source::new("test"), account: Account("1".into()), room: RoomId(Uuid::from_u128(n)), remote: RemoteId::new(n) },
            key: "k".into(),
            body: Encoded(serde_json::Value::Null),
            attempt: 0,
            created_at: Timestamp(0),
        }
    }
}

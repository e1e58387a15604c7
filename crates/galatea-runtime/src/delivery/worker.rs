//! Worker: sends one Room's deliveries in order, with retries between attempts.

use galatea_core::{
    Delivery, Error, Priority, Receipt, RemoteId, Result, Timestamp, kill_point,
    protocol::{Effect, End, Event, Rules},
    store::{OutboxState, Settlement},
};
use rand::Rng;
use std::{ops::ControlFlow, sync::Arc};

use super::{
    Job, Settler,
    look::look,
    mark::Mark,
    read_back::{PAUSE, is_still_open, let_go, read_back},
    recover::keep_pauses,
    stack::Missed,
};
use crate::{
    agent::Agent,
    lanes::{Lane, Taken},
};

/// Sends everything in a lane. Steps are boxed, as in a turn's lane.
pub(crate) async fn work(agent: Arc<Agent>, settler: Settler, lane: Lane<galatea_core::RoomId, Job>) {
    let mut before: Option<Before> = None;
    loop {
        match lane.take() {
            // What is marked already was about to be sent; the next holder would have to find out whether it was.
            Taken::Item(job) if !job.tenure.is_held() || !(job.tenure.is_open() || job.part.marked) => let_go(&lane, job),
            Taken::Item(mut job) => {
                if job.look_again && !Box::pin(is_still_open(&agent, &mut job)).await {
                    continue;
                }
                let turn = job.delivery.turn;
                let mut broken = false;
                match &before {
                    Some(known) if known.turn == turn => (broken, job.delivery.previous) = (known.broken, known.remote.clone()),
                    _ if job.delivery.part > 0 => match Box::pin(went_before(&agent, &job)).await {
                        Some(known) => (broken, job.delivery.previous) = known,
                        None => {
                            let_go(&lane, job);
                            continue;
                        }
                    },
                    _ => {}
                }
                let (delivered, remote) = if broken {
                    Box::pin(ended(&agent, &settler, job, OutboxState::Dead, "an earlier part of this answer was not delivered")).await;
                    (false, None)
                } else if stands_back(&agent, &lane, &job) {
                    lane.put_last(job);
                    continue;
                } else {
                    match Box::pin(deliver(&agent, &settler, &lane, job)).await {
                        Some(Outcome::Ended { follows, remote }) => (follows, remote),
                        Some(Outcome::StoodBack(job)) => {
                            lane.put_last(*job);
                            continue;
                        }
                        // Another process goes on with it, and with whatever follows; or an operator has dropped it.
                        None => {
                            before = None;
                            continue;
                        }
                    }
                };
                before = Some(Before { turn, broken: !delivered, remote });
            }
            Taken::ReadBack => Box::pin(read_back(&agent, &lane)).await,
            Taken::Closed => return,
        }
    }
}

/// How far a job came.
enum Outcome {
    /// It has ended, as this on the platform. False when it is given up: what follows it would make no sense without it.
    Ended { follows: bool, remote: Option<RemoteId> },
    /// It has to wait, and something is to be said in its Room meanwhile.
    StoodBack(Box<Job>),
}

/// What a change or a reaction is worth less than: something to be said, behind it in its lane.
fn stands_back(agent: &Agent, lane: &Lane<galatea_core::RoomId, Job>, job: &Job) -> bool {
    let weight = |job: &Job| priority(agent, &job.delivery);
    weight(job) > Priority::Answer && lane.scan(|next| if weight(next) == Priority::Answer { ControlFlow::Break(true) } else { ControlFlow::Continue(()) })
}

fn priority(agent: &Agent, delivery: &Delivery) -> Priority {
    let route = agent.any_route(&delivery.address.source, &delivery.address.account);
    route.map_or(Priority::Answer, |route| route.handler.priority(&delivery.body))
}

/// Completes when something to be said waits behind a job that is worth less.
async fn overtaken(agent: &Agent, lane: &Lane<galatea_core::RoomId, Job>, job: &Job) {
    if priority(agent, &job.delivery) == Priority::Answer {
        return std::future::pending().await;
    }
    while !stands_back(agent, lane, job) {
        lane.arrived().await;
    }
}

/// What became of the parts before, while this lane lives.
struct Before {
    turn: galatea_core::TurnId,
    broken: bool,
    remote: Option<RemoteId>,
}

/// What became of the earlier parts of the same answer, in the same Room, before this lane began (after a restart): whether one was given up, and
/// as what the last one arrived. None when the part is another process's before that is known.
async fn went_before(agent: &Agent, job: &Job) -> Option<(bool, Option<RemoteId>)> {
    let delivery = &job.delivery;
    let mut parts = loop {
        match agent.store.deliveries_of(delivery.turn).await {
            Ok(parts) => break parts,
            Err(_) if !job.tenure.is_open() => return None,
            Err(error) => {
                tracing::debug!(delivery = %delivery.id, error = %error.report(), "cannot read what went before a part; trying again");
                agent.clock.sleep(PAUSE).await;
            }
        }
    };
    parts.retain(|p| p.delivery.part < delivery.part && p.delivery.address.room == delivery.address.room);
    let broken = parts.iter().any(|p| matches!(p.state, OutboxState::Dead | OutboxState::Expired));
    Some((broken, parts.into_iter().max_by_key(|p| p.delivery.part).and_then(|p| p.remote)))
}

/// Does what the protocol says until the part has ended, or stands back for what is worth more. None when the account is another process's
/// before that.
async fn deliver(agent: &Agent, settler: &Settler, lane: &Lane<galatea_core::RoomId, Job>, mut job: Job) -> Option<Outcome> {
    let Some(route) = agent.any_route(&job.delivery.address.source, &job.delivery.address.account) else {
        // Stays pending in the store; sent once its connector registers.
        tracing::info!(delivery = %job.delivery.id, source = %job.delivery.address.source, "no connector for this delivery yet");
        return Some(Outcome::Ended { follows: true, remote: None });
    };
    let tenure = job.tenure.clone();
    let rules = Rules { resend_unsure: agent.limits.resend_unsure };
    let (mut receipt, mut failure) = (None, None);
    let mut mark = Mark::committed(&job);
    let mut heard = agent.clock.now();
    let mut effect = hear(agent, &mut job, &mut heard, rules, &Event::Ready);
    loop {
        effect = match effect {
            Effect::Wait(until) => {
                tokio::select! {
                    // Counted from when it was heard, should the clock have been set back since.
                    () = agent.clock.sleep(until.since(agent.clock.now().max(heard))) => {}
                    () = tenure.closed() => return None,
                    () = overtaken(agent, lane, &job) => return Some(Outcome::StoodBack(Box::new(job))),
                }
                // Waited for as long as it had to be, wherever the machine's clock was set meanwhile.
                job.part.not_before = job.part.not_before.min(agent.clock.now());
                hear(agent, &mut job, &mut heard, rules, &Event::Ready)
            }
            Effect::Look => {
                settler.flush().await;
                // An account that is to go to another process goes: that one looks.
                let (looked, found) = tokio::select! {
                    looked = tenure.run(Box::pin(look(agent, &route, &job))) => looked?,
                    () = tenure.closed() => return None,
                };
                receipt = found;
                hear(agent, &mut job, &mut heard, rules, &Event::Looked(looked))
            }
            Effect::Mark => {
                if !tenure.is_open() {
                    return None;
                }
                kill_point("mark.before");
                // Whatever this process believes, a suspended machine for one: the store knows whose part it is.
                mark = Mark::set(settler, &job, agent.clock.now()).await?;
                kill_point("mark.after");
                hear(agent, &mut job, &mut heard, rules, &Event::Marked)
            }
            Effect::Send => {
                mark = mark.renew(agent, settler, &job).await?;
                // A process that was paused finds out at its next step, before it reaches the platform, that another one sends now.
                match tenure.guard(mark.send(agent, settler, &route, &job)).await? {
                    Ok(answer) => {
                        receipt = Some(answer);
                        hear(agent, &mut job, &mut heard, rules, &Event::Sent)
                    }
                    Err(missed) => {
                        let next = match &missed {
                            Missed::Held(error) => hear(agent, &mut job, &mut heard, rules, &Event::Held(error)),
                            Missed::Failed(error) => hear(agent, &mut job, &mut heard, rules, &Event::Failed { error, jitter: rand::rng().random::<f64>() }),
                        };
                        let (Missed::Held(error) | Missed::Failed(error)) = missed;
                        keep_pauses(agent, &route).await;
                        if let Effect::Again(state, until) = &next {
                            again(agent, settler, &job, &error, *state, *until).await;
                        }
                        failure = Some(error);
                        next
                    }
                }
            }
            Effect::Again(_, until) => Effect::Wait(until),
            Effect::End(OutboxState::Sent, _) => {
                let receipt = receipt.unwrap_or_default();
                let remote = receipt.id.clone();
                sent(agent, settler, job, receipt).await;
                return Some(Outcome::Ended { follows: true, remote });
            }
            Effect::End(state, why) => {
                ended(agent, settler, job, state, &reason(why, failure)).await;
                // What may have arrived lets the others follow.
                return Some(Outcome::Ended { follows: state == OutboxState::Ambiguous, remote: None });
            }
        };
    }
}

/// `heard` becomes the time of it, which waits are counted from.
fn hear(agent: &Agent, job: &mut Job, heard: &mut Timestamp, rules: Rules, event: &Event<'_>) -> Effect {
    *heard = agent.clock.now();
    job.follow_clock(agent.clock.ahead());
    let (part, effect) = job.part.clone().step(event, *heard, rules);
    job.part = part;
    job.delivery.attempt = job.part.attempt;
    effect
}

/// Why it ended, for people.
fn reason(why: End, failure: Option<Error>) -> String {
    match (why, failure) {
        (End::Refused | End::TooOld, Some(error)) => last_words(error),
        (End::HeldBack, _) => "held back, as DELIVERY_WHEN_UNSURE says".to_owned(),
        (End::TooOften, _) => "sending it failed too often".to_owned(),
        (End::TooOld, None) => "too old to send".to_owned(),
        (End::Delivered | End::Refused, _) => "refused".to_owned(),
    }
}

/// Stores that it is tried again, and tells.
async fn again(agent: &Agent, settler: &Settler, job: &Job, error: &Error, state: OutboxState, until: Timestamp) {
    let note = Settlement { error: Some(error.to_string()), ..settlement(job, state, until) };
    settler.settle(note).await;
    let millis = u64::try_from(until.since(agent.clock.now()).as_millis()).unwrap_or(u64::MAX);
    tracing::info!(delivery = %job.delivery.id, attempt = job.delivery.attempt, millis, kind = ?error.kind(), code = error.code(), "sending again later");
    agent.events.publish(galatea_core::Event::DeliveryRetrying {
        agent: job.delivery.agent,
        room: job.delivery.address.room,
        delivery: job.delivery.id,
        attempt: job.delivery.attempt,
        reason: error.to_string(),
        millis,
    });
}

/// Stored with a delivery whose earlier attempt may have arrived too.
const DOUBT: &str = "an earlier attempt may have arrived as well; the platform could not tell";

async fn sent(agent: &Agent, settler: &Settler, mut job: Job, receipt: Receipt) {
    let ticket = job.ticket.take();
    let delivery = &job.delivery;
    if let Some(moved) = &receipt.moved_to
        && let Err(error) = moved_to(agent, delivery, moved).await
    {
        tracing::warn!(room = %delivery.address.room, error = %error.report(), "a room moved, but its move could not be stored");
    }
    let error = job.part.doubt.then(|| DOUBT.to_owned());
    settler.end(Settlement { remote: receipt.id, error, ..settlement(&job, OutboxState::Sent, agent.clock.now()) }, ticket).await;
    tracing::debug!(delivery = %delivery.id, room = %delivery.address.room, attempt = delivery.attempt, "sent");
    agent.events.publish(galatea_core::Event::DeliverySent {
        agent: delivery.agent,
        room: delivery.address.room,
        delivery: delivery.id,
        attempt: delivery.attempt,
    });
}

async fn moved_to(agent: &Agent, delivery: &Delivery, to: &galatea_core::RemoteId) -> Result<()> {
    let room = agent.accounts.room(&delivery.address.source, &delivery.address.account, to);
    agent.store.move_room(delivery.address.room, room, to).await?;
    agent.rooms.moved(delivery.address.room, room, to);
    agent.known.clear();
    Ok(())
}

/// What is kept of a part that is given up: with code and fix, since nothing else will tell them.
fn last_words(error: Error) -> String {
    let told = [("code", error.code().map(str::to_owned)), ("fix", error.fix().map(str::to_owned))];
    let told = told.into_iter().filter_map(|(key, text)| Some((key, text?)));
    told.fold(error, |error, (key, text)| error.with(key, text)).to_string()
}

async fn ended(agent: &Agent, settler: &Settler, mut job: Job, state: OutboxState, reason: &str) {
    let ticket = job.ticket.take();
    let delivery = &job.delivery;
    let reason = if job.part.doubt { format!("{reason}; {DOUBT}") } else { reason.to_owned() };
    settler.end(Settlement { error: Some(reason.clone()), ..settlement(&job, state, agent.clock.now()) }, ticket).await;
    tracing::warn!(delivery = %delivery.id, room = %delivery.address.room, source = %delivery.address.source, state = state.as_str(), reason, "not delivered");
    agent.events.publish(galatea_core::Event::DeliveryFailed { agent: delivery.agent, room: delivery.address.room, delivery: delivery.id, reason });
}

/// How a part stands. `at` is when it was marked, when it is tried again, or when it ended.
pub(super) fn settlement(job: &Job, state: OutboxState, at: Timestamp) -> Settlement {
    Settlement {
        id: job.delivery.id,
        state,
        attempt: job.part.attempt,
        not_before: at,
        remote: None,
        error: None,
        doubt: job.part.doubt,
        fence: job.tenure.fence(),
    }
}

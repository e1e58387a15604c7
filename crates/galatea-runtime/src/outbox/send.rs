//! Takes one part as far as the protocol says, with retries between attempts.

use galatea_core::{
    Error, RemoteId, RoomId, Timestamp, kill_point,
    protocol::{DeliveryEvent, Effect, End, ReadBackOutcome, Rules},
    store::OutboxState,
};
use rand::RngExt;

use super::{
    job::Job,
    pauses::keep_pauses,
    precedence::overtaken,
    read_back::read_back,
    report::{again, ended, last_words, sent},
    send_intent::SendIntent,
    stack::SendError,
    state::Outbox,
};
use crate::lanes::Lane;

/// How far a job came.
pub(super) enum Outcome {
    /// It has ended, as this on the platform. False when it is given up: what follows it would make
    /// no sense without it.
    Ended { follows: bool, remote: Option<RemoteId> },
    /// It has to wait, and something is to be said in its Room meanwhile.
    StoodBack(Box<Job>),
}

/// Does what the protocol says until the part has ended, or stands back for what is worth more.
/// None when the account is another process's before that.
pub(super) async fn deliver(
    outbox: &Outbox,
    lane: &Lane<RoomId, Job>,
    mut job: Job,
) -> Option<Outcome> {
    let Some(route) =
        outbox.routes.any(&job.delivery.address.source, &job.delivery.address.account)
    else {
        // Stays pending in the store; sent once its connector registers.
        tracing::info!(delivery = %job.delivery.id, source = %job.delivery.address.source, "no connector for this delivery; it waits in the store");
        return Some(Outcome::Ended { follows: true, remote: None });
    };
    let lease = job.lease.clone();
    let rules = Rules { resend_unsure: outbox.resend_unsure };
    let (mut receipt, mut failure, mut found_there) = (None, None, false);
    let mut intent = SendIntent::committed(&job);
    let mut heard = outbox.clock.now();
    let mut effect = hear(outbox, &mut job, &mut heard, rules, &DeliveryEvent::Ready);
    loop {
        effect = match effect {
            Effect::Wait(until) => {
                tokio::select! {
                    // Counted from when it was heard, should the clock have been set back since.
                    () = outbox.clock.sleep(until.since(outbox.clock.now().max(heard))) => {}
                    () = lease.closed() => return None,
                    () = overtaken(outbox, lane, &job) => return Some(Outcome::StoodBack(Box::new(job))),
                }
                // Waited for as long as it had to be, wherever the machine's clock was set
                // meanwhile.
                job.part.not_before = job.part.not_before.min(outbox.clock.now());
                hear(outbox, &mut job, &mut heard, rules, &DeliveryEvent::Ready)
            }
            Effect::Look => {
                outbox.settler.flush().await;
                // An account that is to go to another process goes: that one looks.
                let (looked, found) = tokio::select! {
                    looked = lease.run(Box::pin(read_back(outbox, &route, &job))) => looked?,
                    () = lease.closed() => return None,
                };
                receipt = found;
                found_there = looked == ReadBackOutcome::Present;
                hear(outbox, &mut job, &mut heard, rules, &DeliveryEvent::ReadBack(looked))
            }
            Effect::StoreIntent => {
                if !lease.is_open() {
                    return None;
                }
                kill_point("intent.before");
                // Whatever this process believes, a suspended machine for one: the store knows
                // whose part it is.
                intent = SendIntent::set(outbox, &job, outbox.clock.now()).await?;
                kill_point("intent.after");
                hear(outbox, &mut job, &mut heard, rules, &DeliveryEvent::Marked)
            }
            Effect::Send => {
                intent = intent.renew(outbox, &job).await?;
                // A process that was paused finds out at its next step, before it reaches the
                // platform, that another one sends now.
                match lease.guard(intent.send(outbox, &route, &job)).await? {
                    Ok(answer) => {
                        receipt = Some(answer);
                        hear(outbox, &mut job, &mut heard, rules, &DeliveryEvent::Sent)
                    }
                    Err(missed) => {
                        let next = match &missed {
                            SendError::Deferred(error) => hear(
                                outbox,
                                &mut job,
                                &mut heard,
                                rules,
                                &DeliveryEvent::Deferred(error),
                            ),
                            SendError::Failed(error) => hear(
                                outbox,
                                &mut job,
                                &mut heard,
                                rules,
                                &DeliveryEvent::Failed {
                                    error,
                                    jitter: rand::rng().random::<f64>(),
                                },
                            ),
                        };
                        let (SendError::Deferred(error) | SendError::Failed(error)) = missed;
                        keep_pauses(outbox, &route).await;
                        if let Effect::Again(state, until) = &next {
                            again(outbox, &job, &error, *state, *until).await;
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
                sent(outbox, job, receipt, found_there).await;
                return Some(Outcome::Ended { follows: true, remote });
            }
            Effect::End(state, why) => {
                ended(outbox, job, state, &reason(why, failure)).await;
                // What may have arrived lets the others follow.
                return Some(Outcome::Ended {
                    follows: state == OutboxState::Ambiguous,
                    remote: None,
                });
            }
        };
    }
}

/// `heard` becomes the time of it, which waits are counted from.
fn hear(
    outbox: &Outbox,
    job: &mut Job,
    heard: &mut Timestamp,
    rules: Rules,
    event: &DeliveryEvent<'_>,
) -> Effect {
    *heard = outbox.clock.now();
    job.follow_clock(outbox.clock.ahead());
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

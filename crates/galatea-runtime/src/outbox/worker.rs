//! Sends one Room's deliveries in order.

use galatea_core::{RemoteId, RoomId, TurnId, store::OutboxState};
use std::sync::Arc;

use super::{
    job::Job,
    precedence::stands_back,
    reconcile::{PAUSE, is_still_open, read_lane, release},
    report::store_end,
    send::{SendOutcome, deliver},
    state::{Outbox, OutboxParts},
};
use crate::lanes::{Lane, Taken};

impl Outbox {
    /// An outbox whose lanes send.
    pub(crate) fn new(parts: OutboxParts) -> Arc<Self> {
        Self::assemble(parts, work)
    }
}

/// Sends everything in a lane. Steps are boxed, as in a turn's lane.
async fn work(outbox: Arc<Outbox>, lane: Lane<RoomId, Job>) {
    let mut before: Option<Before> = None;
    loop {
        match lane.take() {
            // A marked row was about to be sent; the next holder would have to find out
            // whether it was.
            Taken::Item(job)
                if !job.lease.is_held() || !(job.lease.is_open() || job.part.marked) =>
            {
                release(&lane, job)
            }
            Taken::Item(mut job) => {
                if job.recheck && !Box::pin(is_still_open(&outbox, &mut job)).await {
                    continue;
                }
                let turn = job.delivery.turn;
                let mut broken = false;
                match &before {
                    Some(known) if known.turn == turn => {
                        (broken, job.delivery.previous) = (known.broken, known.remote.clone())
                    }
                    _ if job.delivery.part > 0 => {
                        match Box::pin(went_before(&outbox, &job)).await {
                            Some(known) => (broken, job.delivery.previous) = known,
                            None => {
                                release(&lane, job);
                                continue;
                            }
                        }
                    }
                    _ => {}
                }
                let (delivered, remote) = if broken {
                    Box::pin(store_end(
                        &outbox,
                        job,
                        OutboxState::Dead,
                        "an earlier part of this answer was not delivered",
                    ))
                    .await;
                    (false, None)
                } else if stands_back(&outbox, &lane, &job) {
                    lane.put_last(job);
                    continue;
                } else {
                    match Box::pin(deliver(&outbox, &lane, job)).await {
                        Some(SendOutcome::Ended { follows, remote }) => (follows, remote),
                        Some(SendOutcome::StoodBack(job)) => {
                            lane.put_last(*job);
                            continue;
                        }
                        // Another process goes on with it, and with whatever follows; or an
                        // operator has dropped it.
                        None => {
                            before = None;
                            continue;
                        }
                    }
                };
                before = Some(Before { turn, broken: !delivered, remote });
            }
            Taken::ReadBack => Box::pin(read_lane(&outbox, &lane)).await,
            Taken::Closed => return,
        }
    }
}

/// Outcome of the parts before, while this lane lives.
struct Before {
    turn: TurnId,
    broken: bool,
    remote: Option<RemoteId>,
}

/// Outcome of the earlier parts of the same answer, in the same Room, before this lane began
/// (after a restart): whether one was given up, and as what the last one arrived. None when the
/// part is another process's before that is known.
async fn went_before(outbox: &Outbox, job: &Job) -> Option<(bool, Option<RemoteId>)> {
    let delivery = &job.delivery;
    let mut parts = loop {
        match outbox.store.deliveries_of(delivery.turn).await {
            Ok(parts) => break parts,
            Err(_) if !job.lease.is_open() => return None,
            Err(error) => {
                tracing::debug!(delivery = %delivery.id, error = %error.report(), "failed to read the part before; retrying after the pause");
                outbox.clock.sleep(PAUSE).await;
            }
        }
    };
    parts.retain(|p| {
        p.delivery.part < delivery.part && p.delivery.address.room == delivery.address.room
    });
    let broken = parts.iter().any(|p| matches!(p.state, OutboxState::Dead | OutboxState::Expired));
    Some((broken, parts.into_iter().max_by_key(|p| p.delivery.part).and_then(|p| p.remote)))
}

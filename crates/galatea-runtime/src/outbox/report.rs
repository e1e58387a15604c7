//! Stores how a delivery stands, and publishes it.

use galatea_core::{
    Delivery, Error, Receipt, RemoteId, Result, Timestamp,
    store::{OutboxState, Settlement},
};

use super::{job::Job, state::Outbox};

/// Stores the next attempt and publishes it.
pub(super) async fn again(
    outbox: &Outbox,
    job: &Job,
    error: &Error,
    state: OutboxState,
    until: Timestamp,
) {
    let note = Settlement { error: Some(error.to_string()), ..settlement(job, state, until) };
    outbox.settler.settle(note).await;
    let millis = u64::try_from(until.since(outbox.clock.now()).as_millis()).unwrap_or(u64::MAX);
    tracing::info!(delivery = %job.delivery.id, attempt = job.delivery.attempt, millis, kind = ?error.kind(), code = error.code(), "failed to send a part; retrying after the pause");
    outbox.events.publish(galatea_core::Event::DeliveryRetrying {
        agent: job.delivery.agent,
        room: job.delivery.address.room,
        delivery: job.delivery.id,
        attempt: job.delivery.attempt,
        reason: error.to_string(),
        millis,
    });
}

/// Stored with a delivery whose earlier attempt may have arrived too.
const OUTCOME_UNKNOWN: &str =
    "an earlier attempt may have arrived as well; the platform could not tell";

/// Stored with a delivery that was not sent again, since it was there.
const FOUND: &str = "the answer to an earlier attempt was lost; read-back found it on the platform, so it was not sent again";

pub(super) async fn sent(outbox: &Outbox, mut job: Job, receipt: Receipt, found: bool) {
    let in_flight = job.in_flight.take();
    let delivery = &job.delivery;
    if let Some(moved) = &receipt.moved_to
        && let Err(error) = moved_to(outbox, delivery, moved).await
    {
        tracing::warn!(room = %delivery.address.room, error = %error.report(), "failed to store that a room moved; the next send to its old id repeats the move");
    }
    let error = if found {
        Some(FOUND.to_owned())
    } else {
        job.part.outcome_unknown.then(|| OUTCOME_UNKNOWN.to_owned())
    };
    outbox
        .settler
        .end(
            Settlement {
                remote: receipt.id,
                error,
                ..settlement(&job, OutboxState::Sent, outbox.clock.now())
            },
            in_flight,
        )
        .await;
    tracing::debug!(delivery = %delivery.id, room = %delivery.address.room, attempt = delivery.attempt, "sent");
    outbox.events.publish(galatea_core::Event::DeliverySent {
        agent: delivery.agent,
        room: delivery.address.room,
        delivery: delivery.id,
        attempt: delivery.attempt,
    });
}

async fn moved_to(outbox: &Outbox, delivery: &Delivery, to: &RemoteId) -> Result<()> {
    let room =
        outbox.directory.accounts.room(&delivery.address.source, &delivery.address.account, to);
    outbox.store.move_room(delivery.address.room, room, to).await?;
    outbox.directory.moved(delivery.address.room, room, to);
    Ok(())
}

/// What is kept of a part that is given up: with code and fix, since nothing else will tell them.
pub(super) fn last_words(error: Error) -> String {
    let extras =
        [("code", error.code().map(str::to_owned)), ("fix", error.fix().map(str::to_owned))];
    let extras = extras.into_iter().filter_map(|(key, text)| Some((key, text?)));
    extras.fold(error, |error, (key, text)| error.with(key, text)).to_string()
}

pub(super) async fn ended(outbox: &Outbox, mut job: Job, state: OutboxState, reason: &str) {
    let in_flight = job.in_flight.take();
    let delivery = &job.delivery;
    let reason = if job.part.outcome_unknown {
        format!("{reason}; {OUTCOME_UNKNOWN}")
    } else {
        reason.to_owned()
    };
    outbox
        .settler
        .end(
            Settlement {
                error: Some(reason.clone()),
                ..settlement(&job, state, outbox.clock.now())
            },
            in_flight,
        )
        .await;
    if state == OutboxState::Ambiguous {
        tracing::warn!(delivery = %delivery.id, room = %delivery.address.room, source = %delivery.address.source, state = state.as_str(), reason, "a part ended with an unknown outcome; parts after it are sent");
    } else {
        tracing::warn!(delivery = %delivery.id, room = %delivery.address.room, source = %delivery.address.source, state = state.as_str(), reason, "a part ended without delivery; parts after it are not sent");
    }
    outbox.events.publish(galatea_core::Event::DeliveryFailed {
        agent: delivery.agent,
        room: delivery.address.room,
        delivery: delivery.id,
        reason,
    });
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
        outcome_unknown: job.part.outcome_unknown,
        fence: job.lease.fence(),
    }
}

//! Stores the state of a part (about to be sent, waiting for a retry, ended), and publishes retries
//! and ends as events.
//!
//! Before a part goes out, its row says `sending` and has the time of the attempt. After a crash
//! the next run waits [`SETTLE_TIME`] from that time on, and then reads back whether the part
//! arrived. If the stored time were too old, the run would read back before a late message shows.
//! [`SendIntent`] therefore keeps the time fresh.

use galatea_core::{
    Delivery, Error, Receipt, RemoteId, Result, Timestamp,
    protocol::SETTLE_TIME,
    store::{OutboxState, Settlement},
};
use std::time::Duration;

use super::{job::Job, route::Route, stack::SendError, state::Outbox};

/// Longest age of the stored time while a send goes on. At least half of [`SETTLE_TIME`] is then
/// left for a late arrival.
const FRESH: Duration = SETTLE_TIME.checked_div(2).unwrap();
/// If storing or sending takes longer than [`FRESH`], the stored time is set this far into the
/// future: longer than an attempt can take (150 s). A run that reads a time in the future waits
/// [`SETTLE_TIME`] from its own present on ([`galatea_core::protocol::Part::by`]).
const AHEAD: Duration = Duration::from_secs(300);

/// Time at which a part was last stored as about to be sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct SendIntent(Timestamp);

impl SendIntent {
    /// The intent of a part that was committed as `sending`. Its time is that of the
    /// part's creation.
    pub(super) fn committed(job: &Job) -> Self {
        Self(job.part.not_before)
    }

    /// Stores the intent with the time `at`. None if the store refuses it, because another process
    /// holds the account by now.
    pub(super) async fn set(outbox: &Outbox, job: &Job, at: Timestamp) -> Option<Self> {
        let marked = outbox.settler.settle_now(settlement(job, OutboxState::Sending, at)).await;
        marked.then_some(Self(at))
    }

    /// Stores the intent again if it is older than [`FRESH`]: a slow disk may have taken seconds to
    /// store it. None if another process holds the account by now.
    pub(super) async fn renew(self, outbox: &Outbox, job: &Job) -> Option<Self> {
        let mut intent = self;
        while intent.left(outbox).is_zero() {
            intent = Self::set(outbox, job, outbox.clock.now().plus(AHEAD)).await?;
        }
        Some(intent)
    }

    /// Makes one attempt. If the intent becomes older than [`FRESH`] meanwhile, stores it again with
    /// a time in the future.
    pub(super) async fn send(
        self,
        outbox: &Outbox,
        route: &Route,
        job: &Job,
    ) -> Result<Receipt, SendError> {
        let leave = job.lease.send_permit();
        let sending = route.stack.send(&job.delivery, &leave);
        tokio::pin!(sending);
        tokio::select! {
            biased;
            outcome = &mut sending => return outcome,
            () = outbox.clock.sleep(self.left(outbox)) => {}
        }
        outbox
            .settler
            .settle(settlement(job, OutboxState::Sending, outbox.clock.now().plus(AHEAD)))
            .await;
        sending.await
    }

    fn left(self, outbox: &Outbox) -> Duration {
        self.0.plus(FRESH).since(outbox.clock.now())
    }
}

/// Stores until when a part waits for its next attempt, with the error of the last one, and
/// publishes the retry.
pub(super) async fn store_retry(
    outbox: &Outbox,
    job: &Job,
    error: &Error,
    state: OutboxState,
    until: Timestamp,
) {
    let note = Settlement { error: Some(error.to_string()), ..settlement(job, state, until) };
    outbox.settler.settle(note).await;
    let millis = u64::try_from(until.since(outbox.clock.now()).as_millis()).unwrap_or(u64::MAX);
    tracing::info!(delivery = %job.delivery.id, attempt = job.delivery.attempt, millis, kind = ?error.kind(), code = error.code(), "a part was not sent; trying again after the pause");
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

/// Stores that a part was sent, and publishes it. If the platform moved the room, moves it in
/// the store first. `found` says that read-back found the part.
pub(super) async fn store_sent(outbox: &Outbox, mut job: Job, receipt: Receipt, found: bool) {
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

/// The text stored with a part that is given up: the error with its code and fix, which its
/// `Display` leaves out.
pub(super) fn last_words(error: Error) -> String {
    let extras =
        [("code", error.code().map(str::to_owned)), ("fix", error.fix().map(str::to_owned))];
    let extras = extras.into_iter().filter_map(|(key, text)| Some((key, text?)));
    extras.fold(error, |error, (key, text)| error.with(key, text)).to_string()
}

/// Stores that a part ended without a confirmed delivery, and publishes it with the reason.
pub(super) async fn store_end(outbox: &Outbox, mut job: Job, state: OutboxState, reason: &str) {
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

/// The stored state of a part. `at` is the time of the attempt, of the next attempt, or of the end.
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

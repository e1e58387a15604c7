//! Asks the platform whether a part of unknown outcome was delivered.

use galatea_core::{
    Backoff, ReadBackResult, Receipt, Retry, kill_point,
    protocol::{ATTEMPTS, ReadBackOutcome},
};
use std::time::Duration;

use super::{job::Job, route::Route, stack::SendError, state::Outbox};

/// First and longest pause after a failed request; the platform may ask for another one.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(32);

/// Retries until the platform answers or the attempts are used up. Where it stays unclear,
/// `DELIVERY_WHEN_UNSURE` decides, and the unknown outcome is stored.
pub(super) async fn read_back(
    outbox: &Outbox,
    route: &Route,
    job: &Job,
) -> (ReadBackOutcome, Option<Receipt>) {
    let delivery = &job.delivery;
    let mut tries = 0;
    loop {
        let found = match outbox.store.read_back_context(delivery).await {
            Ok(context) => route.stack.find(delivery, &context).await,
            Err(error) => Err(SendError::Failed(error)),
        };
        let (error, asked) = match found {
            Ok(ReadBackResult::Sent(receipt)) => {
                kill_point("find.there");
                return (ReadBackOutcome::Present, Some(receipt));
            }
            Ok(ReadBackResult::NotSent) => {
                kill_point("find.not_there");
                return (ReadBackOutcome::Absent, None);
            }
            Ok(ReadBackResult::Unknown) => {
                tracing::warn!(delivery = %delivery.id, "read-back is inconclusive; DELIVERY_WHEN_UNSURE decides");
                return (ReadBackOutcome::Unclear, None);
            }
            Err(SendError::Deferred(error)) => (error, false),
            Err(SendError::Failed(error)) => (error, true),
        };
        // A rate limit yields no answer and does not count as a failed attempt, except for a part
        // that is too old to be sent: its read-back must end.
        let is_over = job.part.expires.is_some_and(|end| outbox.clock.now() > end);
        let (delay, counts) = match error.retry() {
            Retry::After(delay) => (delay, is_over),
            Retry::Never => return unclear(job, &error),
            Retry::Soon => (Backoff::pause_after(PAUSE, LONGEST, tries), true),
        };
        tries += u32::from(asked && counts);
        if tries >= ATTEMPTS {
            return unclear(job, &error);
        }
        tracing::info!(delivery = %delivery.id, error = %error.report(), "failed to read back a send; retrying after the pause");
        outbox.clock.sleep(delay).await;
    }
}

fn unclear(job: &Job, error: &galatea_core::Error) -> (ReadBackOutcome, Option<Receipt>) {
    tracing::warn!(delivery = %job.delivery.id, error = %error.report(), "read-back keeps failing; the outcome stays unknown and DELIVERY_WHEN_UNSURE decides");
    (ReadBackOutcome::Unclear, None)
}

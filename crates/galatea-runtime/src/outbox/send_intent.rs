//! Stores `sending` before a part goes out, with the time. After a crash the next run waits from
//! that time on before it reads back whether the part arrived. An old time would make it read back
//! while the message is still on its way, so the time is kept fresh.

use galatea_core::{Receipt, Timestamp, protocol::SETTLE_TIME, store::OutboxState};
use std::time::Duration;

use super::{job::Job, report::settlement, route::Route, stack::SendError, state::Outbox};

/// How old the stored time may be while its send goes on: at least half of the time for a late
/// arrival is left.
const FRESH: Duration = SETTLE_TIME.checked_div(2).unwrap();
/// Where storing or sending takes longer, the time is set so far ahead. A run that finds such a
/// time waits the whole time from then on ([`galatea_core::protocol::Part::by`]).
const AHEAD: Duration = Duration::from_secs(300);

/// When a part was last stored as about to be sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct SendIntent(Timestamp);

impl SendIntent {
    /// Of a part that was committed as `sending`.
    pub(super) fn committed(job: &Job) -> Self {
        Self(job.part.not_before)
    }

    /// Stores it. None when another process holds the account by now.
    pub(super) async fn set(outbox: &Outbox, job: &Job, at: Timestamp) -> Option<Self> {
        let marked = outbox.settler.settle_now(settlement(job, OutboxState::Sending, at)).await;
        marked.then_some(Self(at))
    }

    /// Stores it again when it has become old: a slow disk may have taken seconds for it. None when
    /// another process holds the account by now.
    pub(super) async fn renew(self, outbox: &Outbox, job: &Job) -> Option<Self> {
        let mut intent = self;
        while intent.left(outbox).is_zero() {
            intent = Self::set(outbox, job, outbox.clock.now().plus(AHEAD)).await?;
        }
        Some(intent)
    }

    /// Makes one attempt, under an intent that stays fresh meanwhile.
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

//! Mark: says durably that a part is about to be sent, and keeps that young. A later run waits from the mark on before it looks whether the
//! part arrived; counted from one that was old when the send began, it would look while the message is still on its way.

use galatea_core::{Receipt, Timestamp, protocol::SETTLE_TIME, store::OutboxState};
use std::time::Duration;

use super::{Job, Route, Settler, stack::Missed, worker::settlement};
use crate::agent::Agent;

/// How old a mark may be while its send goes on: half of the time for a late arrival is left, at least.
const YOUNG: Duration = SETTLE_TIME.checked_div(2).unwrap();
/// Where storing or sending takes longer, the mark is set so far ahead. Whoever finds such a one waits the whole time from then on
/// ([`galatea_core::protocol::Part::by`]).
const AHEAD: Duration = Duration::from_secs(300);

/// When a part was last said to be sent now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark(Timestamp);

impl Mark {
    /// Of a part that was committed as one to be sent at once.
    pub(super) fn committed(job: &Job) -> Self {
        Self(job.part.not_before)
    }

    /// Marks a part. None when it is another process's by now.
    pub(super) async fn set(settler: &Settler, job: &Job, at: Timestamp) -> Option<Self> {
        let marked = settler.settle_now(settlement(job, OutboxState::Sending, at)).await;
        marked.then_some(Self(at))
    }

    /// Marks it anew should that have become old: a slow disk may have taken seconds for it. None when it is another process's by now.
    pub(super) async fn renew(self, agent: &Agent, settler: &Settler, job: &Job) -> Option<Self> {
        let mut mark = self;
        while mark.left(agent).is_zero() {
            mark = Self::set(settler, job, agent.clock.now().plus(AHEAD)).await?;
        }
        Some(mark)
    }

    /// Makes one attempt, under a mark that does not grow old meanwhile.
    pub(super) async fn send(self, agent: &Agent, settler: &Settler, route: &Route, job: &Job) -> Result<Receipt, Missed> {
        let sending = route.stack.send(&job.delivery);
        tokio::pin!(sending);
        tokio::select! {
            biased;
            outcome = &mut sending => return outcome,
            () = agent.clock.sleep(self.left(agent)) => {}
        }
        settler.settle(settlement(job, OutboxState::Sending, agent.clock.now().plus(AHEAD))).await;
        sending.await
    }

    fn left(self, agent: &Agent) -> Duration {
        self.0.plus(YOUNG).since(agent.clock.now())
    }
}

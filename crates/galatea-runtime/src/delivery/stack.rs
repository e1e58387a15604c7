//! The layers around a send handler, in the one order: `rate_limit(breaker(timeout(handler)))`.

use futures::FutureExt;
use galatea_core::{Clock, ConnectorInfo, Delivery, Error, Found, Receipt, Result, SendHandler, Sent, Trail, kill_point};
use std::{panic::AssertUnwindSafe, sync::Arc};

use super::{breaker::Breaker, rate_limit::RateLimit, timeout};

/// A send handler with its layers.
pub(crate) struct Stack {
    handler: Arc<dyn SendHandler>,
    limit: RateLimit,
    breaker: Breaker,
    clock: Arc<dyn Clock>,
}

/// Why an attempt brought nothing.
#[derive(Debug)]
pub(crate) enum Missed {
    /// A layer held it back; the platform never heard of it, so it is no attempt.
    Held(Error),
    /// The platform was asked.
    Failed(Error),
}

impl Stack {
    /// Fresh layers for one account.
    pub(crate) fn new(info: &ConnectorInfo, handler: Arc<dyn SendHandler>, clock: Arc<dyn Clock>) -> Self {
        Self { handler, limit: RateLimit::new(), breaker: Breaker::new(format!("{}:{}", info.source, info.account)), clock }
    }

    /// One attempt.
    pub(crate) async fn send(&self, delivery: &Delivery) -> Result<Receipt, Missed> {
        // Outermost, because a send that waits for its turn must neither count as slow nor hold a probe.
        self.limit.admit(delivery, self.clock.now()).map_err(Missed::Held)?;
        // Inside, because our own waiting says nothing about the platform's health.
        let permit = self.breaker.admit(self.clock.now()).map_err(Missed::Held)?;
        // Innermost, because only the platform's own time is bounded and judged.
        kill_point("send.before");
        let outcome = guarded(timeout::within(self.handler.send(delivery))).await;
        kill_point("send.after");
        let now = self.clock.now();
        permit.settle(&outcome, now);
        self.limit.learn(delivery, &outcome, now);
        outcome.map_err(Missed::Failed)
    }

    /// Read-back of an unknown outcome. Passes the breaker too: a dead platform cannot be asked either.
    pub(crate) async fn find(&self, delivery: &Delivery, trail: &Trail) -> Result<Found, Missed> {
        let permit = self.breaker.admit(self.clock.now()).map_err(Missed::Held)?;
        let outcome = guarded(timeout::within(self.handler.find(delivery, trail))).await;
        permit.settle(&outcome, self.clock.now());
        outcome.map_err(Missed::Failed)
    }
}

/// A connector that crashes costs this attempt only. Whether the platform heard of it is unknown.
async fn guarded<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .unwrap_or_else(|_| Err(Error::unexpected("the connector crashed while sending").with_code("GAL-SEND-PANIC").with_sent(Sent::Maybe)))
}

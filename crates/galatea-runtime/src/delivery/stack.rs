//! The layers around a send handler, in the one order: `rate_limit(breaker(timeout(handler)))`.

use galatea_core::{Clock, ConnectorInfo, Delivery, Found, Receipt, Result, SendHandler};
use std::sync::Arc;

use super::{breaker::Breaker, rate_limit::RateLimit, timeout};

/// A send handler with its layers.
pub(crate) struct Stack {
    handler: Arc<dyn SendHandler>,
    limit: RateLimit,
    breaker: Breaker,
    clock: Arc<dyn Clock>,
}

impl Stack {
    /// Fresh layers for one account.
    pub(crate) fn new(info: &ConnectorInfo, handler: Arc<dyn SendHandler>, clock: Arc<dyn Clock>) -> Self {
        Self { handler, limit: RateLimit::new(), breaker: Breaker::new(format!("{}:{}", info.source, info.account)), clock }
    }

    /// One attempt.
    pub(crate) async fn send(&self, delivery: &Delivery) -> Result<Receipt> {
        // Outermost, because a send that waits for its turn must neither count as slow nor hold a probe.
        self.limit.admit(delivery, self.clock.now())?;
        // Inside, because our own waiting says nothing about the platform's health.
        let permit = self.breaker.admit(self.clock.now())?;
        // Innermost, because only the platform's own time is bounded and judged.
        let outcome = timeout::within(self.handler.send(delivery)).await;
        let now = self.clock.now();
        permit.settle(&outcome, now);
        self.limit.learn(delivery, &outcome, now);
        outcome
    }

    /// Read-back of an unknown outcome. Passes the breaker too: a dead platform cannot be asked either.
    pub(crate) async fn find(&self, delivery: &Delivery) -> Result<Found> {
        let permit = self.breaker.admit(self.clock.now())?;
        let outcome = timeout::within(self.handler.find(delivery)).await;
        permit.settle(&outcome, self.clock.now());
        outcome
    }
}

//! The layers around a send handler, in the one order: `rate_limit(breaker(timeout(handler)))`.

use futures::FutureExt;
use galatea_core::{
    Clock, ConnectorInfo, Delivery, Error, ErrorKind, EventBus, Found, Receipt, Result, Retry, SendHandler, Sent, Timestamp, Trail,
    breaker::{Admission, BreakerLimits, BreakerState, Call, Permit, SharedBreaker},
};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use super::{rate_limit::RateLimit, timeout};

/// Half of what a connector's own HTTP timeout allows (15 to 20 s) is slow; a probe has a while longer than any attempt.
const LIMITS: BreakerLimits = BreakerLimits { slow: Duration::from_secs(10), probe: Duration::from_secs(45) };

/// A send handler with its layers.
pub(crate) struct Stack {
    handler: Arc<dyn SendHandler>,
    limit: RateLimit,
    breaker: SharedBreaker,
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
    pub(crate) fn new(info: &ConnectorInfo, handler: Arc<dyn SendHandler>, clock: Arc<dyn Clock>, events: EventBus) -> Self {
        let breaker = SharedBreaker::new(format!("{}:{}", info.source, info.account), LIMITS, events, clock.now());
        Self { handler, limit: RateLimit::new(), breaker, clock }
    }

    /// How its breaker stands.
    pub(crate) fn breaker(&self) -> BreakerState {
        self.breaker.state()
    }

    /// One attempt.
    pub(crate) async fn send(&self, delivery: &Delivery) -> Result<Receipt, Missed> {
        // Outermost, because a send that waits for its turn must neither count as slow nor hold a probe.
        self.limit.admit(delivery, self.clock.now()).map_err(Missed::Held)?;
        // Inside, because our own waiting says nothing about the platform's health.
        let started = self.clock.now();
        let permit = self.pass(started)?;
        // Innermost, because only the platform's own time is bounded and judged.
        let outcome = guarded(timeout::within(self.handler.send(delivery))).await;
        let now = self.clock.now();
        settle(permit, &outcome, started, now);
        self.limit.learn(delivery, &outcome, now);
        outcome.map_err(Missed::Failed)
    }

    fn pass(&self, now: Timestamp) -> Result<Permit<'_>, Missed> {
        self.breaker.admit(now, rand::random()).map_err(|held| {
            let cause = self.breaker.state().cause.unwrap_or_default();
            Missed::Held(match held {
                Admission::Wait(delay) => Error::new(ErrorKind::Unavailable, "sending is paused because the platform keeps failing")
                    .with("cause", cause)
                    .with_retry(Retry::After(delay)),
                Admission::Go(_) | Admission::Never => {
                    Error::new(ErrorKind::Unauthorized, "sending is stopped because the platform refused the credentials").with("cause", cause)
                }
            })
        })
    }

    /// Read-back of an unknown outcome. Passes the breaker too: a dead platform cannot be asked either.
    pub(crate) async fn find(&self, delivery: &Delivery, trail: &Trail) -> Result<Found, Missed> {
        let started = self.clock.now();
        let permit = self.pass(started)?;
        let outcome = guarded(timeout::within(self.handler.find(delivery, trail))).await;
        settle(permit, &outcome, started, self.clock.now());
        outcome.map_err(Missed::Failed)
    }
}

fn settle<T>(permit: Permit<'_>, outcome: &Result<T>, started: Timestamp, now: Timestamp) {
    let call = match outcome {
        Ok(_) => Call::Done(now.since(started)),
        Err(error) => judge(error),
    };
    permit.settle(call, now, rand::random());
}

/// What a failure says about the platform's health. Refusals of one message say nothing; 429 is the limiter's.
fn judge(error: &Error) -> Call {
    match error.kind() {
        ErrorKind::Unauthorized => Call::Locked { cause: error.brief(), again: None },
        ErrorKind::Unavailable | ErrorKind::Timeout => Call::Failed { cause: error.brief() },
        _ => Call::Refused,
    }
}

/// A connector that crashes costs this attempt only. Whether the platform heard of it is unknown.
async fn guarded<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .unwrap_or_else(|_| Err(Error::unexpected("the connector crashed while sending").with_code("GAL-SEND-PANIC").with_sent(Sent::Maybe)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_platforms_own_trouble_counts() {
        for kind in [ErrorKind::RateLimited, ErrorKind::Invalid, ErrorKind::Forbidden, ErrorKind::NotFound, ErrorKind::Conflict] {
            assert_eq!(judge(&Error::new(kind, "x")), Call::Refused, "{kind:?}");
        }
        for kind in [ErrorKind::Unavailable, ErrorKind::Timeout] {
            assert_eq!(judge(&Error::new(kind, "x")), Call::Failed { cause: "x".into() });
        }
        assert_eq!(judge(&Error::new(ErrorKind::Unauthorized, "x")), Call::Locked { cause: "x".into(), again: None });
    }
}

//! The layers around a send handler, in the one order: `gate(breaker(timeout(handler)))`. Every
//! call of an account goes through here.

use futures::FutureExt;
use galatea_core::{
    Address, Clock, ConnectorInfo, Delivery, Error, ErrorKind, EventBus, Media, Priority, Reach,
    ReadBackContext, ReadBackResult, Receipt, RemoteId, Result, Retry, RoomId, SendHandler,
    SendPermit, Sent, Speak, Store, Timestamp, WorldId,
    breaker::{Admission, BreakerLimits, BreakerState, Call, Phase},
    kill_point,
    shared_breaker::{Permit, SharedBreaker},
};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use super::rate_gate::{CallTarget, RateGate};
use crate::directory::Directory;

/// Longest time of one attempt: above every connector's own HTTP timeouts (15 to 25 s, two minutes
/// for files), so that it only ends what hangs.
const ATTEMPT: Duration = Duration::from_secs(150);

/// Half of what a connector's own HTTP timeout allows (15 to 20 s) is slow; a probe has a while
/// longer than any attempt.
const LIMITS: BreakerLimits = BreakerLimits {
    slow: Duration::from_secs(10),
    probe: ATTEMPT.saturating_add(Duration::from_secs(15)),
};

/// World of a Room.
#[derive(Clone)]
pub(super) struct Worlds {
    /// Knows the Worlds of Rooms in use.
    pub(super) directory: Arc<Directory>,
    /// Knows those of all others.
    pub(super) store: Arc<dyn Store>,
}

/// Longest wait for a Room's World: a send needs nothing else of the store.
const LOOK_UP: Duration = Duration::from_secs(2);

impl Worlds {
    /// Absent when the Room is not stored. A failure counts as that: the platform then refuses one
    /// more call.
    async fn of(&self, room: RoomId) -> Option<WorldId> {
        let found = self.directory.rooms.world(&*self.store, room);
        match tokio::time::timeout(LOOK_UP, found).await {
            Ok(Ok(world)) => world,
            Ok(Err(error)) => {
                tracing::debug!(%room, error = %error.report(), "failed to read the World of a Room; a rate limit of its World is not applied");
                None
            }
            Err(_) => {
                tracing::debug!(%room, "reading the World of a Room took too long; a rate limit of its World is not applied");
                None
            }
        }
    }
}

/// A send handler with its layers.
pub(crate) struct Stack {
    handler: Arc<dyn SendHandler>,
    gate: Arc<RateGate>,
    worlds: Worlds,
    breaker: SharedBreaker,
    clock: Arc<dyn Clock>,
}

/// Why an attempt failed.
#[derive(Debug)]
pub(crate) enum SendError {
    /// A layer held it back; the platform received nothing, so it does not count as an attempt.
    Deferred(Error),
    /// The platform was asked.
    Failed(Error),
}

impl Stack {
    /// Fresh layers for one account.
    pub(super) fn new(
        info: &ConnectorInfo,
        handler: Arc<dyn SendHandler>,
        clock: Arc<dyn Clock>,
        events: EventBus,
        gate: Arc<RateGate>,
        worlds: Worlds,
    ) -> Self {
        let breaker = SharedBreaker::new(
            format!("{}:{}", info.source, info.account),
            LIMITS,
            events,
            clock.now(),
        );
        Self { handler, gate, worlds, breaker, clock }
    }

    /// State of its breaker.
    pub(crate) fn breaker(&self) -> BreakerState {
        self.breaker.state()
    }

    /// Makes one attempt, unless the permit is withdrawn first.
    pub(crate) async fn send(
        &self,
        delivery: &Delivery,
        permit: &SendPermit,
    ) -> Result<Receipt, SendError> {
        // Outermost, because a send that waits for its turn must neither count as slow nor hold a
        // probe.
        let (room, priority) = (delivery.address.room, self.handler.priority(&delivery.body));
        self.admit(room, priority).await.map_err(SendError::Deferred)?;
        // Inside, because our own waiting says nothing about the platform's health.
        let started = self.clock.now();
        let admitted = self.pass(started)?;
        // Innermost, because only the platform's own time is bounded and judged.
        kill_point("send.before");
        let outcome = guarded(within(self.handler.send_with(delivery, permit))).await;
        kill_point("send.after");
        let now = self.clock.now();
        settle(admitted, &outcome, started, now);
        self.learn(room, priority, &outcome, now).await;
        outcome.map_err(SendError::Failed)
    }

    fn pass(&self, now: Timestamp) -> Result<Permit<'_>, SendError> {
        self.breaker.admit(now, rand::random()).map_err(|held| {
            let cause = self.breaker.state().cause.unwrap_or_default();
            SendError::Deferred(match held {
                Admission::Wait(delay) => Error::new(ErrorKind::Unavailable, "sending is paused because the platform keeps failing")
                    .with("cause", cause)
                    .with_retry(Retry::After(delay)),
                Admission::Go(_) | Admission::Never => Error::new(ErrorKind::Unauthorized, "sending is stopped because the platform refused the credentials")
                    .with("cause", cause)
                    .with_fix("set the right ones and start galatea again: a running process does not read them again"),
            })
        })
    }

    /// Read-back of an unknown outcome. Passes the breaker too: a dead platform cannot be asked
    /// either.
    pub(crate) async fn find(
        &self,
        delivery: &Delivery,
        context: &ReadBackContext,
    ) -> Result<ReadBackResult, SendError> {
        // An answer waits for it.
        self.admit(delivery.address.room, Priority::Answer).await.map_err(SendError::Deferred)?;
        let started = self.clock.now();
        let permit = self.pass(started)?;
        let outcome = guarded(within(self.handler.find(delivery, context))).await;
        let now = self.clock.now();
        settle(permit, &outcome, started, now);
        self.learn(delivery.address.room, Priority::Answer, &outcome, now).await;
        outcome.map_err(SendError::Failed)
    }

    /// Shows that an answer is coming; not while anything is in the way, and never again for that.
    pub(crate) async fn typing(&self, address: &Address) -> Result<()> {
        if self.breaker.state().phase != Phase::Closed
            || self.admit(address.room, Priority::Typing).await.is_err()
        {
            return Ok(());
        }
        let outcome = guarded(within(self.handler.typing(address))).await;
        self.learn(address.room, Priority::Typing, &outcome, self.clock.now()).await;
        outcome
    }

    /// Closes a button press or command that gets no answer. Tried once.
    pub(crate) async fn unanswered(
        &self,
        address: &Address,
        message: &RemoteId,
        why: &str,
    ) -> Result<()> {
        self.admit(address.room, Priority::Callback).await?;
        let outcome = guarded(within(self.handler.unanswered(address, message, why))).await;
        self.learn(address.room, Priority::Callback, &outcome, self.clock.now()).await;
        outcome
    }

    /// Marks the buttons of a press as used. Tried once.
    pub(crate) async fn used(&self, address: &Address, press: &RemoteId) -> Result<()> {
        self.admit(address.room, Priority::Callback).await?;
        let outcome = guarded(within(self.handler.used(address, press))).await;
        self.learn(address.room, Priority::Callback, &outcome, self.clock.now()).await;
        outcome
    }

    /// Asks if the platform lets a person say something in a place; not asked while the platform is
    /// known to be away.
    pub(crate) async fn may_speak(&self, address: &Address, person: &RemoteId) -> Result<Speak> {
        if self.breaker.state().phase != Phase::Closed {
            return Ok(Speak::Unknown);
        }
        self.admit(address.room, Priority::Callback).await?;
        let outcome = guarded(within(self.handler.may_speak(address, person))).await;
        self.learn(address.room, Priority::Callback, &outcome, self.clock.now()).await;
        outcome
    }

    /// Downloads a file of a received message.
    pub(crate) async fn fetch(&self, room: RoomId, media: &Media, limit: usize) -> Result<Vec<u8>> {
        self.admit(room, Priority::Callback).await?;
        let outcome = self.handler.fetch(media, limit).await;
        self.learn(room, Priority::Callback, &outcome, self.clock.now()).await;
        outcome
    }

    /// A call's World is looked up only while a World has to wait, since that may read the store.
    async fn admit(&self, room: RoomId, priority: Priority) -> Result<()> {
        let waiting = self.gate.is_world_waiting(self.clock.now());
        let world = if waiting { self.worlds.of(room).await } else { None };
        self.gate.admit(CallTarget { room, world }, priority, self.clock.now())
    }

    async fn learn<T>(
        &self,
        room: RoomId,
        priority: Priority,
        outcome: &Result<T>,
        now: Timestamp,
    ) {
        let reach = outcome.as_ref().err().map(Error::reach);
        let world = if reach == Some(Reach::World) { self.worlds.of(room).await } else { None };
        self.gate.learn(CallTarget { room, world }, priority, outcome, now);
    }

    /// The gate, which outlives a connector that restarts.
    pub(crate) fn gate(&self) -> &Arc<RateGate> {
        &self.gate
    }
}

fn settle<T>(permit: Permit<'_>, outcome: &Result<T>, started: Timestamp, now: Timestamp) {
    let call = match outcome {
        Ok(_) => Call::Done(now.since(started)),
        Err(error) => outcome_of(error),
    };
    permit.settle(call, now, rand::random());
}

/// Meaning of a failure for the platform's health. Refusals of one message say nothing; 429 is the
/// limiter's.
fn outcome_of(error: &Error) -> Call {
    match error.kind() {
        ErrorKind::Unauthorized => Call::Locked { cause: error.brief(), again: None },
        ErrorKind::Unavailable | ErrorKind::Timeout => Call::Failed { cause: error.brief() },
        _ => Call::Refused,
    }
}

/// Bounds a call; running out means that the work may have been done.
async fn within<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(ATTEMPT, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Error::new(ErrorKind::Timeout, "the platform did not answer in time")
            .with("seconds", ATTEMPT.as_secs())),
    }
}

/// A connector that crashes costs this attempt only. Whether the platform heard of it is unknown.
async fn guarded<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        Err(Error::unexpected("the connector crashed while sending")
            .with_code("GAL-SEND-PANIC")
            .with_sent(Sent::Maybe))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_platforms_own_trouble_counts() {
        for kind in [
            ErrorKind::RateLimited,
            ErrorKind::Exhausted,
            ErrorKind::Invalid,
            ErrorKind::Forbidden,
            ErrorKind::NotFound,
            ErrorKind::Conflict,
        ] {
            assert_eq!(outcome_of(&Error::new(kind, "x")), Call::Refused, "{kind:?}");
        }
        for kind in [ErrorKind::Unavailable, ErrorKind::Timeout] {
            assert_eq!(outcome_of(&Error::new(kind, "x")), Call::Failed { cause: "x".into() });
        }
        assert_eq!(
            outcome_of(&Error::new(ErrorKind::Unauthorized, "x")),
            Call::Locked { cause: "x".into(), again: None }
        );
    }
}

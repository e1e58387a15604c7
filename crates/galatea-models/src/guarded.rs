//! Puts a circuit breaker and a timeout around one model. It streams the answer internally, so that
//! silence is detected early.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::future::{Either, select};
use galatea_core::{
    Clock, Deadline, EmbeddingModel, Error, ErrorKind, ModelInfo, Result, Retry, Sent, TextModel,
    Timestamp,
    breaker::{Admission, BreakerLimits, Call},
    model::{Finish, ObjectModel, OnText, TextAnswer, TextRequest, Usage},
    shared_breaker::SharedBreaker,
    tokens::Family,
};
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use crate::wire::codes;

/// Longest pause that a service's `Retry-After` causes at a time.
const LONGEST_WISH: Duration = Duration::from_secs(600);

/// Time before a call's end at which the text is taken that has come until then.
const SOONER: Duration = Duration::from_millis(100);

/// Time limits of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Longest time of a call.
    pub(crate) total: Duration,
    /// If the deadline leaves less than this, a timeout is not counted as a failure: even a healthy
    /// model may not have begun its answer.
    pub(crate) fair: Duration,
}

/// A model behind a circuit breaker, which pauses calls while the model keeps failing.
pub(crate) struct Guarded<M: ?Sized> {
    breaker: Arc<SharedBreaker>,
    clock: Arc<dyn Clock>,
    allowed: Allowed,
    stream: bool,
    /// The failure that latched the breaker; later calls return it.
    locked: Mutex<Option<Error>>,
    /// End of the service's rate limit and the error that reported it. Calls before that end would
    /// be refused too, and would count towards the limit.
    alone: Mutex<Option<(Deadline, Error)>>,
    inner: Arc<M>,
}

/// The limits of a model's breaker. A call counts as slow after half of the time an answer may
/// take.
pub(crate) fn limits(total: Duration) -> BreakerLimits {
    BreakerLimits { slow: total / 2, probe: total + Duration::from_secs(5) }
}

impl<M: Send + Sync + ?Sized> Guarded<M> {
    /// Wraps a model. `allowed` bounds one call. `stream` makes every call stream, even if the
    /// caller wants a whole answer.
    pub(crate) fn new(
        inner: Arc<M>,
        breaker: Arc<SharedBreaker>,
        allowed: Allowed,
        stream: bool,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            breaker,
            clock,
            allowed,
            stream,
            locked: Mutex::new(None),
            alone: Mutex::new(None),
            inner,
        }
    }

    pub(crate) fn inner(&self) -> &M {
        &self.inner
    }

    pub(crate) async fn call<T>(
        &self,
        deadline: Option<Timestamp>,
        work: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        let started = self.clock.now();
        if let Some(failure) = self.is_to_be_left_alone(started) {
            return Err(failure);
        }
        let permit = self.breaker.admit(started, rand::random()).map_err(|held| self.held(held))?;
        let patience =
            deadline.map_or(self.allowed.total, |end| end.since(started).min(self.allowed.total));
        // The timeout is applied here so that it counts as a failure. Otherwise the breaker would
        // never learn of a model that hangs until the caller gives up.
        let outcome = match select(Box::pin(work), self.clock.sleep(patience)).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(((), _)) => {
                let late = Err(Error::new(
                    ErrorKind::Timeout,
                    "the model did not answer within the time allowed",
                )
                .with_code(codes::TIMEOUT)
                .with("seconds", patience.as_secs_f32()));
                if patience < self.allowed.fair {
                    // The permit is dropped unsettled: the model did not have enough time, so the
                    // call counts neither way.
                    drop(permit);
                    return late;
                }
                late
            }
        };
        let now = self.clock.now();
        let call = match &outcome {
            Ok(_) => Call::Done(now.since(started)),
            Err(error) => classify(error, now),
        };
        if let (Call::Locked { .. } | Call::Barred { .. }, Err(error)) = (&call, &outcome) {
            *lock(&self.locked) = Some(error.duplicate());
        }
        if let Err(error) = &outcome
            && let (Some(codes::RATE), Retry::After(wait)) = (error.code(), error.retry())
        {
            *lock(&self.alone) =
                Some((Deadline::after(now, wait.min(LONGEST_WISH)), error.duplicate()));
        }
        permit.settle(call, now, rand::random());
        outcome
    }

    /// Makes a call at the expense of the request's bill. A limit's refusal says nothing about the
    /// model, so it comes before the breaker.
    async fn billed<T>(
        &self,
        request: &TextRequest,
        info: &ModelInfo,
        work: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        let attempt = request.bill.attempt(info)?;
        let outcome = self.call(request.deadline, work).await;
        attempt.end(outcome.as_ref().err());
        outcome
    }

    /// A moment before the call would time out, what the model has written until then; a model that
    /// writes is not one that hangs.
    async fn or_partial(
        &self,
        request: &TextRequest,
        whole: impl Future<Output = Result<TextAnswer>> + Send,
        written: &Mutex<String>,
    ) -> Result<TextAnswer>
    where
        M: TextModel,
    {
        if !request.partial {
            return whole.await;
        }
        let now = self.clock.now();
        let patience = request
            .deadline
            .map_or(self.allowed.total, |end| end.since(now).min(self.allowed.total));
        let late = self.clock.sleep(patience.saturating_sub(SOONER));
        let whole = Box::pin(whole);
        match select(whole, late).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(((), whole)) => {
                let text = std::mem::take(&mut *lock(written));
                if text.trim().is_empty() {
                    return whole.await;
                }
                let info = self.inner.info();
                let family = Family::of(&info.model);
                let usage = Usage {
                    input: family.request(request),
                    output: family.text(&text),
                    ..Usage::default()
                };
                Ok(TextAnswer { text, usage, finish: Finish::Deadline, ..TextAnswer::default() })
            }
        }
    }

    fn is_to_be_left_alone(&self, now: Timestamp) -> Option<Error> {
        let alone = lock(&self.alone);
        let (until, failure) = alone.as_ref()?;
        until.left(now).map(|left| repeat(failure).with_retry(Retry::After(left)))
    }

    fn held(&self, held: Admission) -> Error {
        let state = self.breaker.state();
        if state.phase == galatea_core::breaker::Phase::Latched
            && let Some(error) = &*lock(&self.locked)
        {
            return repeat(error);
        }
        let cause = state.cause.unwrap_or_default();
        let retry =
            if let Admission::Wait(delay) = held { Retry::After(delay) } else { Retry::Never };
        Error::new(
            ErrorKind::Unavailable,
            format!("{} is left alone for a while, because it keeps failing", state.name),
        )
        .with_code(codes::PAUSED)
        .with("cause", cause)
        .with_retry(retry)
    }
}

#[async_trait]
impl<M: TextModel + ?Sized> TextModel for Guarded<M> {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        if request.stream || !self.stream {
            let work = self.inner.generate(request, on_text);
            return self.billed(request, self.inner.info(), work).await;
        }
        let streamed = TextRequest { stream: true, ..request.clone() };
        // The caller does not read the stream, so no text is shown and a broken answer can be
        // retried.
        let written = Mutex::new(String::new());
        let keep = |text: &str| {
            request.drafts.piece(text);
            if request.partial {
                lock(&written).push_str(text);
            }
        };
        request.drafts.begin();
        let whole = self.inner.generate(&streamed, &keep);
        let work = self.or_partial(request, whole, &written);
        self.billed(request, self.inner.info(), work).await
    }
}

#[async_trait]
impl<M: ObjectModel + ?Sized> ObjectModel for Guarded<M> {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn generate_object(&self, request: &TextRequest, schema: &Value) -> Result<TextAnswer> {
        let work = self.inner.generate_object(request, schema);
        self.billed(request, self.inner.info(), work).await
    }
}

#[async_trait]
impl<M: EmbeddingModel + ?Sized> EmbeddingModel for Guarded<M> {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        self.call(None, self.inner.embed(texts)).await
    }
}

/// The failure of an earlier call, for a call that is not made.
fn repeat(failure: &Error) -> Error {
    failure.duplicate().with_sent(Sent::No)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

/// Meaning of a failure for the service's health. Most 4xx, and 429, say nothing.
fn classify(error: &Error, now: Timestamp) -> Call {
    let cause = error.brief();
    match (error.code(), error.kind()) {
        (Some(codes::KEY | codes::QUOTA), _) => match error.retry() {
            Retry::After(wait) => Call::Locked { cause, again: Some(now.plus(wait)) },
            Retry::Soon | Retry::Never => Call::Barred { cause },
        },
        (_, ErrorKind::Unavailable | ErrorKind::Timeout) => Call::Failed { cause },
        _ => Call::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_testkit::{clock::ManualClock, models::ScriptedModel};

    #[tokio::test]
    async fn a_service_is_left_alone_for_as_long_as_it_asks() {
        let clock = ManualClock::new();
        let wish = Retry::After(Duration::from_secs(60));
        let refused = move |_: &TextRequest| {
            Err(Error::new(ErrorKind::RateLimited, "slowly")
                .with_code(codes::RATE)
                .with_sent(Sent::Maybe)
                .with_retry(wish))
        };
        let inner = Arc::new(ScriptedModel::answering(refused));
        let (total, fair) = (Duration::from_secs(120), Duration::from_secs(30));
        let breaker = Arc::new(SharedBreaker::new(
            "x",
            limits(total),
            galatea_core::EventBus::default(),
            clock.now(),
        ));
        let model = Guarded::new(
            Arc::clone(&inner),
            breaker,
            Allowed { total, fair },
            false,
            clock.shared(),
        );
        let ask = async || model.generate(&TextRequest::default(), &|_| {}).await.unwrap_err();
        let failure = ask().await;
        assert_eq!((failure.retry(), failure.sent()), (wish, Sent::Maybe));
        assert_eq!(inner.requests().len(), 1);
        clock.advance(Duration::from_secs(20));
        let failure = ask().await;
        assert_eq!(
            (failure.code(), failure.retry(), inner.requests().len()),
            (Some(codes::RATE), Retry::After(Duration::from_secs(40)), 1)
        );
        assert_eq!(failure.sent(), Sent::No, "the model was not asked");
        clock.advance(Duration::from_secs(40));
        assert_eq!((ask().await.retry(), inner.requests().len()), (wish, 2));
    }

    #[tokio::test]
    async fn a_refused_key_is_tried_again_after_seconds_and_answers_once_it_is_accepted() {
        let clock = ManualClock::new();
        let accepted = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let of_model = Arc::clone(&accepted);
        let answer =
            move |_: &TextRequest| match of_model.load(std::sync::atomic::Ordering::Relaxed) {
                true => Ok(ScriptedModel::text("at last")),
                false => Err(Error::new(ErrorKind::Unauthorized, "refused").with_code(codes::KEY)),
            };
        let inner = Arc::new(ScriptedModel::answering(answer));
        let (total, fair) = (Duration::from_secs(120), Duration::from_secs(30));
        let breaker = Arc::new(SharedBreaker::new(
            "x",
            limits(total),
            galatea_core::EventBus::default(),
            clock.now(),
        ));
        let model = Guarded::new(
            Arc::clone(&inner),
            breaker,
            Allowed { total, fair },
            false,
            clock.shared(),
        );
        let ask = async || model.generate(&TextRequest::default(), &|_| {}).await;
        let mut asked_at = Vec::new();
        for second in 0..1800 {
            let before = inner.requests().len();
            assert_eq!(
                ask().await.unwrap_err().code(),
                Some(codes::KEY),
                "a caller meanwhile gets the reason"
            );
            if inner.requests().len() > before {
                asked_at.push(second);
            }
            clock.advance(Duration::from_secs(1));
        }
        let pauses: Vec<i32> = asked_at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 300, 300, 300, 300]);
        accepted.store(true, std::sync::atomic::Ordering::Relaxed);
        clock.advance(Duration::from_secs(300));
        assert_eq!(ask().await.unwrap().text, "at last");
    }

    #[test]
    fn only_the_services_own_trouble_counts() {
        let coded = |kind, code| Error::new(kind, "x").with_code(code);
        for (kind, code) in [
            (ErrorKind::RateLimited, codes::RATE),
            (ErrorKind::TooLong, codes::TOO_LONG),
            (ErrorKind::Forbidden, codes::FORBIDDEN),
            (ErrorKind::Exhausted, "GAL-LOCAL-LIMIT"),
        ] {
            assert_eq!(classify(&coded(kind, code), Timestamp(0)), Call::Refused, "{code}");
        }
        for (kind, code) in
            [(ErrorKind::Unavailable, codes::FAULT), (ErrorKind::Timeout, codes::TIMEOUT)]
        {
            assert!(
                matches!(classify(&coded(kind, code), Timestamp(0)), Call::Failed { .. }),
                "{code}"
            );
        }
        let money = coded(ErrorKind::Forbidden, codes::QUOTA);
        assert_eq!(classify(&money, Timestamp(0)), Call::Barred { cause: "x".into() });
        let failure = money.with_retry(Retry::After(Duration::from_secs(60)));
        assert_eq!(
            classify(&failure, Timestamp(0)),
            Call::Locked { cause: "x".into(), again: Some(Timestamp(60_000)) }
        );
    }
}

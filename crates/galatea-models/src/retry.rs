//! Retries the calls of one model. The layers inside this one do not retry.

use parking_lot::{Mutex, MutexGuard};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use backon::Retryable;
use futures::{
    FutureExt,
    future::{BoxFuture, Either, select},
};
use galatea_core::{
    Backoff, Clock, EmbeddingModel, Error, ErrorKind, ModelInfo, Result, Retry, TextModel,
    Timestamp,
    model::{LIMIT_CODE, OnText, TextAnswer, TextRequest},
};
use rand::RngExt;

use crate::{budget::Budget, wire::codes};

/// Longest `Retry-After` that a link waits for by itself if another link can answer; a longer one is
/// left to the chain.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// True if a service asks for a longer wait than `patience`: the link then does not wait, and the
/// chain does. The one rule for both, so that no wait falls between them. Jitter does not count,
/// since the chain does not know it.
pub(crate) fn is_left_to_chain(retry: Retry, patience: Duration) -> bool {
    matches!(retry, Retry::After(asked) if asked > patience)
}
/// Extra time before the deadline applies here, so that an attempt that ends in time can report its
/// more specific error.
const GRACE: Duration = Duration::from_millis(50);

/// Number of repeated calls, and their longest time in total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Most calls, including the first.
    pub attempts: u32,
    /// Upper bound of the first wait; it doubles with each retry.
    pub base: Duration,
    /// Upper bound of every wait, not counting a service's `Retry-After`.
    pub cap: Duration,
    /// Longest total time, from the start. A request's own deadline may come before it.
    pub total: Duration,
    /// Set if other links can answer: a service's `Retry-After` longer than this, and timeouts, are
    /// then left to the chain.
    pub patience: Option<Duration>,
}

impl Default for RetryPolicy {
    /// 3 attempts, full jitter of at most 0.5 s, doubling up to 8 s, 120 s in total, no patience.
    fn default() -> Self {
        Self {
            attempts: 3,
            base: Duration::from_millis(500),
            cap: Duration::from_secs(8),
            total: Duration::from_secs(120),
            patience: None,
        }
    }
}

/// A model whose calls are retried when that can help.
///
/// The error says whether a retry can help ([`Error::retry`]). A server's `Retry-After` is the
/// shortest wait. Once a piece of the answer was shown, the call is not repeated, because the
/// reader would see that piece twice.
pub struct Retrying<M: ?Sized> {
    policy: RetryPolicy,
    clock: Arc<dyn Clock>,
    budget: Arc<Budget>,
    inner: Arc<M>,
}

impl<M: Send + Sync + ?Sized> Retrying<M> {
    /// Wraps a model.
    pub fn new(
        inner: Arc<M>,
        policy: RetryPolicy,
        budget: Arc<Budget>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { policy, clock, budget, inner }
    }

    pub(crate) fn inner(&self) -> &M {
        &self.inner
    }

    /// Runs a call with retries. Boxed, since the compiler cannot prove `Send` through the generic
    /// layers inside an async trait method.
    pub(crate) fn call<'a, T: Send + 'a>(
        &'a self,
        shown: &'a AtomicBool,
        deadline: Option<Timestamp>,
        attempt: impl FnMut() -> BoxFuture<'a, Result<T>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T>> {
        let start = self.clock.now();
        self.budget.call(start);
        let total =
            deadline.map_or(self.policy.total, |end| end.since(start).min(self.policy.total));
        let clock = self.clock.clone();
        let asked = Arc::new(Mutex::new(None));
        let last = Arc::clone(&asked);
        let tries = attempt
            .retry(FullJitter {
                left: self.policy.attempts.saturating_sub(1),
                ceilings: Backoff::new(self.policy.base, self.policy.cap),
            })
            .sleep(move |wait| sleep(clock.clone(), wait))
            .notify(move |error: &Error, _| *lock(&last) = Some(error.duplicate()))
            .when(move |error: &Error| self.is_worth_it(error) && !shown.load(Ordering::Relaxed))
            .adjust(move |error: &Error, wait| {
                wait.and_then(|wait| self.wait(start, total, error, wait))
            });
        let deadline = self.clock.sleep(total.saturating_add(GRACE));
        let seconds = total.as_secs_f32();
        let race = select(Box::pin(tries.into_future()), deadline).map(move |first| match first {
            // If a breaker opened between two attempts, or the first one used up a limit, the error
            // of the attempt says more.
            Either::Left((Err(error), _))
                if matches!(error.code(), Some(codes::PAUSED | LIMIT_CODE)) =>
            {
                Err(lock(&asked).take().unwrap_or(error))
            }
            Either::Left((result, _)) => result,
            Either::Right(((), _)) => Err(Error::new(
                ErrorKind::Timeout,
                "the model did not answer within the time allowed",
            )
            .with_code(codes::TIMEOUT)
            .with("seconds", seconds)),
        });
        Box::pin(race)
    }

    fn is_worth_it(&self, error: &Error) -> bool {
        let others = self.policy.patience.is_some();
        // The chain waits for a breaker's pause.
        error.retry() != Retry::Never
            && error.code() != Some(codes::PAUSED)
            && !(others && error.kind() == ErrorKind::Timeout)
    }

    /// The wait before the next attempt. `None` if it would end after the deadline, the chain is to
    /// wait instead, or the retry budget is spent.
    fn wait(
        &self,
        start: Timestamp,
        total: Duration,
        error: &Error,
        own: Duration,
    ) -> Option<Duration> {
        // The service gives all refused callers the same time, so jitter is added to it.
        let wait =
            if let Retry::After(asked) = error.retry() { asked.saturating_add(own) } else { own };
        let now = self.clock.now();
        let in_time = now.since(start).saturating_add(wait) < total
            && !self.policy.patience.is_some_and(|most| is_left_to_chain(error.retry(), most));
        (in_time && self.budget.retry(now)).then_some(wait)
    }
}

#[async_trait]
impl<M: TextModel + ?Sized> TextModel for Retrying<M> {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let shown = AtomicBool::new(false);
        let on_piece = |text: &str| {
            shown.store(true, Ordering::Relaxed);
            on_text(text);
        };
        self.call(&shown, request.deadline, || self.inner.generate(request, &on_piece)).await
    }
}

#[async_trait]
impl<M: EmbeddingModel + ?Sized> EmbeddingModel for Retrying<M> {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        self.call(&AtomicBool::new(false), None, || self.inner.embed(texts)).await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

fn sleep(clock: Arc<dyn Clock>, wait: Duration) -> BoxFuture<'static, ()> {
    Box::pin(async move { clock.sleep(wait).await })
}

/// Full jitter: a random wait between zero and a ceiling that doubles (AWS Architecture Blog,
/// "Exponential Backoff And Jitter").
struct FullJitter {
    left: u32,
    ceilings: Backoff,
}

impl Iterator for FullJitter {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        Some(rand::rng().random_range(Duration::ZERO..=self.ceilings.next_pause()))
    }
}

#[cfg(test)]
mod tests;

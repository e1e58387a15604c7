//! Asks several media models in order until one answers: other keys, other services.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use galatea_core::{
    Clock, Error, ErrorKind, ModelInfo, Result, Sent, Timestamp,
    model::{Made, MediaModel, MediaTask},
};

use crate::wire::codes;

/// A model of a chain.
pub(crate) struct MediaLink<T: MediaTask> {
    /// Address of the service.
    pub(crate) site: String,
    /// Fingerprint of the key, to compare keys.
    pub(crate) key: u64,
    /// The model, including its retries.
    pub(crate) model: Arc<dyn MediaModel<T>>,
}

/// Several models that act as one. It reports the first one's info.
pub(crate) struct MediaChain<T: MediaTask> {
    first: MediaLink<T>,
    others: Vec<MediaLink<T>>,
    total: Duration,
    clock: Arc<dyn Clock>,
}

impl<T: MediaTask> MediaChain<T> {
    /// Creates a chain. `total` bounds a call without a deadline.
    pub(crate) fn new(
        first: MediaLink<T>,
        others: Vec<MediaLink<T>>,
        total: Duration,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { first, others, total, clock }
    }
}

#[async_trait]
impl<T: MediaTask> MediaModel<T> for MediaChain<T> {
    fn info(&self) -> &ModelInfo {
        self.first.model.info()
    }

    async fn run(
        &self,
        request: &T::Request,
        deadline: Option<Timestamp>,
    ) -> Result<Made<T::Output>> {
        let own = self.clock.now().plus(self.total);
        let deadline = deadline.map_or(own, |asked| asked.min(own));
        let links: Vec<&MediaLink<T>> = std::iter::once(&self.first).chain(&self.others).collect();
        let mut failures: Vec<(&MediaLink<T>, Error)> = Vec::new();
        for (at, link) in links.iter().enumerate() {
            let ruled_out = failures.iter().any(|(failed, error)| rules_out(error, failed, link));
            let now = self.clock.now();
            if ruled_out || now >= deadline {
                continue;
            }
            // A link with others behind it leaves them half of the time.
            let left = deadline.since(now);
            let until = if at + 1 < links.len() { now.plus(left / 2) } else { deadline };
            match link.model.run(request, Some(until)).await {
                Ok(mut made) => {
                    let info = link.model.info();
                    made.micros = made.micros.or_else(|| made.used.cost(info));
                    made.by = made.by.or_else(|| Some(info.full_name()));
                    return Ok(made);
                }
                Err(error) => {
                    tracing::info!(model = link.model.info().full_name(), kind = T::TYPE, code = error.code(), error = %error.report(), "a media model failed; trying the next one, if any");
                    let over = !T::REPEATABLE && may_have_made(&error);
                    failures.push((link, error));
                    if over {
                        break;
                    }
                }
            }
        }
        Err(sum_up(failures.into_iter().map(|(_, error)| error)))
    }
}

/// True if the service may have made, and billed, what no answer came for.
fn may_have_made(error: &Error) -> bool {
    error.kind() == ErrorKind::Timeout || error.sent() == Sent::Maybe
}

/// The first failure, which is the one to fix, with a summary of the others.
fn sum_up(mut errors: impl Iterator<Item = Error>) -> Error {
    let Some(first) = errors.next() else {
        return Error::new(ErrorKind::Timeout, "there was no time left to ask a model")
            .with_sent(Sent::No)
            .with_code(codes::TIMEOUT);
    };
    let rest: Vec<String> = errors.map(|error| error.brief()).collect();
    if rest.is_empty() { first } else { first.with("besides", rest.join("; ")) }
}

/// True if a failure of one link shows that another would fail too.
fn rules_out<T: MediaTask>(error: &Error, failed: &MediaLink<T>, other: &MediaLink<T>) -> bool {
    let same_site = failed.site == other.site;
    match error.code() {
        _ if error.kind() == ErrorKind::Exhausted => true,
        Some(codes::KEY | codes::QUOTA) => same_site && failed.key == other.key,
        Some(codes::CONNECT | codes::URL) => same_site,
        // Another key changes nothing about an invalid request.
        Some(
            codes::INVALID | codes::WITHHELD | codes::TOO_LONG | codes::UNKNOWN | codes::TIMEOUT,
        ) => same_site,
        _ => false,
    }
}

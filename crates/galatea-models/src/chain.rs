//! Asks several models in order until one answers: other keys, a sibling model, other providers.
//!
//! One deadline bounds the whole chain. A link is skipped if an earlier failure shows that it would
//! fail too: a refused key fails for every model, a conversation that is too long for a model fails
//! with every key, and an address where no server listens fails for all its links. A link with
//! others behind it gets half of the remaining time, so that one that hangs does not use up all of
//! it. If every link is paused by its breaker or by a rate limit, the chain waits for the first
//! pause to end.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use galatea_core::{
    Clock, Error, ErrorKind, ModelInfo, Result, Retry, Sent, TextModel, Timestamp,
    model::{
        AnsweredBy, ChatPart, Finish, OnText, TextAnswer, TextRequest, text_actions::without_tools,
    },
};

use crate::{
    retry::{PATIENCE, is_left_to_chain},
    wire::codes,
};

/// Most rounds through the chain. A round in which every link was paused does not count.
const ROUNDS: u32 = 3;
/// Longest wait for a breaker. After that, an error is better for the caller than more silence.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// After a model timed out, another model of the same service must begin its answer within this
/// fraction of that time.
const HURRY: u32 = 4;
/// Shortest time for the first token, which even a healthy model needs.
const LEAST_HURRY: Duration = Duration::from_secs(1);
/// Longest time for the first token in that case; a healthy model needs no more.
const PATIENT_HURRY: Duration = Duration::from_secs(10);

/// A model of a chain.
pub struct Link {
    /// Name for people: `openai gpt-6.1-terra`, with the key's variable if there are several.
    pub name: String,
    /// Address of the service.
    pub site: String,
    /// Fingerprint of the key, to compare keys.
    pub key: u64,
    /// The model, including its retries.
    pub model: Arc<dyn TextModel>,
}

/// Several models that act as one. It reports the first one's info, and is a script only if all of
/// its models are.
pub struct Chain {
    links: Vec<Link>,
    first: ModelInfo,
    total: Duration,
    clock: Arc<dyn Clock>,
}

impl Chain {
    /// Creates a chain of `first` and its fallbacks, in order. `total` bounds a call that has no
    /// deadline of its own.
    pub fn new(first: Link, others: Vec<Link>, total: Duration, clock: Arc<dyn Clock>) -> Self {
        let mut info = first.model.info().clone();
        if info.scripted
            && let Some(paid) = others.iter().map(|link| link.model.info()).find(|i| !i.scripted)
        {
            // The script is free and needs no limits; the model behind it does not and may.
            info.scripted = false;
            info.price = paid.known_price();
            info.limits = paid.limits;
        }
        let links = std::iter::once(first).chain(others).collect();
        Self { links, first: info, total, clock }
    }

    async fn round(
        &self,
        request: &TextRequest,
        deadline: Timestamp,
        failures: &mut ChainFailures,
        on_text: &OnText<'_>,
    ) -> Round {
        let (mut paused, mut asked) = (false, false);
        let shown = AtomicBool::new(false);
        let on_piece = |text: &str| {
            shown.store(true, Ordering::Relaxed);
            on_text(text);
        };
        for (at, link) in self.links.iter().enumerate() {
            if !self.can_help(at, request, failures) || self.clock.now() >= deadline {
                continue;
            }
            let info = link.model.info();
            let wish = tailored(
                request,
                info,
                self.share(at, request, failures, deadline),
                failures.hurry(&self.links, at),
            );
            let asked_at = self.clock.now();
            match link.model.generate(&wish, &on_piece).await {
                Ok(mut answer) => {
                    answer.text_actions |= wish.tools.len() < request.tools.len();
                    let passed = failures.passed_over(&self.links[..at]);
                    if !passed.is_empty() {
                        tracing::warn!(
                            answered = link.name,
                            instead_of = self.links[0].name,
                            "another model answered"
                        );
                    }
                    let too_long = failures
                        .last
                        .first()
                        .and_then(Option::as_ref)
                        .is_some_and(|error| error.code() == Some(codes::TOO_LONG));
                    if answer.by.is_none() && answer.served.is_none() {
                        answer.price = answer.price.or_else(|| info.known_price());
                    }
                    let is_partial = answer.finish == Finish::Deadline;
                    answer.by = Some(match answer.by.take() {
                        // The link is a chain itself, and knows better who answered.
                        Some(inner) => AnsweredBy {
                            passed: passed.into_iter().chain(inner.passed).collect(),
                            too_long: too_long || inner.too_long,
                            ..inner
                        },
                        None => AnsweredBy {
                            link: link.name.clone(),
                            provider: info.provider.clone(),
                            model: info.model.clone(),
                            passed,
                            too_long,
                        },
                    });
                    let others = (at + 1..self.links.len())
                        .any(|other| self.can_help(other, request, failures));
                    if !(is_partial && others && self.clock.now() < deadline) {
                        return Round::Over(Box::new(Ok(answer)));
                    }
                    // A whole answer of another model is better than half of this one's.
                    let (took, late) = (self.clock.now().since(asked_at), not_finished());
                    failures.note(at, late, took, &link.site);
                    failures.partial.get_or_insert(answer);
                    asked = true;
                }
                // Another answer would show the reader two beginnings.
                Err(error) if shown.load(Ordering::Relaxed) => {
                    return Round::Over(Box::new(Err(error)));
                }
                Err(error) => {
                    tracing::info!(link = link.name, code = error.code(), error = %error.report(), "a model failed; trying the next one, if any");
                    paused |= is_paused(&error);
                    asked |= !is_paused(&error);
                    failures.note(at, error, self.clock.now().since(asked_at), &link.site);
                }
            }
        }
        if paused && !asked { Round::Paused } else { Round::Unanswered }
    }

    /// True if a link may succeed, given its own failure and those of the links before it.
    fn can_help(&self, at: usize, request: &TextRequest, failures: &ChainFailures) -> bool {
        // The first link was chosen for this purpose, even if its name does not indicate vision.
        let sees = at == 0 || self.links[at].model.info().vision || !shows_pictures(request);
        sees && !failures.rules_out(&self.links, at) && !failures.is_spent(at)
    }

    /// Deadline for a link. Time is reserved for later links that could still succeed; the same
    /// model at the same service would hang too, so none is reserved for it.
    fn share(
        &self,
        at: usize,
        request: &TextRequest,
        failures: &ChainFailures,
        deadline: Timestamp,
    ) -> Timestamp {
        let waits = |other: usize| {
            !is_alike(&self.links[at], &self.links[other])
                && self.can_help(other, request, failures)
        };
        if !(at + 1..self.links.len()).any(waits) {
            return deadline;
        }
        let now = self.clock.now();
        now.plus(deadline.since(now) / 2)
    }
}

#[async_trait]
impl TextModel for Chain {
    fn info(&self) -> &ModelInfo {
        &self.first
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let own = self.clock.now().plus(self.total);
        let deadline = request.deadline.map_or(own, |asked| asked.min(own));
        let mut failures = ChainFailures {
            last: self.links.iter().map(|_| None).collect(),
            hung: Vec::new(),
            partial: None,
        };
        let mut left = ROUNDS;
        loop {
            match self.round(request, deadline, &mut failures, on_text).await {
                Round::Over(outcome) => {
                    return (*outcome).or_else(|error| failures.partial.take().ok_or(error));
                }
                // After an outage, breakers admit a few probes first and pause all other calls.
                Round::Paused => {}
                Round::Unanswered => left -= 1,
            }
            if left == 0 {
                break;
            }
            let now = self.clock.now();
            match failures.wait().filter(|wait| now.plus(*wait) < deadline) {
                Some(wait) => self.clock.sleep(wait).await,
                None => break,
            }
        }
        match failures.partial.take() {
            Some(answer) => Ok(answer),
            None => Err(failures.sum_up(&self.links)),
        }
    }
}

/// The failure of a model that was still writing when its time was over.
fn not_finished() -> Error {
    Error::new(ErrorKind::Timeout, "the model had not finished within its time")
        .with_code(codes::TIMEOUT)
        .with_retry(Retry::Never)
}

/// The result of one round through the chain.
enum Round {
    /// An answer, or a failure after which no link may be asked.
    Over(Box<Result<TextAnswer>>),
    /// No link was asked: breakers paused all of them.
    Paused,
    /// No link answered.
    Unanswered,
}

/// Adapts the request to what the link supports.
fn tailored<'a>(
    request: &'a TextRequest,
    info: &ModelInfo,
    deadline: Timestamp,
    hurry: Option<Duration>,
) -> Cow<'a, TextRequest> {
    // The request holds a whole conversation, so it is copied only if it changes.
    if request.deadline == Some(deadline)
        && request.first_within == hurry
        && (info.tools || request.tools.is_empty())
    {
        return Cow::Borrowed(request);
    }
    let asked = if info.tools { request.clone() } else { without_tools(request) };
    Cow::Owned(TextRequest { deadline: Some(deadline), first_within: hurry, ..asked })
}

fn is_paused(error: &Error) -> bool {
    error.code() == Some(codes::PAUSED)
}

fn shows_pictures(request: &TextRequest) -> bool {
    request
        .messages
        .iter()
        .flat_map(|message| &message.parts)
        .any(|part| matches!(part, ChatPart::Image { .. }))
}

/// The failures so far.
struct ChainFailures {
    /// The last failure of each link.
    last: Vec<Option<Error>>,
    /// Services where a model timed out, with the time spent waiting.
    hung: Vec<(String, Duration)>,
    /// Words of a model when its time was over.
    partial: Option<TextAnswer>,
}

impl ChainFailures {
    fn note(&mut self, at: usize, error: Error, took: Duration, site: &str) {
        if error.code() == Some(codes::TIMEOUT) {
            self.hung.push((site.to_owned(), took));
        }
        // A breaker's pause says less than the failure of the call that was made.
        if error.code() != Some(codes::PAUSED) || self.last[at].as_ref().is_none_or(is_paused) {
            self.last[at] = Some(error);
        }
    }

    /// Limit for a link's first token after another model of its service timed out. The whole
    /// service most likely hangs, and the caller must not wait as long again.
    fn hurry(&self, links: &[Link], at: usize) -> Option<Duration> {
        let waited = self
            .hung
            .iter()
            .filter(|(site, _)| *site == links[at].site)
            .map(|(_, took)| *took)
            .max()?;
        Some((waited / HURRY).clamp(LEAST_HURRY, PATIENT_HURRY))
    }

    /// True if an earlier failure shows that this link would fail too.
    fn rules_out(&self, links: &[Link], at: usize) -> bool {
        let own = self.last[at].as_ref().is_some_and(|error| error.retry() == Retry::Never);
        own || self.last.iter().zip(links).take(at).any(|(failure, other)| {
            failure.as_ref().is_some_and(|error| rules_out(error, other, &links[at]))
        })
    }

    /// True if the link has used up its attempts. A link whose service asked for a longer wait than
    /// [`PATIENCE`] has been tried only once, so it may be tried again.
    fn is_spent(&self, at: usize) -> bool {
        self.last[at]
            .as_ref()
            .is_some_and(|error| !is_paused(error) && !is_left_to_chain(error.retry(), PATIENCE))
    }

    /// Time until the first link that may be retried is available; `None` if there is none.
    fn wait(&self) -> Option<Duration> {
        // A single link has waited for its service's `Retry-After` by itself.
        let alone = self.last.len() == 1;
        let no_link_was_asked = self
            .last
            .iter()
            .flatten()
            .all(|error| is_paused(error) || error.retry() == Retry::Never);
        let waits = self.last.iter().flatten().filter_map(|error| match error.retry() {
            Retry::After(wait) if error.code() == Some(codes::PAUSED) => {
                Some(wait).filter(|wait| no_link_was_asked && *wait <= LONGEST_PAUSE)
            }
            Retry::After(wait) => {
                Some(wait).filter(|_| !alone && is_left_to_chain(error.retry(), PATIENCE))
            }
            Retry::Soon | Retry::Never => None,
        });
        waits.min()
    }

    /// Each failure with its link's name, for people.
    fn passed_over(&self, links: &[Link]) -> Vec<(String, String)> {
        links
            .iter()
            .zip(&self.last)
            .filter_map(|(link, failure)| Some((link.name.clone(), failure.as_ref()?.brief())))
            .collect()
    }

    /// The error of the whole chain: the first failure, which is the one to fix, with a summary of
    /// the others.
    fn sum_up(&self, links: &[Link]) -> Error {
        let mut passed = self.passed_over(links).into_iter();
        let Some(first) = self.last.iter().flatten().next() else {
            return Error::new(ErrorKind::Timeout, "there was no time left to ask a model")
                .with_sent(Sent::No)
                .with_code(codes::TIMEOUT);
        };
        passed.next();
        let rest: Vec<String> = passed.map(|(name, why)| format!("{name}: {why}")).collect();
        if rest.is_empty() {
            first.duplicate()
        } else {
            first.duplicate().with("besides", rest.join("; "))
        }
    }
}

/// True if both are the same model at the same service, whatever their keys.
fn is_alike(link: &Link, other: &Link) -> bool {
    link.site == other.site && link.model.info().model == other.model.info().model
}

/// True if a failure of one link shows that another would fail too.
fn rules_out(error: &Error, failed: &Link, other: &Link) -> bool {
    let same_site = failed.site == other.site;
    match error.code() {
        // A resource that this machine lacks is missing for every link.
        _ if error.kind() == ErrorKind::Exhausted => true,
        Some(codes::KEY | codes::QUOTA) => same_site && failed.key == other.key,
        Some(codes::CONNECT | codes::URL) => same_site,
        // A web page in place of an answer: no model was asked.
        Some(codes::GARBAGE) if error.sent() == Sent::No => same_site,
        // With another key, the same model would also refuse the request as too long or invalid,
        // and an overloaded model hangs for every key.
        Some(
            codes::TOO_LONG | codes::INVALID | codes::WITHHELD | codes::TOOLS | codes::TIMEOUT,
        ) => is_alike(failed, other),
        _ => false,
    }
}

#[cfg(test)]
mod tests;

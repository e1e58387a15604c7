//! Chain: the models that can answer in place of each other, asked in order: another key, a sibling
//! model, another provider.
//!
//! One deadline bounds the whole chain. What cannot help is passed over: a refused key refuses
//! every model, a conversation that is too long for a model is so with every key, an address where
//! nobody listens is the same for all. Whoever has others behind it leaves them half of the time,
//! so that one that hangs does not use up everybody's. When nobody could be asked, because all are
//! left alone by their breakers or want to be for a while, the first of them is waited for.

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
    Clock, Error, ErrorKind, ModelInfo, Result, Retry, TextModel, Timestamp,
    model::{AnsweredBy, ChatPart, TextAnswer, TextRequest},
};

use crate::{retry::PATIENCE, wire::codes};

/// Times the whole chain is gone through; a time when everybody was left alone does not count.
const ROUNDS: u32 = 3;
/// A breaker is waited for so long at most at a time: whoever asked would rather read that nobody
/// answers.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Of the time that a model was waited for in vain, another of the same service has this part to
/// begin.
const HURRY: u32 = 4;
/// Even a healthy model needs about so long for its first word.
const LEAST_HURRY: Duration = Duration::from_secs(1);
/// Nobody who is healthy needs longer.
const PATIENT_HURRY: Duration = Duration::from_secs(10);

/// One that can answer.
pub struct Link {
    /// For people: `openai gpt-6.1-terra`, with the key's variable where there are several.
    pub name: String,
    /// Address of the service.
    pub site: String,
    /// Tells keys apart.
    pub key: u64,
    /// The model, which retries by itself.
    pub model: Arc<dyn TextModel>,
}

/// Several models that answer as one; the first is what it is called after.
pub struct Chain {
    links: Vec<Link>,
    first: ModelInfo,
    total: Duration,
    clock: Arc<dyn Clock>,
}

impl Chain {
    /// The first link and those that stand in for it, in order. `total` bounds a call that has no
    /// deadline of its own.
    pub fn new(first: Link, others: Vec<Link>, total: Duration, clock: Arc<dyn Clock>) -> Self {
        let info = first.model.info().clone();
        let links = std::iter::once(first).chain(others).collect();
        Self { links, first: info, total, clock }
    }

    async fn round(
        &self,
        request: &TextRequest,
        deadline: Timestamp,
        misses: &mut Misses,
        on_text: &(dyn for<'t> Fn(&'t str) + Send + Sync),
    ) -> Round {
        let (mut paused, mut asked) = (false, false);
        let shown = AtomicBool::new(false);
        let on_piece = |text: &str| {
            shown.store(true, Ordering::Relaxed);
            on_text(text);
        };
        for (at, link) in self.links.iter().enumerate() {
            if !self.can_help(at, request, misses) || self.clock.now() >= deadline {
                continue;
            }
            let info = link.model.info();
            let wish = tailored(
                request,
                info,
                self.share(at, request, misses, deadline),
                misses.hurry(&self.links, at),
            );
            let asked_at = self.clock.now();
            match link.model.generate(&wish, &on_piece).await {
                Ok(mut answer) => {
                    let passed = misses.told(&self.links[..at]);
                    if !passed.is_empty() {
                        tracing::warn!(
                            answered = link.name,
                            instead_of = self.links[0].name,
                            "another model answered"
                        );
                    }
                    let too_long = misses
                        .last
                        .first()
                        .and_then(Option::as_ref)
                        .is_some_and(|error| error.code() == Some(codes::TOO_LONG));
                    answer.by = Some(AnsweredBy {
                        link: link.name.clone(),
                        provider: info.provider.clone(),
                        model: info.model.clone(),
                        passed,
                        too_long,
                    });
                    return Round::Over(Box::new(Ok(answer)));
                }
                // The reader would see two beginnings.
                Err(error) if shown.load(Ordering::Relaxed) => {
                    return Round::Over(Box::new(Err(error)));
                }
                Err(error) => {
                    tracing::info!(link = link.name, code = error.code(), error = %error.report(), "a model did not answer");
                    paused |= is_paused(&error);
                    asked |= !is_paused(&error);
                    misses.note(at, error, self.clock.now().since(asked_at), &link.site);
                }
            }
        }
        if paused && !asked { Round::Paused } else { Round::Missed }
    }

    /// Whether a link may help, as far as its own failure and those of the links before it tell.
    fn can_help(&self, at: usize, request: &TextRequest, misses: &Misses) -> bool {
        // The first is who was chosen for it, whatever its name says.
        let sees = at == 0 || self.links[at].model.info().vision || !shows_pictures(request);
        sees && !misses.rules_out(&self.links, at) && !misses.is_spent(at)
    }

    /// Until when a link may take. Who hangs like it would not be asked after it, so nothing is
    /// kept for those.
    fn share(
        &self,
        at: usize,
        request: &TextRequest,
        misses: &Misses,
        deadline: Timestamp,
    ) -> Timestamp {
        let waits = |other: usize| {
            !is_alike(&self.links[at], &self.links[other]) && self.can_help(other, request, misses)
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

    async fn generate(
        &self,
        request: &TextRequest,
        on_text: &(dyn for<'t> Fn(&'t str) + Send + Sync),
    ) -> Result<TextAnswer> {
        let own = self.clock.now().plus(self.total);
        let deadline = request.deadline.map_or(own, |asked| asked.min(own));
        let mut misses =
            Misses { last: self.links.iter().map(|_| None).collect(), hung: Vec::new() };
        let mut left = ROUNDS;
        loop {
            match self.round(request, deadline, &mut misses, on_text).await {
                Round::Over(outcome) => return *outcome,
                // After an outage everybody waits for the first few who may look whether it works
                // again.
                Round::Paused => {}
                Round::Missed => left -= 1,
            }
            if left == 0 {
                break;
            }
            let now = self.clock.now();
            match misses.wait().filter(|wait| now.plus(*wait) < deadline) {
                Some(wait) => self.clock.sleep(wait).await,
                None => break,
            }
        }
        Err(misses.sum_up(&self.links))
    }
}

/// How going through the chain ended.
enum Round {
    /// With the answer, or a failure that nobody can make good.
    Over(Box<Result<TextAnswer>>),
    /// Nobody was asked, since breakers held all of them back.
    Paused,
    /// Nobody answered.
    Missed,
}

/// What the link can do of what is asked.
fn tailored<'a>(
    request: &'a TextRequest,
    info: &ModelInfo,
    deadline: Timestamp,
    hurry: Option<Duration>,
) -> Cow<'a, TextRequest> {
    // A whole conversation: copied only for whom it has to be another.
    if request.deadline == Some(deadline)
        && request.first_within == hurry
        && (info.tools || request.tools.is_empty())
    {
        return Cow::Borrowed(request);
    }
    let mut asked =
        TextRequest { deadline: Some(deadline), first_within: hurry, ..request.clone() };
    if !info.tools {
        asked.tools = Arc::default();
    }
    Cow::Owned(asked)
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

/// What came of asking so far.
struct Misses {
    /// The last failure of each link.
    last: Vec<Option<Error>>,
    /// Services where a model kept silent, and how long that was waited for.
    hung: Vec<(String, Duration)>,
}

impl Misses {
    fn note(&mut self, at: usize, error: Error, took: Duration, site: &str) {
        if error.code() == Some(codes::TIMEOUT) {
            self.hung.push((site.to_owned(), took));
        }
        // That it is left alone by now says less than what it did when it was asked.
        if error.code() != Some(codes::PAUSED) || self.last[at].as_ref().is_none_or(is_paused) {
            self.last[at] = Some(error);
        }
    }

    /// How long the first word of a link is waited for, where another model of its service has kept
    /// silent: most likely all of it hangs, and whoever asked must not wait as long again.
    fn hurry(&self, links: &[Link], at: usize) -> Option<Duration> {
        let waited = self
            .hung
            .iter()
            .filter(|(site, _)| *site == links[at].site)
            .map(|(_, took)| *took)
            .max()?;
        Some((waited / HURRY).clamp(LEAST_HURRY, PATIENT_HURRY))
    }

    /// Whether an earlier failure says that this link cannot help.
    fn rules_out(&self, links: &[Link], at: usize) -> bool {
        let own = self.last[at].as_ref().is_some_and(|error| error.retry() == Retry::Never);
        own || self.last.iter().zip(links).take(at).any(|(miss, other)| {
            miss.as_ref().is_some_and(|error| rules_out(error, other, &links[at]))
        })
    }

    /// Whether it has been tried as often as can help; what asked for a longer wait than it is
    /// given there has been tried once.
    fn is_spent(&self, at: usize) -> bool {
        self.last[at].as_ref().is_some_and(|error| {
            !is_paused(error) && !matches!(error.retry(), Retry::After(wait) if wait > PATIENCE)
        })
    }

    /// How long until one of those that may be asked again can be.
    fn wait(&self) -> Option<Duration> {
        // One that stands alone has waited for the service's wish by itself.
        let alone = self.last.len() == 1;
        let nobody_was_asked = self
            .last
            .iter()
            .flatten()
            .all(|error| is_paused(error) || error.retry() == Retry::Never);
        let waits = self.last.iter().flatten().filter_map(|error| match error.retry() {
            Retry::After(wait) if error.code() == Some(codes::PAUSED) => {
                Some(wait).filter(|wait| nobody_was_asked && *wait <= LONGEST_PAUSE)
            }
            Retry::After(wait) => Some(wait).filter(|wait| !alone && *wait > PATIENCE),
            Retry::Soon | Retry::Never => None,
        });
        waits.min()
    }

    /// Each failure with its link, for people.
    fn told(&self, links: &[Link]) -> Vec<(String, String)> {
        links
            .iter()
            .zip(&self.last)
            .filter_map(|(link, miss)| Some((link.name.clone(), miss.as_ref()?.brief())))
            .collect()
    }

    /// The first link's failure, for that is the one to be repaired, and those of the others in a
    /// few words.
    fn sum_up(&self, links: &[Link]) -> Error {
        let mut told = self.told(links).into_iter();
        let Some(first) = self.last.iter().flatten().next() else {
            return Error::new(ErrorKind::Timeout, "there was no time left to ask a model")
                .with_code(codes::TIMEOUT);
        };
        told.next();
        let rest: Vec<String> = told.map(|(name, why)| format!("{name}: {why}")).collect();
        if rest.is_empty() {
            first.retold()
        } else {
            first.retold().with("besides", rest.join("; "))
        }
    }
}

/// Whether they are one model of one service, whatever their keys.
fn is_alike(one: &Link, other: &Link) -> bool {
    one.site == other.site && one.model.info().model == other.model.info().model
}

/// Whether a failure of one link says that another would fail alike.
fn rules_out(error: &Error, failed: &Link, other: &Link) -> bool {
    let same_site = failed.site == other.site;
    match error.code() {
        // Whatever this machine lacks, it lacks for every one of them.
        _ if error.kind() == ErrorKind::Exhausted => true,
        Some(codes::KEY | codes::QUOTA) => same_site && failed.key == other.key,
        Some(codes::CONNECT | codes::URL) => same_site,
        // The same model with another key would find the request too long or invalid, too, and an
        // overloaded one hangs for everybody.
        Some(codes::TOO_LONG | codes::INVALID | codes::TOOLS | codes::TIMEOUT) => {
            is_alike(failed, other)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;

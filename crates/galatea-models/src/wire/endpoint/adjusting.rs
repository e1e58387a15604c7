//! Posts a request, and makes it again without what the service refuses of it.

use std::{fmt, sync::Arc, time::Duration};

use galatea_core::{Clock, Error, Result};
use galatea_http::Response;
use serde::Serialize;
use serde_json::Value;

use super::{Call, Endpoint, Refused, Unsent};
use crate::{
    choices::{Adjusted, Choices, adjustment::Adjustment},
    wire::{
        Fail, Hint,
        adjust::{adjust, recognise},
        codes, mentions,
    },
};

/// Most refusals that one call learns from. A strict service refuses a field at a time.
const MOST: usize = 6;
/// Time for which an adjustment is remembered. A service that takes the field by then is noticed, and one
/// that does not costs one refused request.
pub(crate) const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 3600);

/// Memory of the fields and roles that services refuse.
#[derive(Clone, Default)]
pub(crate) struct Adjusting(Option<(Choices, Arc<dyn Clock>)>);

impl fmt::Debug for Adjusting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Adjusting")
    }
}

impl Adjusting {
    pub(crate) fn new(choices: Choices, clock: Arc<dyn Clock>) -> Self {
        Self(Some((choices, clock)))
    }

    fn known(&self, service: &str, model: &str) -> Vec<Adjustment> {
        let Some((choices, clock)) = &self.0 else { return Vec::new() };
        choices.adjustments(service, model, clock.now())
    }

    fn remember(&self, service: &str, model: &str, learnt: Vec<(Adjustment, String)>) {
        let Some((choices, clock)) = &self.0 else { return };
        let until = clock.now().plus(REMEMBERED);
        let new = learnt
            .into_iter()
            .inspect(|(adjustment, because)| {
                tracing::warn!(
                    service,
                    model,
                    code = codes::ADJUSTED,
                    because,
                    "the service refuses a part of requests: {adjustment}"
                );
            })
            .map(|(adjustment, because)| Adjusted { adjustment, because, until })
            .collect();
        if let Err(error) = choices.adjust(service, model, new, clock.now()) {
            tracing::warn!(error = %error.report(), "failed to store what a service refuses; it is learnt again at the next start");
        }
    }
}

/// What one call learns from refusals.
struct Lesson {
    /// Adjustments that the next attempt gets.
    known: Vec<Adjustment>,
    /// New ones, each with the words of the refusal.
    learnt: Vec<(Adjustment, String)>,
    refusals: usize,
}

/// A refusal that stands in a successful answer, before any piece of it: servers that stream say
/// success first.
#[derive(Debug)]
struct InAnswer {
    refused: Refused,
    /// The service's words, without secrets.
    text: String,
}

impl fmt::Display for InAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for InAnswer {}

impl Endpoint {
    /// Posts JSON. An answer without a success status becomes an error. A field or role that the
    /// service refuses is left out or rewritten, at once and from then on.
    pub(crate) async fn post<T: Serialize>(
        &self,
        path: &str,
        body: &T,
        stream: bool,
        call: &Call<'_>,
    ) -> Result<Response> {
        let mut lesson = self.lesson(call);
        let outcome = self.post_learning(path, body, stream, call, &mut lesson).await;
        if outcome.as_ref().err().is_none_or(is_past) {
            self.remember(lesson, call);
        }
        outcome.map_err(|unsent| self.error(unsent, call))
    }

    /// The same, and reads the answer. What [`Self::fail_in`] finds refused in it is learnt from, too.
    pub(crate) async fn ask<T, A, F>(
        &self,
        path: &str,
        body: &T,
        stream: bool,
        call: &Call<'_>,
        read: impl Fn(Response) -> F,
    ) -> Result<A>
    where
        T: Serialize,
        F: Future<Output = Result<A>>,
    {
        let mut lesson = self.lesson(call);
        loop {
            let response = match self.post_learning(path, body, stream, call, &mut lesson).await {
                Ok(response) => response,
                Err(unsent) => {
                    if is_past(&unsent) {
                        self.remember(lesson, call);
                    }
                    return Err(self.error(unsent, call));
                }
            };
            let error = match read(response).await {
                Ok(answer) => {
                    self.remember(lesson, call);
                    return Ok(answer);
                }
                Err(error) => error,
            };
            let source = std::error::Error::source(&error);
            let Some(found) = source.and_then(|source| source.downcast_ref::<InAnswer>()) else {
                self.remember(lesson, call);
                return Err(error);
            };
            let mut refused = found.refused.clone();
            if !self.learn(body, stream, &mut refused, &mut lesson) {
                let no_tools = refused.refusal.hint == Some(Hint::NoTools);
                let refused = Unsent::Refused(Box::new(refused));
                return Err(if no_tools { self.error(refused, call) } else { error });
            }
        }
    }

    /// The error of an answer, or a piece of one, that cannot be used; `text` is what was received. A
    /// refusal in it can be learnt from.
    pub(crate) fn fail_in(&self, fail: Fail, text: &[u8], model: &str) -> Error {
        let found = match &fail {
            Fail::Refused(status, refusal) if refusal.hint != Some(Hint::BadKey) => {
                let refused = Refused {
                    status: *status,
                    wait: None,
                    refusal: refusal.clone(),
                    body: text.to_vec(),
                };
                Some(InAnswer { text: self.clean(&refusal.message), refused })
            }
            _ => None,
        };
        let error = self.fail(fail, model);
        match found {
            Some(found) => error.with_source(found),
            None => error,
        }
    }

    fn lesson(&self, call: &Call<'_>) -> Lesson {
        let known = self.adjusting.known(&self.service(), call.model);
        Lesson { known, learnt: Vec::new(), refusals: 0 }
    }

    fn remember(&self, lesson: Lesson, call: &Call<'_>) {
        let Lesson { known, mut learnt, .. } = lesson;
        learnt.retain(|(adjustment, _)| known.contains(adjustment));
        if !learnt.is_empty() {
            self.adjusting.remember(&self.service(), call.model, learnt);
        }
    }

    /// Posts until the service refuses nothing that can be left out or rewritten.
    async fn post_learning<T: Serialize>(
        &self,
        path: &str,
        body: &T,
        stream: bool,
        call: &Call<'_>,
        lesson: &mut Lesson,
    ) -> Result<Response, Unsent> {
        loop {
            let outcome = self.post_adjusted(path, body, stream, call, &lesson.known).await;
            match outcome {
                Err(Unsent::Refused(mut refused)) => {
                    if !self.learn(body, stream, &mut refused, lesson) {
                        return Err(Unsent::Refused(refused));
                    }
                }
                outcome => return outcome,
            }
        }
    }

    /// Adds what a refusal demands; false if it demands nothing new.
    fn learn<T: Serialize>(
        &self,
        body: &T,
        stream: bool,
        refused: &mut Refused,
        lesson: &mut Lesson,
    ) -> bool {
        if lesson.refusals == MOST {
            return false;
        }
        lesson.refusals += 1;
        let (sent, _) = adjusted(body, stream, &lesson.known);
        let Some(new) = self.demanded(refused, &sent) else { return false };
        let because = self.clean(&refused.refusal.message);
        let before = lesson.known.clone();
        new.into_iter().for_each(|adjustment| include(&mut lesson.known, adjustment));
        let added = lesson.known.iter().filter(|one| !before.contains(one));
        lesson.learnt.extend(added.map(|one| (one.clone(), because.clone())));
        lesson.known != before
    }

    async fn post_adjusted<T: Serialize>(
        &self,
        path: &str,
        body: &T,
        stream: bool,
        call: &Call<'_>,
        known: &[Adjustment],
    ) -> Result<Response, Unsent> {
        // Nearly every request is sent as it was encoded.
        if known.is_empty() {
            return self.post_once(path, body, stream, call).await;
        }
        let (body, stream) = adjusted(body, stream, known);
        self.post_once(path, &body, stream, call).await
    }

    /// The adjustment that a refusal demands; refused tools become the meaning of the refusal.
    fn demanded(&self, refused: &mut Refused, sent: &Value) -> Option<Vec<Adjustment>> {
        let open = match refused.refusal.hint {
            None | Some(Hint::Busy | Hint::WrongPath) => true,
            // OpenRouter has the model, at no provider that takes this request.
            Some(Hint::UnknownModel) => mentions(&refused.refusal.message, &["that support"]),
            Some(_) => false,
        };
        if !open {
            return None;
        }
        let provider = self.names.provider;
        match recognise::recognise(refused.status, &refused.body, sent, provider)? {
            recognise::RefusedField::Adjust(new) => Some(new),
            recognise::RefusedField::Tools => {
                refused.refusal.hint = Some(Hint::NoTools);
                None
            }
        }
    }
}

/// True if the adjustments brought a request past the refusals that failed all the same: for another
/// reason.
fn is_past(unsent: &Unsent) -> bool {
    match unsent {
        Unsent::Failed(_) => false,
        Unsent::Refused(refused) => {
            matches!(
                refused.refusal.hint,
                Some(Hint::TooLong(_) | Hint::RateLimited | Hint::NoTools)
            )
        }
    }
}

/// The request as it is sent; without a stream, its headers come with the finished answer.
fn adjusted<T: Serialize>(body: &T, stream: bool, known: &[Adjustment]) -> (Value, bool) {
    // By way of text, which keeps a number as it is written.
    let mut value = serde_json::to_vec(body)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or(Value::Null);
    adjust(&mut value, known);
    let streams = stream && !known.contains(&Adjustment::Without("stream".to_owned()));
    (value, streams)
}

/// Adds an adjustment. A limit whose names are both refused is left out.
fn include(known: &mut Vec<Adjustment>, new: Adjustment) {
    let Adjustment::Renamed(from, to) = &new else {
        if !known.contains(&new) {
            known.push(new);
        }
        return;
    };
    let back = Adjustment::Renamed(to.clone(), from.clone());
    if known.contains(&back) {
        known.retain(|one| *one != back);
        known.extend([from, to].map(|name| Adjustment::Without(name.clone())));
    } else if !known.contains(&new) {
        known.push(new);
    }
}

//! Posts a request, and makes it again without what the service refuses of it.

use std::{fmt, sync::Arc, time::Duration};

use galatea_core::{Clock, Result};
use galatea_http::Response;
use serde::Serialize;
use serde_json::Value;

use super::{Call, Endpoint, Refused, Unsent};
use crate::{
    choices::{Choices, adjustment::Adjustment, kept::Adjusted},
    wire::{
        Hint,
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
        let service = self.service();
        let remembered = self.adjusting.known(&service, call.model);
        let mut outcome = self.post_adjusted(path, body, stream, call, &remembered).await;
        let mut known = remembered.clone();
        let mut learnt: Vec<(Adjustment, String)> = Vec::new();
        for _ in 0..MOST {
            let Err(Unsent::Refused(refused)) = &mut outcome else { break };
            let (sent, _) = adjusted(body, stream, &known);
            let Some(new) = self.demanded(refused, &sent) else { break };
            let because = self.clean(&refused.refusal.message);
            let before = known.clone();
            new.into_iter().for_each(|adjustment| include(&mut known, adjustment));
            if known == before {
                break;
            }
            let added = known.iter().filter(|one| !before.contains(one));
            learnt.extend(added.map(|one| (one.clone(), because.clone())));
            outcome = self.post_adjusted(path, body, stream, call, &known).await;
        }
        learnt.retain(|(adjustment, _)| known.contains(adjustment));
        if !learnt.is_empty() && is_past(&outcome) {
            self.adjusting.remember(&service, call.model, learnt);
        }
        outcome.map_err(|unsent| self.error(unsent, call))
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

/// True if the adjustments brought the request past the refusals: it was answered, or failed for
/// another reason.
fn is_past(outcome: &Result<Response, Unsent>) -> bool {
    match outcome {
        Ok(_) => true,
        Err(Unsent::Failed(_)) => false,
        Err(Unsent::Refused(refused)) => {
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

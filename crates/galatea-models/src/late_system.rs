//! Models whose chat template takes instructions at the beginning only: they are asked again at
//! once, with the program's later words on the people's side, and so from then on for a while.
//!
//! A refusal that is the answer's status is met before ([`crate::wire::adjust`]). Servers that stream
//! answer with success and put the refusal into the stream, which is read here only.

use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use galatea_core::{
    Clock, Error, ErrorKind, ModelInfo, Result, TextModel, Timestamp,
    model::{OnText, TextAnswer, TextRequest},
};

use crate::wire::mentions;

/// Time for which a refusal is remembered. A template changes with the model or its server.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);
/// Most models that are remembered. An agent uses about ten, and a process serves a few agents.
const MOST: usize = 256;
/// Words of templates and servers that refuse such a message (llama.cpp, vLLM, templates of Mistral,
/// Gemma and Qwen 3.5: "System message must be at the beginning.", "Conversation roles must
/// alternate user/assistant/user/assistant/...", "System role not supported").
const WORDS: &[&str] = &["system message", "system role", "role", "template", "alternate"];

/// Models that refused it, by service and name, with the time. A process has one list.
#[derive(Debug, Default)]
pub(crate) struct LateRefusals(Mutex<BTreeMap<(String, String), Timestamp>>);

impl LateRefusals {
    fn remember(&self, service: &str, model: &str, now: Timestamp) {
        let mut known = self.0.lock();
        known.retain(|_, at| is_recent(*at, now));
        if known.len() >= MOST {
            known.pop_first();
        }
        known.insert((service.to_owned(), model.to_owned()), now);
    }

    fn holds(&self, service: &str, model: &str, now: Timestamp) -> bool {
        let known = self.0.lock();
        known.get(&(service.to_owned(), model.to_owned())).is_some_and(|at| is_recent(*at, now))
    }
}

/// A time in the future was recorded before the clock was set back.
fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    at <= now && now.since(at) < REMEMBERED
}

/// True if the error speaks of the roles of messages. Servers answer with 400, 422 or 500.
fn is_about_roles(error: &Error) -> bool {
    let kinds =
        [ErrorKind::Invalid, ErrorKind::Unavailable, ErrorKind::Unsupported, ErrorKind::Unexpected];
    kinds.contains(&error.kind()) && mentions(&error.report(), WORDS)
}

/// A model that may turn out to take instructions at the beginning only.
pub(crate) struct LateSystem {
    pub(crate) inner: Arc<dyn TextModel>,
    /// Provider and base address.
    pub(crate) service: String,
    pub(crate) refusals: Arc<LateRefusals>,
    pub(crate) clock: Arc<dyn Clock>,
}

#[async_trait]
impl TextModel for LateSystem {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        if !request.has_late_system() {
            return self.inner.generate(request, on_text).await;
        }
        let model = &self.inner.info().model;
        if !self.refusals.holds(&self.service, model, self.clock.now()) {
            let refused = match self.inner.generate(request, on_text).await {
                Err(error) if is_about_roles(&error) => error,
                outcome => return outcome,
            };
            let Ok(answer) = self.inner.generate(&request.without_late_system(), on_text).await
            else {
                return Err(refused);
            };
            tracing::info!(service = self.service, model, error = %refused.report(), "the model takes instructions at the beginning only; what holds for one answer stands beside the people's words for a day");
            self.refusals.remember(&self.service, model, self.clock.now());
            return Ok(answer);
        }
        self.inner.generate(&request.without_late_system(), on_text).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::model::{ChatMessage, ChatRole};
    use galatea_testkit::{clock::ManualClock, models::ScriptedModel};

    fn with_notes() -> TextRequest {
        let messages = vec![
            ChatMessage::user("hi"),
            ChatMessage::assistant("hello"),
            ChatMessage::system("It is 19:05."),
            ChatMessage::user("what time is it?"),
        ];
        TextRequest { messages: messages.into(), ..TextRequest::default() }
    }

    async fn asked_after(says: &'static str) -> (Vec<usize>, bool) {
        let clock = ManualClock::new();
        let inner = Arc::new(ScriptedModel::answering(move |request| {
            let late = request.messages.iter().any(|message| message.role == ChatRole::System);
            if late {
                Err(Error::new(ErrorKind::Unavailable, says))
            } else {
                Ok(ScriptedModel::text("yes"))
            }
        }));
        let model = LateSystem {
            inner: Arc::clone(&inner) as _,
            service: "openai x".into(),
            refusals: Arc::default(),
            clock: clock.shared(),
        };
        let (mut calls, mut answered) = (Vec::new(), true);
        for wait in [0, 3_600, 24 * 3_600] {
            clock.advance(Duration::from_secs(wait));
            answered &= model.generate(&with_notes(), &|_| {}).await.is_ok();
            calls.push(inner.requests().len());
        }
        (calls, answered)
    }

    #[tokio::test]
    async fn a_template_that_refuses_late_instructions_is_asked_without_them_for_a_day() {
        for says in [
            "System message must be at the beginning.",
            "Conversation roles must alternate user/assistant/user/assistant/...",
            "System role not supported",
            "Error rendering prompt with jinja template",
            "Unexpected role 'system' after role 'assistant'",
        ] {
            assert_eq!(asked_after(says).await, (vec![2, 3, 5], true), "{says}");
        }
        let other = asked_after("the server is overloaded").await;
        assert_eq!(other, (vec![1, 2, 3], false), "another fault is not asked again");
    }

    #[tokio::test]
    async fn what_is_wrong_with_the_rest_of_a_request_stays_its_error() {
        let inner = Arc::new(ScriptedModel::answering(|_| {
            Err(Error::new(ErrorKind::Invalid, "the role of message 1 is unknown"))
        }));
        let model = LateSystem {
            inner: Arc::clone(&inner) as _,
            service: "openai x".into(),
            refusals: Arc::default(),
            clock: ManualClock::new().shared(),
        };
        let error = model.generate(&with_notes(), &|_| {}).await.unwrap_err();
        assert!(error.report().contains("message 1") && inner.requests().len() == 2);
        model.generate(&with_notes(), &|_| {}).await.unwrap_err();
        assert_eq!(inner.requests().len(), 4, "nothing was learnt");
    }
}

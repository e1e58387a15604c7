//! Models that refuse tools: they are asked again at once, with the actions in the text, and from
//! then on for a while.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use galatea_core::{
    Clock, ModelInfo, Result, TextModel, Timestamp,
    model::{OnText, TextAnswer, TextRequest, text_actions::without_tools},
};

use crate::wire::codes;

/// How long a refusal is remembered. A server restarted with tools is noticed within this time, and
/// a model without them costs one refused request in it.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);
/// Most models that are remembered. An agent uses about ten, and a process serves a few agents.
const MOST: usize = 256;

/// Which models refused tools, by service and name, and when. One for a process.
#[derive(Debug, Default)]
pub(crate) struct ToolRefusals(Mutex<BTreeMap<(String, String), Timestamp>>);

impl ToolRefusals {
    fn remember(&self, service: &str, model: &str, now: Timestamp) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, at| is_recent(*at, now));
        if known.len() >= MOST {
            known.pop_first();
        }
        known.insert((service.to_owned(), model.to_owned()), now);
    }

    fn holds(&self, service: &str, model: &str, now: Timestamp) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Empty for nearly every process.
        !known.is_empty()
            && known
                .get(&(service.to_owned(), model.to_owned()))
                .is_some_and(|at| is_recent(*at, now))
    }
}

/// A time in the future was recorded before the clock was set back.
fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    at <= now && now.since(at) < REMEMBERED
}

/// A model that may turn out to take no tools.
pub(crate) struct Toolless {
    pub(crate) inner: Arc<dyn TextModel>,
    /// Provider and base address.
    pub(crate) service: String,
    pub(crate) refusals: Arc<ToolRefusals>,
    pub(crate) clock: Arc<dyn Clock>,
}

#[async_trait]
impl TextModel for Toolless {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let model = &self.inner.info().model;
        if request.tools.is_empty() {
            return self.inner.generate(request, on_text).await;
        }
        if !self.refusals.holds(&self.service, model, self.clock.now()) {
            match self.inner.generate(request, on_text).await {
                Err(error) if error.code() == Some(codes::TOOLS) => {
                    tracing::warn!(service = self.service, model, code = codes::TOOLS, error = %error.report(), "the model takes no tools; asking for actions in the text for an hour");
                    self.refusals.remember(&self.service, model, self.clock.now());
                }
                outcome => return outcome,
            }
        }
        let answer = self.inner.generate(&without_tools(request), on_text).await?;
        Ok(TextAnswer { text_actions: true, ..answer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{Error, ErrorKind, model::ToolSpec};
    use galatea_testkit::{clock::ManualClock, models::ScriptedModel};

    fn with_tool() -> TextRequest {
        let tool = ToolSpec {
            name: "SEND".into(),
            description: "Sends.".into(),
            parameters: serde_json::json!({}).into(),
        };
        TextRequest { tools: vec![tool].into(), ..TextRequest::prompt(None, "hi") }
    }

    #[tokio::test]
    async fn a_model_that_refuses_tools_answers_without_them_and_is_offered_them_again_later() {
        let clock = ManualClock::new();
        let inner = Arc::new(ScriptedModel::answering(|request| {
            if request.tools.is_empty() {
                return Ok(ScriptedModel::text("yes"));
            }
            Err(Error::new(ErrorKind::Unsupported, "no tools").with_code(codes::TOOLS))
        }));
        let model = Toolless {
            inner: Arc::clone(&inner) as _,
            service: "openai x".into(),
            refusals: Arc::default(),
            clock: clock.shared(),
        };
        let ask = async || {
            let answer = model.generate(&with_tool(), &|_| {}).await.unwrap();
            assert!(answer.text_actions);
            answer.text
        };
        for (wait, requests) in [(0, 2), (3_599, 3), (1, 5)] {
            clock.advance(Duration::from_secs(wait));
            assert_eq!(ask().await, "yes");
            assert_eq!(inner.requests().len(), requests);
        }
        let last = inner.requests().pop().unwrap();
        assert!(last.system.unwrap().contains("- SEND: Sends."), "asked for in the text");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let refusals = ToolRefusals::default();
        for n in 0..2 * MOST {
            refusals.remember("s", &n.to_string(), Timestamp(0));
        }
        assert_eq!(refusals.0.lock().unwrap().len(), MOST);
        refusals.remember("s", "later", Timestamp(3_600_000));
        assert_eq!(refusals.0.lock().unwrap().len(), 1, "the others have expired");
    }
}

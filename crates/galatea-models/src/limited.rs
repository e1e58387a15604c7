//! Gives every call a limit of length. A model that runs on would be read until the caller's
//! deadline, and all its words would be lost.

use parking_lot::Mutex;
use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Result, TextModel,
    model::{Finish, OnText, TextAnswer, TextRequest},
};

use crate::wire::was_cut_before_words;

/// Longest answer, in tokens, if neither a setting nor the call says otherwise: about 700 words.
pub(crate) const ANSWER: u32 = 1_024;
/// Tokens for the thoughts of a model that thinks before it answers: its provider counts them as
/// part of the answer. Together with [`ANSWER`] it is Anthropic's usual limit, 8,192.
const THOUGHTS: u32 = 7_168;

/// Models that have turned out to think before they answer, by service and name.
#[derive(Debug, Default)]
pub(crate) struct Thinkers(Mutex<BTreeSet<(String, String)>>);

impl Thinkers {
    fn holds(&self, id: &(String, String)) -> bool {
        self.0.lock().contains(id)
    }

    fn add(&self, id: &(String, String)) {
        self.0.lock().insert(id.clone());
    }
}

/// A model whose answers are limited. A limit of the request, which settings make, has precedence.
pub(crate) struct Limited {
    inner: Arc<dyn TextModel>,
    /// Service and name.
    id: (String, String),
    thinkers: Arc<Thinkers>,
    /// Known to think by its family.
    thinks: bool,
}

impl Limited {
    pub(crate) fn new(
        inner: Arc<dyn TextModel>,
        service: String,
        thinks: bool,
        thinkers: Arc<Thinkers>,
    ) -> Self {
        let id = (service, inner.info().model.clone());
        Self { inner, id, thinkers, thinks }
    }

    fn limited(&self, request: &TextRequest, thinks: bool) -> TextRequest {
        let words = request.length.unwrap_or(ANSWER);
        let wanted = if thinks { words.saturating_add(THOUGHTS) } else { words };
        let most = self.inner.info().limits.output.unwrap_or(u32::MAX);
        let mut limited = request.clone();
        limited.params.max_tokens = Some(wanted.min(most));
        limited
    }
}

#[async_trait]
impl TextModel for Limited {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        if request.params.max_tokens.is_some() {
            return self.inner.generate(request, on_text).await;
        }
        let thinks = self.thinks || self.thinkers.holds(&self.id);
        let outcome = self.inner.generate(&self.limited(request, thinks), on_text).await;
        if thinks || !thought_to_the_end(&outcome) {
            return outcome;
        }
        tracing::info!(
            service = self.id.0,
            model = self.id.1,
            "the model's thoughts took all of its answer's limit; giving it more from now on"
        );
        self.thinkers.add(&self.id);
        self.inner.generate(&self.limited(request, true), on_text).await
    }
}

/// True if the limit cut an answer off before its first word for people.
fn thought_to_the_end(outcome: &Result<TextAnswer>) -> bool {
    match outcome {
        Ok(answer) => answer.finish == Finish::Length && is_thought(&answer.text),
        Err(error) => was_cut_before_words(error),
    }
}

/// Reasoning in the text that has no end.
fn is_thought(text: &str) -> bool {
    let text = text.trim_start();
    ["<think", "<thought", "<reasoning", "[THINK]", "◁think▷", "<|channel|>analysis"]
        .iter()
        .any(|open| text.starts_with(open))
        && !["</think", "</thought", "</reasoning", "[/THINK]", "◁/think▷", "<|channel|>final"]
            .iter()
            .any(|close| text.contains(close))
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_testkit::models::ScriptedModel;

    fn limited(
        answers: impl Fn(u32) -> TextAnswer + Send + 'static,
        thinks: bool,
    ) -> (Limited, Arc<ScriptedModel>) {
        let inner = Arc::new(ScriptedModel::answering(move |request| {
            Ok(answers(request.params.max_tokens.unwrap_or(0)))
        }));
        let model = Limited::new(Arc::clone(&inner) as _, "s".into(), thinks, Arc::default());
        (model, inner)
    }

    fn limits(inner: &ScriptedModel) -> Vec<Option<u32>> {
        inner.requests().iter().map(|request| request.params.max_tokens).collect()
    }

    #[tokio::test]
    async fn every_call_has_a_limit_and_a_setting_has_precedence() {
        let (model, inner) = limited(|_| ScriptedModel::text("hi"), false);
        let mut request = TextRequest::prompt(None, "hi");
        model.generate(&request, &|_| {}).await.unwrap();
        request.length = Some(2_048);
        model.generate(&request, &|_| {}).await.unwrap();
        request.params.max_tokens = Some(77);
        model.generate(&request, &|_| {}).await.unwrap();
        assert_eq!(limits(&inner), [Some(1_024), Some(2_048), Some(77)]);
        let (model, inner) = limited(|_| ScriptedModel::text("hi"), true);
        model.generate(&TextRequest::prompt(None, "hi"), &|_| {}).await.unwrap();
        assert_eq!(limits(&inner), [Some(8_192)], "thoughts count as part of the answer");
    }

    #[tokio::test]
    async fn a_model_that_thinks_to_the_limit_gets_more_from_then_on() {
        let answer = |limit| match limit {
            0..=1_024 => TextAnswer { finish: Finish::Length, ..ScriptedModel::text("<think>hm") },
            _ => ScriptedModel::text("<think>hm</think>Pip."),
        };
        let (model, inner) = limited(answer, false);
        for _ in 0..2 {
            let answer = model.generate(&TextRequest::prompt(None, "hi"), &|_| {}).await.unwrap();
            assert!(answer.text.ends_with("Pip."));
        }
        assert_eq!(limits(&inner), [Some(1_024), Some(8_192), Some(8_192)]);
    }

    #[tokio::test]
    async fn words_that_reach_the_limit_are_no_thoughts() {
        let half = |_| TextAnswer { finish: Finish::Length, ..ScriptedModel::text("Pip is a") };
        let (model, inner) = limited(half, false);
        assert_eq!(
            model.generate(&TextRequest::prompt(None, "hi"), &|_| {}).await.unwrap().text,
            "Pip is a"
        );
        assert_eq!(limits(&inner), [Some(1_024)]);
    }
}

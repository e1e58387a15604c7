//! Models: those of one agent, each watched, so that `/readyz` can say when none answers.

use async_trait::async_trait;
use galatea_core::{
    Error, ErrorKind, ModelInfo, Models, Result, TextModel,
    model::{TextAnswer, TextRequest},
};
use std::sync::{Arc, Mutex, PoisonError};

use crate::trouble::Trouble;

/// How the models of one agent do. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelHealth(Arc<Mutex<Option<Trouble>>>);

impl ModelHealth {
    /// What is wrong; none while models answer or have not been asked.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, outcome: Option<&Error>) {
        let trouble = match outcome {
            // One request that breaks a rule says nothing about the next.
            Some(error) if error.kind() == ErrorKind::Invalid => return,
            Some(error) => Some(Trouble::of(error)),
            None => None,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }
}

/// Watches the models of an agent. One that serves several tiers is still one.
pub(crate) fn watch(models: Models) -> (Models, ModelHealth) {
    let health = ModelHealth::default();
    let watched = |model: Arc<dyn TextModel>| -> Arc<dyn TextModel> { Arc::new(Watched { model, health: health.clone() }) };
    let models = Models { small: watched(models.small), large: watched(models.large), vision: models.vision.map(watched), embedding: models.embedding };
    (models, health)
}

/// How a model is called in the banner and in `status`.
pub(crate) fn describe(info: &ModelInfo) -> String {
    if info.scripted { "offline script — pattern matching, not AI".to_owned() } else { info.full_name() }
}

struct Watched {
    model: Arc<dyn TextModel>,
    health: ModelHealth,
}

#[async_trait]
impl TextModel for Watched {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    async fn generate(&self, request: &TextRequest, on_text: &(dyn for<'t> Fn(&'t str) + Send + Sync)) -> Result<TextAnswer> {
        let outcome = self.model.generate(request, on_text).await;
        self.health.note(outcome.as_ref().err());
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scripted(Mutex<Vec<Result<TextAnswer>>>, ModelInfo);

    #[async_trait]
    impl TextModel for Scripted {
        fn info(&self) -> &ModelInfo {
            &self.1
        }
        async fn generate(&self, _: &TextRequest, _: &(dyn for<'t> Fn(&'t str) + Send + Sync)) -> Result<TextAnswer> {
            self.0.lock().unwrap().remove(0)
        }
    }

    #[tokio::test]
    async fn trouble_begins_with_a_failure_and_ends_with_an_answer() {
        let failure = Error::new(ErrorKind::Unauthorized, "the key was refused").with_code("GAL-MODEL-KEY").with_fix("set another");
        let info = ModelInfo { provider: "openai".into(), model: "m".into(), tools: true, vision: false, scripted: false };
        assert_eq!(describe(&info), "openai m");
        let answers = vec![Ok(TextAnswer::default()), Err(failure), Err(Error::invalid("too long")), Ok(TextAnswer::default())];
        let model: Arc<dyn TextModel> = Arc::new(Scripted(Mutex::new(answers), info));
        let (models, health) = watch(Models { small: model.clone(), large: model, vision: None, embedding: None });
        let mut seen = Vec::new();
        for _ in 0..4 {
            let _ = models.large.generate(&TextRequest::default(), &|_| {}).await;
            seen.push(health.trouble().map(|t| t.message));
        }
        let refused = Some("the key was refused".to_owned());
        assert_eq!(seen, [None, refused.clone(), refused, None]);
    }
}

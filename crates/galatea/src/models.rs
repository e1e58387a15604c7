//! Wraps the models of one agent: records their failures for `/readyz`, and lets them be replaced
//! while the program runs.

use async_trait::async_trait;
use galatea_core::{
    Error, ErrorKind, ModelInfo, Models, Result, TextModel,
    model::{OnText, ReasoningModels, TextAnswer, TextRequest},
};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::trouble::Trouble;

/// Health of the models of one agent. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelHealth(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    trouble: Option<Trouble>,
    description: String,
}

impl ModelHealth {
    /// The current problem; `None` if models answer or have not been used.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        self.lock().trouble.clone()
    }

    /// The model that answers, and why it was chosen.
    pub(crate) fn description(&self) -> String {
        self.lock().description.clone()
    }

    /// Sets the description.
    pub(crate) fn describe(&self, description: String) {
        self.lock().description = description;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, outcome: Option<&Error>) {
        let trouble = match outcome {
            // An invalid request says nothing about whether the model works.
            Some(error) if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::TooLong) => {
                return;
            }
            Some(error) => Some(Trouble::of(error)),
            None => None,
        };
        self.lock().trouble = trouble;
    }
}

/// A slot for a model that can be replaced while the program runs. Replaced models stay in memory,
/// because `info` returns a reference to them. There are as many as replacements, a handful a year.
struct Place {
    model: Arc<dyn TextModel>,
    next: OnceLock<Box<Place>>,
}

impl Place {
    fn new(model: Arc<dyn TextModel>) -> Self {
        Self { model, next: OnceLock::new() }
    }

    fn last(&self) -> &Self {
        let mut place = self;
        while let Some(next) = place.next.get() {
            place = next;
        }
        place
    }

    fn replace(&self, model: Arc<dyn TextModel>) {
        // Only one task replaces models. With two, the first would win.
        let _ = self.last().next.set(Box::new(Self::new(model)));
    }
}

/// Replaces an agent's models. The embedding model is not replaced: vectors of different models
/// cannot be compared, so a new one waits for the next start.
#[derive(Clone)]
pub(crate) struct Renewal {
    small: Arc<Place>,
    large: Arc<Place>,
    reasoning_small: Option<Arc<Place>>,
    reasoning_large: Option<Arc<Place>>,
    vision: Option<Arc<Place>>,
}

impl Renewal {
    /// Uses `models` for all requests from now on.
    pub(crate) fn replace(&self, models: &Models) {
        self.small.replace(Arc::clone(&models.small));
        self.large.replace(Arc::clone(&models.large));
        for (place, model) in [
            (&self.reasoning_small, &models.reasoning.small),
            (&self.reasoning_large, &models.reasoning.large),
            (&self.vision, &models.vision),
        ] {
            if let (Some(place), Some(model)) = (place, model) {
                place.replace(Arc::clone(model));
            }
        }
    }
}

/// Wraps the models of an agent. All wrapped models share one health.
pub(crate) fn watch(models: Models) -> (Models, ModelHealth, Renewal) {
    let health = ModelHealth::default();
    let place = |model: Arc<dyn TextModel>| Arc::new(Place::new(model));
    let renewal = Renewal {
        small: place(models.small),
        large: place(models.large),
        reasoning_small: models.reasoning.small.map(place),
        reasoning_large: models.reasoning.large.map(place),
        vision: models.vision.map(place),
    };
    let watched = |place: &Arc<Place>| -> Arc<dyn TextModel> {
        Arc::new(Watched { place: Arc::clone(place), health: health.clone() })
    };
    let watched = Models {
        small: watched(&renewal.small),
        large: watched(&renewal.large),
        reasoning: ReasoningModels {
            small: renewal.reasoning_small.as_ref().map(watched),
            large: renewal.reasoning_large.as_ref().map(watched),
        },
        vision: renewal.vision.as_ref().map(watched),
        objects: models.objects,
        embedding: models.embedding,
        media: models.media,
    };
    (watched, health, renewal)
}

/// Name of a model in the banner and in `status`.
pub(crate) fn describe(info: &ModelInfo) -> String {
    if info.scripted {
        "offline script — pattern matching, not AI".to_owned()
    } else {
        info.full_name()
    }
}

struct Watched {
    place: Arc<Place>,
    health: ModelHealth,
}

#[async_trait]
impl TextModel for Watched {
    fn info(&self) -> &ModelInfo {
        self.place.last().model.info()
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let outcome = self.place.last().model.generate(request, on_text).await;
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
        async fn generate(&self, _: &TextRequest, _: &OnText<'_>) -> Result<TextAnswer> {
            self.0.lock().unwrap().remove(0)
        }
    }

    #[tokio::test]
    async fn trouble_begins_with_a_failure_and_ends_with_an_answer() {
        let failure = Error::new(ErrorKind::Unauthorized, "the key was refused")
            .with_code("GAL-MODEL-KEY")
            .with_fix("set another");
        let info = ModelInfo {
            provider: "openai".into(),
            model: "m".into(),
            tools: true,
            ..ModelInfo::default()
        };
        assert_eq!(describe(&info), "openai m");
        let answers = vec![
            Ok(TextAnswer::default()),
            Err(failure),
            Err(Error::invalid("too long")),
            Ok(TextAnswer::default()),
        ];
        let model: Arc<dyn TextModel> = Arc::new(Scripted(Mutex::new(answers), info));
        let (models, health, renewal) = watch(Models::of_text(model));
        let mut seen = Vec::new();
        for _ in 0..4 {
            let _ = models.large.generate(&TextRequest::default(), &|_| {}).await;
            seen.push(health.trouble().map(|t| t.message));
        }
        let refused = Some("the key was refused".to_owned());
        assert_eq!(seen, [None, refused.clone(), refused, None]);

        let info =
            ModelInfo { provider: "openai".into(), model: "newer".into(), ..ModelInfo::default() };
        let newer: Arc<dyn TextModel> = Arc::new(Scripted(
            Mutex::new(vec![Ok(TextAnswer {
                text: "of the newer".into(),
                ..TextAnswer::default()
            })]),
            info,
        ));
        let (before, name) = (Arc::clone(&models.large), models.large.info());
        renewal.replace(&Models::of_text(newer));
        assert_eq!(
            (name.model.as_str(), before.info().model.as_str()),
            ("m", "newer"),
            "who holds it asks the newer one"
        );
        assert_eq!(
            before.generate(&TextRequest::default(), &|_| {}).await.unwrap().text,
            "of the newer"
        );
    }
}

//! Wraps the models of one agent: records their failures for `/readyz`, and lets them be replaced
//! while the program runs.

use async_trait::async_trait;
use galatea_core::{
    Error, ErrorKind, ModelInfo, Models, Result, TextModel,
    model::{OnText, ReasoningModels, TextAnswer, TextRequest},
};
use galatea_models::wire::codes;
use parking_lot::{Mutex, MutexGuard};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::sync::watch;

use crate::report::Trouble;

/// Longest wait for a model in place of one that the provider no longer has: its list is read
/// within 10 s.
const NEW_CHOICE: Duration = Duration::from_secs(20);

/// Health of the models of one agent. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct ModelHealth(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    trouble: Option<Trouble>,
    description: String,
}

impl ModelHealth {
    /// The current problem; `None` if models answer or have not been used.
    pub fn trouble(&self) -> Option<Trouble> {
        self.lock().trouble.clone()
    }

    /// The model that answers, and why it was chosen.
    pub fn description(&self) -> String {
        self.lock().description.clone()
    }

    /// Sets the description.
    pub fn describe(&self, description: String) {
        self.lock().description = description;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
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
pub struct Renewal {
    small: Arc<Place>,
    large: Arc<Place>,
    reasoning_small: Option<Arc<Place>>,
    reasoning_large: Option<Arc<Place>>,
    vision: Option<Arc<Place>>,
    looks: Arc<watch::Sender<Looks>>,
}

/// Looks at the provider's list of models.
#[derive(Debug, Clone, Copy, Default)]
struct Looks {
    /// Whether a look may choose another model; false where all are named by settings.
    chooses: bool,
    begun: u64,
    finished: u64,
}

impl Renewal {
    /// Says that the list is going to be read after each refusal, and whether a model is chosen
    /// from it then.
    pub fn chooses(&self, chooses: bool) {
        self.looks.send_modify(|looks| looks.chooses = chooses);
    }

    /// Says that the list is being read.
    pub fn looks(&self) {
        self.looks.send_modify(|looks| looks.begun += 1);
    }

    /// Says that the list was read, and that models were replaced where that was necessary.
    pub fn has_looked(&self) {
        self.looks.send_modify(|looks| looks.finished = looks.begun);
    }

    /// Uses `models` for all requests from now on.
    pub fn replace(&self, models: &Models) {
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
pub fn watch(models: Models) -> (Models, ModelHealth, Renewal) {
    let health = ModelHealth::default();
    let place = |model: Arc<dyn TextModel>| Arc::new(Place::new(model));
    let renewal = Renewal {
        small: place(models.small),
        large: place(models.large),
        reasoning_small: models.reasoning.small.map(place),
        reasoning_large: models.reasoning.large.map(place),
        vision: models.vision.map(place),
        looks: Arc::new(watch::Sender::new(Looks::default())),
    };
    let watched = |place: &Arc<Place>| -> Arc<dyn TextModel> {
        let looks = renewal.looks.subscribe();
        Arc::new(Watched { place: Arc::clone(place), health: health.clone(), looks })
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
pub fn describe(info: &ModelInfo) -> String {
    if info.scripted {
        "offline script — pattern matching, not AI".to_owned()
    } else {
        info.full_name()
    }
}

struct Watched {
    place: Arc<Place>,
    health: ModelHealth,
    looks: watch::Receiver<Looks>,
}

impl Watched {
    /// Waits until another model has taken the place of one that the provider no longer has. False
    /// if none has after the next look at its list, or in time.
    async fn is_renewed(&self, gone: &Place) -> bool {
        let mut looks = self.looks.clone();
        // A look that is under way does not know of the refusal yet.
        let Looks { chooses, begun, .. } = *looks.borrow();
        let has_looked =
            looks.wait_for(|looks| gone.next.get().is_some() || looks.finished > begun);
        if chooses {
            let _ = tokio::time::timeout(NEW_CHOICE, has_looked).await;
        }
        gone.next.get().is_some()
    }
}

#[async_trait]
impl TextModel for Watched {
    fn info(&self) -> &ModelInfo {
        self.place.last().model.info()
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let place = self.place.last();
        let mut outcome = place.model.generate(request, on_text).await;
        // The person who meets the change waits for the new choice, and gets its answer.
        let gone = matches!(&outcome, Err(error) if error.code() == Some(codes::UNKNOWN));
        if gone && self.is_renewed(place).await {
            outcome = self.place.last().model.generate(request, on_text).await;
        }
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
            self.0.lock().remove(0)
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

    fn named(name: &str, answers: Vec<Result<TextAnswer>>) -> Arc<dyn TextModel> {
        let info =
            ModelInfo { provider: "google".into(), model: name.into(), ..ModelInfo::default() };
        Arc::new(Scripted(Mutex::new(answers), info))
    }

    fn gone() -> Result<TextAnswer> {
        Err(Error::not_found("there is no such model").with_code(codes::UNKNOWN))
    }

    #[tokio::test]
    async fn who_meets_a_change_of_models_gets_the_answer_of_the_new_one() {
        let (models, health, renewal) = watch(Models::of_text(named("old", vec![gone()])));
        renewal.chooses(true);
        // A look is under way that does not know of the refusal.
        renewal.looks();
        let asked =
            tokio::spawn(
                async move { models.large.generate(&TextRequest::default(), &|_| {}).await },
            );
        tokio::task::yield_now().await;
        renewal.has_looked();
        tokio::task::yield_now().await;
        renewal.looks();
        let answer = TextAnswer { text: "of the new one".into(), ..TextAnswer::default() };
        renewal.replace(&Models::of_text(named("new", vec![Ok(answer)])));
        renewal.has_looked();
        assert_eq!(asked.await.unwrap().unwrap().text, "of the new one");
        assert_eq!(health.trouble(), None);
    }

    #[tokio::test]
    async fn nobody_waits_longer_than_for_a_look_that_changes_nothing() {
        let (models, _, renewal) = watch(Models::of_text(named("old", vec![gone(), gone()])));
        // Half of the longest wait is longer than any pause of a busy machine, and only ends a test
        // that fails.
        let ask = async || {
            let asked = models.large.generate(&TextRequest::default(), &|_| {}).await;
            assert!(asked.is_err());
        };
        let soon = |work| tokio::time::timeout(NEW_CHOICE / 2, work);
        soon(Box::pin(ask())).await.expect("every model is named by settings");
        renewal.chooses(true);
        let look = async {
            tokio::task::yield_now().await;
            renewal.looks();
            renewal.has_looked();
        };
        let both = tokio::time::timeout(NEW_CHOICE / 2, async { tokio::join!(ask(), look) });
        both.await.expect("a look that changes nothing ends the wait");
    }
}

//! Tests of the order in which models of plugins are asked, and of their parameters.

mod deadlines;
mod older;

use super::*;
use async_trait::async_trait;
use galatea_core::{
    Error, ErrorKind, SystemClock, Timestamp,
    model::{
        Effort, Made, MediaModels, OnText, Price, Sound, TextAnswer, TextRequest, Transcription,
        object,
    },
};
use serde_json::{Value, json};
use std::{
    pin::Pin,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicI64, Ordering::Relaxed},
    },
    time::Duration,
};

const PRICE: Price = Price { input: 2, cached: 1, output: 3, stored: None, stored_long: None };

/// Answers with its name, fails, or never answers. Remembers the requests.
struct Named {
    info: ModelInfo,
    fails: AtomicBool,
    hangs: AtomicBool,
    asked: Mutex<Vec<TextRequest>>,
}

fn named(name: &str, scripted: bool) -> Arc<Named> {
    let info = ModelInfo {
        provider: "test".into(),
        model: name.to_owned(),
        scripted,
        price: Some(PRICE),
        ..ModelInfo::default()
    };
    Arc::new(Named {
        info,
        fails: AtomicBool::default(),
        hangs: AtomicBool::default(),
        asked: Mutex::default(),
    })
}

/// A clock that advances only by sleeping.
#[derive(Default)]
struct Jump(AtomicI64);

impl Clock for Jump {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Relaxed))
    }
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            self.0.fetch_add(i64::try_from(duration.as_millis()).unwrap(), Relaxed);
        })
    }
}

impl Named {
    fn answer(&self) -> Result<String> {
        if self.fails.load(Relaxed) {
            return Err(Error::new(ErrorKind::Unavailable, "down"));
        }
        Ok(self.info.model.clone())
    }
}

#[async_trait]
impl TextModel for Named {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn generate(&self, request: &TextRequest, _: &OnText<'_>) -> Result<TextAnswer> {
        self.asked.lock().unwrap().push(request.clone());
        if self.hangs.load(Relaxed) {
            std::future::pending::<()>().await;
        }
        Ok(TextAnswer { text: self.answer()?, ..TextAnswer::default() })
    }
}

#[async_trait]
impl EmbeddingModel for Named {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn embed(&self, _: &[String]) -> Result<Vec<Vec<f32>>> {
        self.asked.lock().unwrap().push(TextRequest::default());
        if self.hangs.load(Relaxed) {
            std::future::pending::<()>().await;
        }
        Ok(Vec::new())
    }
}

#[async_trait]
impl ObjectModel for Named {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn generate_object(&self, request: &TextRequest, schema: &Value) -> Result<TextAnswer> {
        assert_eq!(schema["required"][0], "by");
        self.asked.lock().unwrap().push(request.clone());
        if self.hangs.load(Relaxed) {
            std::future::pending::<()>().await;
        }
        let text = json!({ "by": self.answer()? }).to_string();
        Ok(TextAnswer { text, ..TextAnswer::default() })
    }
}

#[async_trait]
impl MediaModel<Transcription> for Named {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn run(&self, _: &Sound, _: Option<galatea_core::Timestamp>) -> Result<Made<String>> {
        let used = galatea_core::model::MediaUsage::default();
        Ok(Made { output: self.answer()?, used, micros: None, by: None })
    }
}

fn joined(models: Models, registered: Vec<(i32, PluginModel)>, pairs: &[(&str, &str)]) -> Models {
    let dependencies = Dependencies::default();
    joined_at(models, registered, pairs, Arc::new(SystemClock), &dependencies)
}

fn joined_at(
    models: Models,
    registered: Vec<(i32, PluginModel)>,
    pairs: &[(&str, &str)],
    clock: Arc<dyn Clock>,
    dependencies: &Dependencies,
) -> Models {
    let settings =
        Settings::from_pairs(pairs.iter().map(|(k, v)| ((*k).to_owned(), Value::from(*v))));
    let registered: Vec<_> = registered
        .into_iter()
        .map(|(priority, model)| RegisteredModel { priority, model })
        .collect();
    with_registered(models, &registered, &settings, &clock, dependencies).unwrap()
}

fn large(model: &Arc<Named>) -> PluginModel {
    PluginModel::Text(Tier::TextLarge, Arc::clone(model) as _)
}

async fn says(models: &Models, tier: Tier) -> TextAnswer {
    models.text(tier).generate(&TextRequest::prompt(None, "hi"), &|_| {}).await.unwrap()
}

#[tokio::test]
async fn the_highest_priority_is_asked_first_and_the_next_one_if_it_fails() {
    let (own, high, low) = (named("own", false), named("high", false), named("low", false));
    let models = joined(
        Models::of_text(own.clone()),
        vec![(-1, large(&low)), (0, large(&low)), (7, large(&high))],
        &[],
    );
    let mut told = Vec::new();
    for failing in [None, Some(&high), Some(&own)] {
        if let Some(model) = failing {
            model.fails.store(true, Relaxed);
        }
        let answer = says(&models, Tier::TextLarge).await;
        let by = answer.by.unwrap();
        assert_eq!(answer.price, Some(PRICE), "of the model that answered");
        assert_eq!((by.provider.as_str(), &by.model), ("test", &answer.text));
        told.push((answer.text, by.passed.len()));
    }
    let expected = [("high", 0), ("own", 1), ("low", 2)];
    assert_eq!(told, expected.map(|(name, passed)| (name.to_owned(), passed)));
    own.fails.store(false, Relaxed);
    assert_eq!(says(&models, Tier::TextSmall).await.by, None, "another type stays as it was");
}

#[tokio::test]
async fn the_script_does_not_answer_in_place_of_a_model() {
    let (script, low) = (named("script", true), named("low", false));
    let models = joined(Models::of_text(script), vec![(-5, large(&low))], &[]);
    assert_eq!(says(&models, Tier::TextLarge).await.text, "low");
    assert!(!models.large.info().scripted && models.small.info().scripted);
    low.fails.store(true, Relaxed);
    let request = TextRequest::prompt(None, "hi");
    models.large.generate(&request, &|_| {}).await.unwrap_err();
}

#[tokio::test]
async fn what_a_call_leaves_open_comes_from_the_settings_of_the_type() {
    let (own, plugin) = (named("own", false), named("plugin", false));
    let thinks = PluginModel::Text(Tier::ReasoningSmall, plugin.clone() as _);
    let pairs = [("REASONING_SMALL_TEMPERATURE", "0.25"), ("DEFAULT_MAX_TOKENS", "99")];
    let models = joined(Models::of_text(own), vec![(1, thinks)], &pairs);
    assert_eq!(says(&models, Tier::ReasoningSmall).await.text, "plugin");
    assert_eq!(says(&models, Tier::ReasoningLarge).await.text, "own");
    let mut request = TextRequest::prompt(None, "hi");
    request.params.max_tokens = Some(5);
    models.text(Tier::ReasoningSmall).generate(&request, &|_| {}).await.unwrap();
    let asked = plugin.asked.lock().unwrap();
    let params = |n: usize| (asked[n].params.temperature, asked[n].params.max_tokens);
    assert_eq!((params(0), params(1)), ((Some(0.25), Some(99)), (Some(0.25), Some(5))));
}

#[tokio::test]
async fn sound_falls_through_and_vectors_never_do() {
    let (own, high) = (named("own", false), named("high", false));
    let models = Models {
        embedding: Some(own.clone() as _),
        media: MediaModels { transcription: Some(own.clone() as _), ..MediaModels::default() },
        ..Models::of_text(own)
    };
    let brought = vec![
        (1, PluginModel::Embedding(high.clone() as _)),
        (1, PluginModel::Transcription(high.clone() as _)),
        (1, PluginModel::Vision(high.clone() as _)),
    ];
    let models = joined(models, brought, &[]);
    assert_eq!(models.embedding.unwrap().info().model, "high");
    assert_eq!(models.vision.unwrap().info().model, "high");
    assert!(models.media.image.is_none());
    high.fails.store(true, Relaxed);
    let sound = Sound { bytes: Vec::new(), mime: "audio/ogg", name: "a.ogg".into(), millis: 5 };
    let made = models.media.transcription.unwrap().run(&sound, None).await.unwrap();
    assert_eq!((made.output.as_str(), made.by.as_deref()), ("own", Some("test own")));
}

#[tokio::test]
async fn a_script_with_a_paid_model_behind_it_counts_as_the_paid_one() {
    let (own, script) = (named("own", false), named("script", true));
    let models = joined(Models::of_text(own), vec![(5, large(&script))], &[]);
    assert_eq!(says(&models, Tier::TextLarge).await.text, "script", "it is still asked first");
    let info = models.large.info();
    assert!(!info.scripted, "budgets and labels count it as a model");
    assert_eq!(info.known_price(), Some(PRICE));
    let alone = joined(Models::of_text(named("own", true)), vec![(5, large(&script))], &[]);
    assert!(alone.large.info().scripted);
}

#[tokio::test]
async fn a_model_that_hangs_is_left_alone_after_some_calls() {
    let (own, hung) = (named("own", false), named("hung", false));
    hung.hangs.store(true, Relaxed);
    let clock = Arc::new(Jump::default());
    let dependencies = Dependencies::default();
    let brought = vec![(5, large(&hung)), (5, PluginModel::Embedding(hung.clone() as _))];
    let models = joined_at(Models::of_text(own), brought, &[], clock.clone(), &dependencies);
    for _ in 0..20 {
        assert_eq!(says(&models, Tier::TextLarge).await.text, "own");
    }
    assert_eq!(hung.asked.lock().unwrap().len(), 5, "the breaker opens after five failures");

    let embedding = models.embedding.unwrap();
    let before = clock.now();
    let error = embedding.embed(&[String::new()]).await.unwrap_err();
    assert_eq!(
        (error.kind(), clock.now().since(before)),
        (ErrorKind::Timeout, Duration::from_secs(30)),
        "it is asked: another use of that model has a breaker of its own"
    );
    for _ in 0..9 {
        embedding.embed(&[String::new()]).await.unwrap_err();
    }
    assert_eq!(hung.asked.lock().unwrap().len(), 10, "its breaker opens too");
    assert_eq!(dependencies.breakers().len(), 2);
}

#[tokio::test]
async fn a_large_model_thinks_where_no_other_model_does() {
    let (own, thinker, plugin) =
        (named("own", false), named("thinker", false), named("plugin", false));
    let models = Models {
        reasoning: ReasoningModels { small: Some(own.clone() as _), large: Some(thinker as _) },
        ..Models::of_text(own)
    };
    let models = joined(models, vec![(5, large(&plugin))], &[]);
    assert_eq!(says(&models, Tier::ReasoningSmall).await.text, "plugin");
    assert_eq!(plugin.asked.lock().unwrap()[0].params.effort, Some(Effort::Medium));
    assert_eq!(says(&models, Tier::ReasoningLarge).await.text, "thinker");
}

fn object(tier: ObjectTier, model: &Arc<Named>) -> PluginModel {
    PluginModel::Object(tier, Arc::clone(model) as _)
}

async fn makes(models: &Models, tier: ObjectTier) -> Result<Value> {
    let schema = json!({ "type": "object", "required": ["by"] });
    let request = TextRequest::prompt(None, "who?");
    object::generate(models, tier, &request, &schema).await.map(|object| object.value)
}

#[tokio::test]
async fn objects_are_made_by_the_highest_priority_then_the_next_then_the_text_model() {
    let (text, high, low) =
        (named("{\"by\": \"text\"}", false), named("high", false), named("low", false));
    let brought = vec![
        (-3, object(ObjectTier::ObjectSmall, &low)),
        (7, object(ObjectTier::ObjectSmall, &high)),
    ];
    let models = joined(Models::of_text(text.clone()), brought, &[]);
    let mut by = Vec::new();
    for failing in [None, Some(&high), Some(&low)] {
        if let Some(model) = failing {
            model.fails.store(true, Relaxed);
        }
        by.push(makes(&models, ObjectTier::ObjectSmall).await.unwrap()["by"].clone());
    }
    assert_eq!(by, ["high", "low", "text"]);
    assert!(high.asked.lock().unwrap()[0].system.is_none(), "the schema stands beside it");
    let system = text.asked.lock().unwrap()[0].system.clone().unwrap();
    assert!(system.contains("\"required\":[\"by\"]"), "{system}");
    assert_eq!(makes(&models, ObjectTier::ObjectLarge).await.unwrap()["by"], "text");
    text.fails.store(true, Relaxed);
    assert_eq!(makes(&models, ObjectTier::ObjectSmall).await.unwrap_err().to_string(), "down");
}

#[tokio::test]
async fn an_object_model_that_hangs_leaves_half_of_the_time_and_is_left_alone() {
    let (text, hung) = (named("{\"by\": \"text\"}", false), named("hung", false));
    hung.hangs.store(true, Relaxed);
    let clock = Arc::new(Jump::default());
    let dependencies = Dependencies::default();
    let brought = vec![(1, object(ObjectTier::ObjectLarge, &hung))];
    let pairs = [("MODEL_TOTAL_TIMEOUT", "100")];
    let models = joined_at(Models::of_text(text), brought, &pairs, clock.clone(), &dependencies);
    let before = clock.now();
    assert_eq!(makes(&models, ObjectTier::ObjectLarge).await.unwrap()["by"], "text");
    assert_eq!(clock.now().since(before), Duration::from_secs(50));
    for _ in 0..9 {
        makes(&models, ObjectTier::ObjectLarge).await.unwrap();
    }
    assert_eq!(hung.asked.lock().unwrap().len(), 5, "the breaker opens after five failures");
    assert_eq!(dependencies.breakers().len(), 1);
}

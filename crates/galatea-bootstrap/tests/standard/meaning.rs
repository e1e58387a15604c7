//! With an embedding model, facts are selected by meaning. Without one, or if it fails, they are
//! selected by age.

mod older;
mod wait;

use async_trait::async_trait;
use galatea_core::{
    Embedding, EmbeddingModel, Error, ErrorKind, MemoryKind, ModelInfo, Result, Retry, Timestamp,
    model::LIMIT_CODE,
};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use crate::{
    embedding::embeds,
    reflection::after,
    scene::{MARIA, Scene, someone},
};

/// An embedding model that distinguishes tea from everything else.
pub(crate) struct Tea {
    info: ModelInfo,
    width: usize,
    pub(crate) asked: Mutex<Vec<Vec<String>>>,
    hangs: AtomicBool,
    pub(crate) fails: AtomicBool,
    /// It answers with zeros.
    pub(crate) is_broken: AtomicBool,
    slow: Mutex<std::time::Duration>,
    /// How many texts the agent may still have embedded today; none is any number.
    pub(crate) left: Mutex<Option<usize>>,
    /// The model before it, at the same service.
    before: Option<Arc<Tea>>,
}

impl Tea {
    pub(crate) fn of(model: &str, width: usize) -> Arc<Self> {
        let info =
            ModelInfo { provider: "test".into(), model: model.into(), ..ModelInfo::default() };
        Arc::new(Self {
            info,
            width,
            asked: Mutex::default(),
            hangs: AtomicBool::new(false),
            fails: AtomicBool::new(false),
            is_broken: AtomicBool::new(false),
            slow: Mutex::default(),
            left: Mutex::default(),
            before: None,
        })
    }

    /// A model at the service that still has the model before it.
    fn after(model: &str, width: usize, before: &Arc<Self>) -> Arc<Self> {
        let mut made = Arc::into_inner(Self::of(model, width)).unwrap();
        made.before = Some(Arc::clone(before));
        Arc::new(made)
    }
}

#[async_trait]
impl EmbeddingModel for Tea {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        if let Some(left) = &mut *self.left.lock().unwrap() {
            // As the meter of the runtime refuses, before the model is asked.
            let Some(rest) = left.checked_sub(texts.len()) else {
                let advice = Retry::After(std::time::Duration::from_secs(7_200));
                let refusal = Error::new(ErrorKind::Invalid, "used up").with_code(LIMIT_CODE);
                return Err(refusal.with_retry(advice));
            };
            *left = rest;
        }
        self.asked.lock().unwrap().push(texts.to_vec());
        let slow = *self.slow.lock().unwrap();
        tokio::time::sleep(slow).await;
        if self.hangs.load(Relaxed) {
            std::future::pending::<()>().await;
        }
        if texts.iter().any(|text| text.contains("unspeakable")) {
            return Err(Error::new(ErrorKind::Invalid, "no"));
        }
        if texts.iter().any(|text| text.contains("endless")) {
            return Err(Error::new(ErrorKind::TooLong, "must have less than 512 tokens"));
        }
        if self.fails.load(Relaxed) {
            return Err(Error::unexpected("down"));
        }
        let vector = |text: &String| {
            // Models of another width are other models from the first number on.
            let mut vector = vec![if self.width > 3 { 0.2 } else { 0.1 }; self.width];
            vector[usize::from(text.contains("tea"))] = 1.0;
            let is_empty = self.is_broken.load(Relaxed) || text.contains("nothing");
            if is_empty { vec![0.0; self.width] } else { vector }
        };
        Ok(texts.iter().map(vector).collect())
    }
    fn sibling(&self, full_name: &str) -> Option<Arc<dyn EmbeddingModel>> {
        let before = self.before.clone()?;
        (before.info.full_name() == full_name).then_some(before as _)
    }
}

/// Forty embedded facts about Maria, ordered by age. The oldest is about tea.
async fn much_is_known(model: &Arc<Tea>) -> Scene {
    let mut scene = after(8);
    scene.models.embedding = Some(model.clone());
    for n in 0..40 {
        let text = if n == 0 { "Maria grows tea".to_owned() } else { format!("fact {n}") };
        scene.keep(MemoryKind::Facts, someone(MARIA), scene.room.id, &text, Timestamp(n));
    }
    embeds(&scene).await;
    scene.message = scene.message_by(MARIA, "what shall I drink? tea?");
    scene
}

#[tokio::test]
async fn what_is_like_what_is_said_is_shown_before_the_newest() {
    let model = Tea::of("small", 3);
    let scene = much_is_known(&model).await;
    let shown = scene.shows("FACTS").await.text;
    assert!(shown.contains("About Maria it is known: “Maria grows tea” ("), "{shown}");
    assert_eq!(shown.matches('“').count(), 12);
    assert_eq!(
        shown.matches("“fact 39”").count(),
        1,
        "the newest are there, and nothing is there twice: {shown}"
    );
    assert_eq!(model.asked.lock().unwrap().last().unwrap(), &["what shall I drink? tea?"]);
    // Facts of another room are never shown, however similar they are. One about another person is,
    // under that person's name.
    let elsewhere = galatea_core::RoomId(uuid::Uuid::from_u128(101));
    for (who, room, text) in
        [(MARIA, elsewhere, "secret tea"), (crate::scene::BOB, scene.room.id, "Bob's tea")]
    {
        scene.keep(MemoryKind::Facts, someone(who), room, text, Timestamp(1));
        let mut tables = scene.double.tables();
        let id = tables.memories.last().unwrap().id;
        tables
            .embeddings
            .insert(id, ("test small".into(), Embedding::new(vec![0.1, 1.0, 0.1]).unwrap()));
    }
    let shown = scene.shows("FACTS").await.text;
    assert!(!shown.contains("secret"), "{shown}");
    assert!(shown.contains("About Bob it is known: “Bob's tea” (hearsay, "), "{shown}");
}

#[tokio::test]
async fn without_a_vector_words_and_age_decide() {
    let only_newest = |shown: &str| {
        shown.contains("fact 39")
            && shown.contains("fact 28")
            && !shown.contains("tea")
            && !shown.contains("fact 27")
    };
    // The word is found all the same.
    let newest = |shown: &str| {
        shown.contains("“Maria grows tea” (")
            && shown.contains("fact 39")
            && shown.contains("fact 29")
            && !shown.contains("fact 28")
    };
    let model = Tea::of("small", 3);
    let mut scene = much_is_known(&model).await;
    model.fails.store(true, Relaxed);
    assert!(newest(&scene.shows("FACTS").await.text), "a model that fails");
    model.fails.store(false, Relaxed);
    model.hangs.store(true, Relaxed);
    // The wait for the embedding is a twentieth of the turn's time limit.
    scene.agent.settings = galatea_core::Settings::from_pairs([("TURN_TIMEOUT_SECONDS", 2)]);
    let shown = scene.shows("FACTS").await;
    assert!(newest(&shown.text), "one that does not answer");
    assert!(shown.notes[0].contains("shown by words and age, not by meaning"), "{:?}", shown.notes);
    model.hangs.store(false, Relaxed);
    scene.models.embedding = Some(Tea::of("large", 3));
    assert!(newest(&scene.shows("FACTS").await.text), "nothing of another model is compared");
    scene.models.embedding = Some(model.clone());
    scene.message = scene.message_by(MARIA, "nothing");
    assert!(only_newest(&scene.shows("FACTS").await.text), "a vector of zeros");
    scene.models.embedding = None;
    assert!(only_newest(&scene.shows("FACTS").await.text), "no model");
}

#[tokio::test]
async fn a_slow_model_is_waited_for_as_long_as_the_turn_allows() {
    let model = Tea::of("small", 3);
    let scene = much_is_known(&model).await;
    *model.slow.lock().unwrap() = std::time::Duration::from_millis(700);
    let shown = scene.shows("FACTS").await;
    assert!(
        shown.text.contains("About Maria it is known: “Maria grows tea” (")
            && shown.notes.is_empty(),
        "{shown:?}"
    );
}

#[tokio::test]
async fn no_model_is_asked_if_everything_can_be_shown() {
    let model = Tea::of("small", 3);
    let mut scene = Scene::group();
    scene.models.embedding = Some(model.clone());
    for n in 0..12 {
        scene.keep(
            MemoryKind::Facts,
            someone(MARIA),
            scene.room.id,
            &format!("fact {n}"),
            Timestamp(n),
        );
    }
    assert_eq!(scene.shows("FACTS").await.text.matches('“').count(), 12);
    assert!(model.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn one_embedding_serves_all_providers_of_a_turn() {
    let model = Tea::of("small", 3);
    let mut scene = much_is_known(&model).await;
    scene.earlier = Some(galatea_core::Timestamp(0));
    for n in 0..4 {
        let memory = scene.message_by(MARIA, &format!("remark {n}"));
        scene.recent.push(memory.into());
    }
    let before = model.asked.lock().unwrap().len();
    let turn = scene.turn();
    for name in ["FACTS", "MEMORIES"] {
        scene.provider(name).provide(&turn).await.unwrap();
    }
    assert_eq!(model.asked.lock().unwrap().len(), before + 1);
}

/// An embedding is stored with the id of the previous message that it includes, so that deleting
/// either message deletes it.
#[tokio::test]
async fn an_embedding_names_the_message_that_it_was_made_with() {
    let model = Tea::of("small", 3);
    let mut scene = after(8);
    scene.models.embedding = Some(model.clone());
    for (at, text) in (1..).zip(["when?", "on Friday"]) {
        scene.keep(MemoryKind::Messages, someone(MARIA), scene.room.id, text, Timestamp(at));
    }
    let [first, second] = {
        let mut tables = scene.double.tables();
        let [.., first, second] = tables.memories.as_slice() else { panic!("both are kept") };
        let [first, second] = [first.clone(), second.clone()];
        tables.before.insert(second.id, first.clone());
        [first, second]
    };
    embeds(&scene).await;
    let asked = model.asked.lock().unwrap().concat();
    assert!(asked.iter().any(|text| text == "when? on Friday"), "{asked:?}");
    let tables = scene.double.tables();
    assert!(tables.embeddings.contains_key(&first.id));
    assert_eq!(tables.made_with.get(&second.id), Some(&first.id));
    assert_eq!(tables.made_with.len(), 1);
}

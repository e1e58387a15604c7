//! With an embedding model, facts are selected by meaning. Without one, or if it fails, they are
//! selected by age.

mod cost;
mod wait;

use async_trait::async_trait;
use galatea_core::{
    Embedding, EmbeddingModel, Error, ErrorKind, MemoryKind, ModelInfo, Result, Source, Timestamp,
    TurnUsage,
    store::{Amount, Day, UsageRow},
};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use crate::{
    double::Ending,
    reflection::{after, facts, reflects, say},
    scene::{MARIA, Scene, someone},
};

/// An embedding model that distinguishes tea from everything else.
struct Tea {
    info: ModelInfo,
    width: usize,
    asked: Mutex<Vec<Vec<String>>>,
    hangs: AtomicBool,
    fails: AtomicBool,
    slow: Mutex<std::time::Duration>,
}

impl Tea {
    fn of(model: &str, width: usize) -> Arc<Self> {
        let info =
            ModelInfo { provider: "test".into(), model: model.into(), ..ModelInfo::default() };
        Arc::new(Self {
            info,
            width,
            asked: Mutex::default(),
            hangs: AtomicBool::new(false),
            fails: AtomicBool::new(false),
            slow: Mutex::default(),
        })
    }
}

#[async_trait]
impl EmbeddingModel for Tea {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        self.asked.lock().unwrap().push(texts.to_vec());
        let slow = *self.slow.lock().unwrap();
        tokio::time::sleep(slow).await;
        if self.hangs.load(Relaxed) {
            std::future::pending::<()>().await;
        }
        if texts.iter().any(|text| text.contains("unspeakable")) {
            return Err(Error::new(ErrorKind::Invalid, "no"));
        }
        if self.fails.load(Relaxed) {
            return Err(Error::unexpected("down"));
        }
        let vector = |text: &String| {
            let mut vector = vec![0.1; self.width];
            vector[usize::from(text.contains("tea"))] = 1.0;
            if text.contains("nothing") { vec![0.0; self.width] } else { vector }
        };
        Ok(texts.iter().map(vector).collect())
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
    scene.model.enqueue("{}");
    reflects(&scene).await.unwrap();
    scene.message = scene.message_by(MARIA, "what shall I drink? tea?");
    scene
}

#[tokio::test]
async fn what_is_like_what_is_said_is_shown_before_the_newest() {
    let model = Tea::of("small", 3);
    let scene = much_is_known(&model).await;
    let shown = scene.shows("FACTS").await.text;
    assert!(shown.contains("# What is known about Maria\n- Maria grows tea ("), "{shown}");
    assert_eq!(shown.matches("\n- ").count(), 12);
    assert_eq!(
        shown.matches("\n- fact 39").count(),
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
    assert!(shown.contains("# What is known about Bob\n- Bob's tea (hearsay, "), "{shown}");
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
        shown.contains("- Maria grows tea (")
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
        shown.text.contains("# What is known about Maria\n- Maria grows tea (")
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
    assert_eq!(scene.shows("FACTS").await.text.matches("\n- ").count(), 12);
    assert!(model.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_is_learnt_is_embedded_and_an_outage_is_made_up_for() {
    let lesson = |text: &str, n: usize| {
        format!(r#"{{"facts":[{{"about":"Bob","fact":"{text}","evidence":{n}}}]}}"#)
    };
    let model = Tea::of("small", 3);
    let mut scene = after(8);
    scene.models.embedding = Some(model.clone());
    model.fails.store(true, Relaxed);
    scene.model.enqueue(lesson("Bob drinks tea", 8));
    assert!(reflects(&scene).await.is_err());
    assert_eq!(
        (facts(&scene).len(), scene.double.tables().embeddings.len()),
        (1, 0),
        "the fact is kept all the same"
    );
    model.fails.store(false, Relaxed);
    say(&mut scene, 8);
    scene.model.enqueue(lesson("Bob knows nothing", 16));
    reflects(&scene).await.unwrap();
    assert_eq!(
        scene.double.tables().embeddings.len(),
        1,
        "the first one now has one; a vector of zeros is not an embedding"
    );
    let asked = model.asked.lock().unwrap().len();
    say(&mut scene, 8);
    scene.model.enqueue("{}");
    reflects(&scene).await.unwrap();
    assert_eq!(model.asked.lock().unwrap().len(), asked, "neither is asked for again");
}

#[tokio::test]
async fn facts_without_an_embedding_do_not_fill_every_batch() {
    let model = Tea::of("small", 3);
    let mut scene = after(8);
    scene.models.embedding = Some(model.clone());
    for n in 0..150 {
        let text = if n < 110 { format!("nothing {n}") } else { format!("fact {n}") };
        scene.keep(MemoryKind::Facts, someone(MARIA), scene.room.id, &text, Timestamp(n));
    }
    for _ in 0..2 {
        scene.model.enqueue("{}");
        reflects(&scene).await.unwrap();
        say(&mut scene, 8);
    }
    assert_eq!(scene.double.tables().embeddings.len(), 40);
    assert_eq!(scene.double.tables().given_up.len(), 110);
}

#[tokio::test]
async fn another_model_or_width_replaces_what_cannot_be_compared() {
    let lesson = r#"{"facts":[{"about":"Bob","fact":"Bob drinks tea","evidence":8}]}"#;
    let mut scene = after(8);
    for (model, width) in [("small", 3), ("large", 3), ("large", 4)] {
        scene.models.embedding = Some(Tea::of(model, width));
        scene.model.enqueue(lesson);
        if width == 4 {
            // The width of a model's vectors is known only after one request, which needs more
            // facts about Bob than are shown.
            (0..12).for_each(|n| {
                scene.keep(
                    MemoryKind::Facts,
                    someone(crate::scene::BOB),
                    scene.room.id,
                    &format!("fact {n}"),
                    Timestamp(n),
                )
            });
            scene.shows("FACTS").await;
        }
        reflects(&scene).await.unwrap();
        let tables = scene.double.tables();
        assert_eq!(tables.embeddings.len(), if width == 4 { 13 } else { 1 });
        assert!(tables.embeddings.values().all(|(of, embedding)| *of == format!("test {model}") && embedding.width() == width));
        drop(tables);
        say(&mut scene, 8);
    }
}

#[tokio::test]
async fn one_text_that_is_refused_keeps_no_other_back() {
    let model = Tea::of("small", 3);
    let scene = after(8);
    for n in 0..40 {
        let text = if n == 17 { "unspeakable".to_owned() } else { format!("fact {n}") };
        scene.keep(MemoryKind::Facts, someone(MARIA), scene.room.id, &text, Timestamp(n));
    }
    let mut scene = scene;
    scene.models.embedding = Some(model.clone());
    scene.model.enqueue("{}");
    reflects(&scene).await.unwrap();
    assert_eq!(scene.double.tables().embeddings.len(), 39);
    assert!(model.asked.lock().unwrap().len() < 15, "by halves");
    // After a service has refused several calls, no more are made.
    for n in 0..40 {
        scene.keep(
            MemoryKind::Facts,
            someone(MARIA),
            scene.room.id,
            &format!("unspeakable {n}"),
            Timestamp(100 + n),
        );
    }
    let before = model.asked.lock().unwrap().len();
    say(&mut scene, 8);
    scene.model.enqueue("{}");
    assert!(reflects(&scene).await.is_err());
    assert_eq!(model.asked.lock().unwrap().len() - before, 11);
}

/// Runs the EMBEDDING evaluator of the scene, if it has something to do.
async fn embeds(scene: &Scene) -> galatea_core::Result<bool> {
    let turn = scene.turn();
    let finished = galatea_core::FinishedTurn {
        turn: &turn,
        replies: &[],
        verdict: &galatea_core::Verdict::default(),
    };
    let queue = scene.plugin.evaluators.iter().find(|e| e.name() == "EMBEDDING").unwrap();
    let wanted = queue.validate(&finished).await?;
    if wanted {
        queue.evaluate(&finished).await?;
    }
    Ok(wanted)
}

#[tokio::test]
async fn messages_are_embedded_in_batches_after_facts_and_an_outage_is_waited_out() {
    let model = Tea::of("small", 3);
    let mut scene = after(8);
    assert!(!embeds(&scene).await.unwrap(), "off without a model");
    for n in 0..150 {
        let kind = if n == 0 { MemoryKind::Facts } else { MemoryKind::Messages };
        let text = if n == 9 { "unspeakable".to_owned() } else { format!("remark {n}") };
        scene.keep(kind, someone(MARIA), scene.room.id, &text, Timestamp(n));
    }
    scene.models.embedding = Some(model.clone());
    model.fails.store(true, Relaxed);
    let failure = embeds(&scene).await.unwrap_err();
    assert!(failure.report().contains("retry_in_seconds"), "{}", failure.report());
    model.fails.store(false, Relaxed);
    assert!(!embeds(&scene).await.unwrap(), "not before the pause has passed");
    assert_eq!(model.asked.lock().unwrap().len(), 1);
    scene.clock.advance(std::time::Duration::from_secs(31));
    assert!(embeds(&scene).await.unwrap());
    let asked = model.asked.lock().unwrap().clone();
    assert_eq!(asked[1], ["remark 0"], "facts first");
    assert!(asked.iter().all(|texts| texts.len() <= 64) && asked[2].len() == 64, "in batches");
    let embedded = scene.double.tables().embeddings.len();
    assert_eq!(embedded, 149, "one text that is refused keeps no other back");
    assert_eq!(scene.double.tables().given_up.len(), 1);
    embeds(&scene).await.unwrap();
    assert_eq!(model.asked.lock().unwrap().len(), asked.len(), "nothing is embedded twice");
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

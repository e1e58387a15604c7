//! The service that embeds memories: what it embeds when, and what it does if it cannot.

mod cost;
mod moments;

use galatea_core::{
    Event, MemoryKind, Source, Timestamp, TurnId, TurnUsage,
    store::{Amount, Day, UsageRow},
};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    double::Ending,
    meaning::Tea,
    reflection::{after, facts, reflects, say},
    scene::{MARIA, Scene, someone},
};

/// The pause of a quiet agent, and the first pause after a failure.
const QUIET: Duration = Duration::from_secs(5);
const FAILED: Duration = Duration::from_secs(30);

/// The service at work. It moves only when the clock of its scene does, or by events.
struct Running {
    stop: CancellationToken,
    task: JoinHandle<galatea_core::Result<()>>,
}

impl Running {
    /// Started, and waiting until the agent is quiet.
    async fn start(scene: &Scene) -> Self {
        let service = scene.plugin.services.iter().find(|s| s.name() == "memory").unwrap();
        let stop = CancellationToken::new();
        let run = Arc::clone(service).run(scene.service_context(), stop.clone());
        let running = Self { stop, task: tokio::spawn(run) };
        scene.clock.wait_for_sleepers(1).await;
        running
    }

    /// Time passes; returns when the service waits again.
    async fn after(&self, scene: &Scene, time: Duration) {
        scene.clock.advance(time);
        scene.clock.wait_for_sleepers(1).await;
    }

    async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }
}

/// Runs the service until it has looked once.
pub(crate) async fn embeds(scene: &Scene) {
    let running = Running::start(scene).await;
    running.after(scene, QUIET).await;
    running.stop().await;
}

/// An evaluator of a turn has ended.
fn learnt(scene: &Scene) {
    scene.events.publish(Event::EvaluatorCompleted {
        agent: scene.agent.identity.id(),
        turn: TurnId::fresh(),
        evaluator: "REFLECTION".into(),
        success: true,
    });
}

/// Waits for what the service does without the clock.
async fn until(is_done: impl Fn() -> bool) {
    let wait = async {
        while !is_done() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("it is done");
}

#[tokio::test]
async fn without_a_model_nothing_is_done() {
    let scene = after(8);
    let service = scene.plugin.services.iter().find(|s| s.name() == "memory").unwrap();
    let stop = CancellationToken::new();
    let task = tokio::spawn(Arc::clone(service).run(scene.service_context(), stop.clone()));
    stop.cancel();
    task.await.unwrap().unwrap();
    assert_eq!((scene.clock.sleepers(), scene.double.tables().asked), (0, 0));
}

#[tokio::test]
async fn what_is_learnt_is_embedded_at_once_and_an_outage_is_made_up_for() {
    let lesson = |text: &str, n: usize| {
        format!(r#"{{"facts":[{{"about":"Bob","fact":"{text}","evidence":{n}}}]}}"#)
    };
    let model = Tea::of("small", 3);
    let mut scene = after(8);
    scene.models.embedding = Some(model.clone());
    let running = Running::start(&scene).await;
    model.fails.store(true, Relaxed);
    scene.model.enqueue(lesson("Bob likes tea", 8));
    reflects(&scene).await.unwrap();
    learnt(&scene);
    until(|| !model.asked.lock().unwrap().is_empty()).await;
    assert_eq!((facts(&scene).len(), scene.double.tables().embeddings.len()), (1, 0));
    model.fails.store(false, Relaxed);
    say(&mut scene, 8);
    scene.message.content.text = "I know nothing".into();
    scene.model.enqueue(lesson("Bob knows nothing", 16));
    reflects(&scene).await.unwrap();
    running.after(&scene, FAILED).await;
    assert_eq!(
        scene.double.tables().embeddings.len(),
        1,
        "the first one now has one; a vector of zeros is not an embedding"
    );
    scene.keep(MemoryKind::Facts, someone(MARIA), scene.room.id, "a new fact", Timestamp(1));
    let asked = model.asked.lock().unwrap().len();
    learnt(&scene);
    until(|| scene.double.tables().embeddings.len() == 2).await;
    assert_eq!(model.asked.lock().unwrap().len(), asked + 1, "none is asked for again");
    running.stop().await;
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
    embeds(&scene).await;
    assert_eq!(scene.double.tables().embeddings.len(), 40);
    assert_eq!(scene.double.tables().given_up.len(), 110);
}

#[tokio::test]
async fn a_model_that_answers_with_zeros_is_waited_out() {
    let model = Tea::of("small", 3);
    let mut scene = after(8);
    scene.models.embedding = Some(model.clone());
    for n in 0..100 {
        let text = format!("remark {n}");
        scene.keep(MemoryKind::Messages, someone(MARIA), scene.room.id, &text, Timestamp(n));
    }
    model.is_broken.store(true, Relaxed);
    let running = Running::start(&scene).await;
    running.after(&scene, QUIET).await;
    assert_eq!(scene.double.tables().given_up.len(), 0, "no text is to blame");
    model.is_broken.store(false, Relaxed);
    running.after(&scene, FAILED).await;
    assert_eq!(scene.double.tables().embeddings.len(), 100);
    running.stop().await;
}

#[tokio::test]
async fn another_model_or_width_replaces_what_cannot_be_compared() {
    let mut scene = after(8);
    for (n, (model, width)) in [("small", 3), ("large", 3), ("large", 4)].into_iter().enumerate() {
        scene.models.embedding = Some(Tea::of(model, width));
        let time = Timestamp(i64::try_from(n).unwrap());
        // The width of a model's vectors is known after the first request.
        scene.keep(MemoryKind::Facts, someone(MARIA), scene.room.id, &format!("fact {n}"), time);
        embeds(&scene).await;
        let tables = scene.double.tables();
        assert_eq!(tables.embeddings.len(), n + 1);
        let name = format!("test {model}");
        let mut all = tables.embeddings.values();
        assert!(all.all(|(of, embedding)| *of == name && embedding.width() == width));
    }
}

#[tokio::test]
async fn one_text_that_is_refused_keeps_no_other_back() {
    let model = Tea::of("small", 3);
    let mut scene = after(8);
    for n in 0..40 {
        let text = if n == 17 { "unspeakable".to_owned() } else { format!("fact {n}") };
        scene.keep(MemoryKind::Facts, someone(MARIA), scene.room.id, &text, Timestamp(n));
    }
    scene.models.embedding = Some(model.clone());
    embeds(&scene).await;
    assert_eq!(scene.double.tables().embeddings.len(), 39);
    assert!(model.asked.lock().unwrap().len() < 15, "by halves");
    // After a service has refused several calls, no more are made.
    for n in 0..40 {
        let text = format!("unspeakable {n}");
        scene.keep(MemoryKind::Facts, someone(MARIA), scene.room.id, &text, Timestamp(100 + n));
    }
    let before = model.asked.lock().unwrap().len();
    embeds(&scene).await;
    assert_eq!(model.asked.lock().unwrap().len() - before, 11);
}

/// A model names a text that is too long otherwise than one that it refuses. As many of them as stand
/// in a batch, they are left out.
#[tokio::test]
async fn several_texts_that_are_too_long_keep_no_other_back() {
    let model = Tea::of("small", 3);
    let mut scene = after(8);
    for n in 0..40 {
        let text = if n % 3 == 0 { format!("endless {n}") } else { format!("fact {n}") };
        scene.keep(MemoryKind::Facts, someone(MARIA), scene.room.id, &text, Timestamp(n));
    }
    scene.models.embedding = Some(model.clone());
    embeds(&scene).await;
    assert_eq!(scene.double.tables().embeddings.len(), 26);
    assert_eq!(scene.double.tables().given_up.len(), 14);
}

#[tokio::test]
async fn messages_are_embedded_in_batches_after_facts_and_an_outage_is_waited_out() {
    let model = Tea::of("small", 3);
    let mut scene = after(8);
    for n in 0..150 {
        let kind = if n == 0 { MemoryKind::Facts } else { MemoryKind::Messages };
        let text = if n == 9 { "unspeakable".to_owned() } else { format!("remark {n}") };
        scene.keep(kind, someone(MARIA), scene.room.id, &text, Timestamp(n));
    }
    scene.models.embedding = Some(model.clone());
    model.fails.store(true, Relaxed);
    let running = Running::start(&scene).await;
    running.after(&scene, QUIET).await;
    model.fails.store(false, Relaxed);
    running.after(&scene, FAILED - Duration::from_secs(1)).await;
    assert_eq!(model.asked.lock().unwrap().len(), 1, "not before the pause has passed");
    running.after(&scene, Duration::from_secs(1)).await;
    let asked = model.asked.lock().unwrap().clone();
    assert_eq!(asked[1], ["remark 0"], "facts first");
    assert!(asked.iter().all(|texts| texts.len() <= 64) && asked[2].len() == 64, "in batches");
    let embedded = scene.double.tables().embeddings.len();
    assert_eq!(embedded, 149, "one text that is refused keeps no other back");
    assert_eq!(scene.double.tables().given_up.len(), 1);
    // What another process stores is found at the next look, without an event.
    scene.keep(MemoryKind::Messages, someone(MARIA), scene.room.id, "imported", Timestamp(200));
    running.after(&scene, Duration::from_secs(15)).await;
    assert_eq!(model.asked.lock().unwrap()[asked.len()..], [["imported"]], "nothing else");
    running.stop().await;
}

#[tokio::test]
async fn more_than_a_pass_takes_is_embedded_in_the_next() {
    let model = Tea::of("small", 3);
    let mut scene = after(8);
    scene.models.embedding = Some(model.clone());
    for n in 0..1_100 {
        let text = format!("remark {n}");
        scene.keep(MemoryKind::Messages, someone(MARIA), scene.room.id, &text, Timestamp(n));
    }
    embeds(&scene).await;
    assert_eq!(scene.double.tables().embeddings.len(), 1_100);
}

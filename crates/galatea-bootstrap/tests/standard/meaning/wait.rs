//! How long a turn waits for the embedding model.

use std::{sync::atomic::AtomicUsize, time::Duration};

use super::*;

/// A model whose first calls take a while, and whose later ones never end.
struct Busy {
    info: ModelInfo,
    calls: AtomicUsize,
}

/// Calls that the program makes at once.
const AT_ONCE: usize = 4;
/// A turn of `LONG` seconds waits for a twentieth of them.
const LONG: u64 = 8;
const PATIENCE: Duration = Duration::from_millis(LONG * 1_000 / 20);

#[async_trait]
impl EmbeddingModel for Busy {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        if self.calls.fetch_add(1, Relaxed) >= AT_ONCE {
            std::future::pending::<()>().await;
        }
        // A turn that begins after the first ones gave up gets its place near the end of its wait.
        tokio::time::sleep(SHORT + PATIENCE * 9 / 10).await;
        Ok(vec![vec![1.0, 0.1, 0.1]; texts.len()])
    }
}

/// The patience of a turn of one second.
const SHORT: Duration = Duration::from_millis(50);

/// The wait for a place and the wait for the answer are one wait, of which the first part counts.
#[tokio::test]
async fn the_wait_for_a_place_is_part_of_the_wait_for_the_model() {
    let tea = Tea::of("small", 3);
    let mut scene = much_is_known(&tea).await;
    let busy = Arc::new(Busy { info: tea.info.clone(), calls: AtomicUsize::new(0) });
    scene.models.embedding = Some(busy.clone());
    let settings =
        |seconds: u64| galatea_core::Settings::from_pairs([("TURN_TIMEOUT_SECONDS", seconds)]);
    scene.agent.settings = settings(1);
    // Their calls go on when the turns no longer wait, and hold all places.
    let others = [(), (), (), ()].map(|()| scene.shows("FACTS"));
    for shown in futures_of(others).await {
        assert!(shown.notes[0].contains("the embedding model took too long"), "{shown:?}");
    }
    assert_eq!(busy.calls.load(Relaxed), AT_ONCE);

    scene.agent.settings = settings(LONG);
    // Timers end in order, and the first branch is looked at first: a process that stands still for
    // a while cannot make this fail.
    let shown = tokio::select! {
        biased;
        shown = scene.shows("FACTS") => shown,
        () = tokio::time::sleep(PATIENCE * 3 / 2) => panic!("it waited for longer than its patience"),
    };
    assert!(shown.text.contains("fact 39"), "{shown:?}");
    assert!(shown.notes[0].contains("shown by words and age, not by meaning"), "{shown:?}");
}

/// Their outputs; all run at once.
async fn futures_of<T>(futures: [impl Future<Output = T>; AT_ONCE]) -> Vec<T> {
    let [a, b, c, d] = futures;
    let (a, b, c, d) = tokio::join!(a, b, c, d);
    vec![a, b, c, d]
}

/// A service that hangs delays one answer. The next ones are made by words, and ask nothing.
#[tokio::test]
async fn a_model_that_hangs_delays_one_answer() {
    let model = Tea::of("small", 3);
    let mut scene = much_is_known(&model).await;
    scene.agent.settings = galatea_core::Settings::from_pairs([("TURN_TIMEOUT_SECONDS", 2)]);
    model.hangs.store(true, Relaxed);
    let before = model.asked.lock().unwrap().len();
    let mut notes = Vec::new();
    for _ in 0..8 {
        let shown = scene.shows("FACTS").await;
        assert!(shown.text.contains("fact 39"), "{shown:?}");
        notes.extend(shown.notes);
    }
    assert_eq!(model.asked.lock().unwrap().len() - before, 1, "one waits for it");
    assert!(!notes[0].contains("a while ago") && notes[0].contains("took too long"), "{notes:?}");
    assert!(notes[1..].iter().all(|note| note.contains("a while ago")), "{notes:?}");
}

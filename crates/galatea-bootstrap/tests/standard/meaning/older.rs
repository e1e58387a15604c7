//! After a change of the embedding model the model before answers for what is not embedded again
//! yet.

use std::time::Duration;

use super::*;

const FRESH: Duration = Duration::from_secs(31);
const PAUSE: Duration = Duration::from_secs(601);

/// Facts that the model before embedded; the present one has embedded none. No word of the question
/// is a word of the fact.
async fn changed(width: usize) -> (Scene, Arc<Tea>, Arc<Tea>) {
    let before = Tea::of("small", 3);
    let mut scene = much_is_known(&before).await;
    let present = Tea::after("large", width, &before);
    scene.models.embedding = Some(present.clone());
    before.asked.lock().unwrap().clear();
    ask(&mut scene);
    (scene, before, present)
}

fn ask(scene: &mut Scene) {
    scene.message = scene.message_by(MARIA, "where are the teapots?");
}

fn calls(of: &Tea) -> usize {
    of.asked.lock().unwrap().len()
}

const FOUND: &str = "About Maria it is known: “Maria grows tea” (";

#[tokio::test]
async fn the_model_before_finds_what_the_present_one_has_not_embedded() {
    let (mut scene, before, present) = changed(4).await;
    let shown = scene.shows("FACTS").await;
    assert!(shown.text.contains(FOUND), "{shown:?}");
    assert!(shown.notes.is_empty(), "{shown:?}");
    assert_eq!((calls(&before), calls(&present)), (1, 1));
    let models = |scene: &Scene| {
        let tables = scene.double.tables();
        let query = tables.queries.iter().rfind(|query| !query.meanings.is_empty()).unwrap();
        query.meanings.iter().map(|meaning| meaning.model.clone()).collect::<Vec<_>>()
    };
    assert_eq!(models(&scene), ["test large", "test small"]);
    // The list of models costs no statement of each turn.
    ask(&mut scene);
    scene.shows("FACTS").await;
    assert_eq!((calls(&before), scene.double.tables().older_asked), (2, 1));

    embeds(&scene).await;
    scene.clock.advance(FRESH);
    ask(&mut scene);
    let asked = calls(&present);
    let shown = scene.shows("FACTS").await;
    assert!(shown.text.contains(FOUND), "{shown:?}");
    assert_eq!((calls(&before), calls(&present)), (2, asked + 1), "nothing of the old is left");
    assert_eq!(models(&scene), ["test large"]);
}

#[tokio::test]
async fn a_model_of_another_service_is_not_asked_and_the_note_says_so() {
    let before = Tea::of("small", 3);
    let mut scene = much_is_known(&before).await;
    scene.models.embedding = Some(Tea::of("large", 4));
    let shown = scene.shows("FACTS").await;
    assert!(shown.text.contains("“Maria grows tea” ("), "by words: {shown:?}");
    assert!(
        shown.notes[0].contains("embeddings of test small are found by words only"),
        "{shown:?}"
    );
}

#[tokio::test]
async fn a_model_before_that_fails_is_left_alone_for_a_while() {
    let (mut scene, before, present) = changed(4).await;
    before.fails.store(true, Relaxed);
    let shown = scene.shows("FACTS").await;
    assert!(!shown.text.contains("tea"), "{shown:?}");
    assert!(shown.notes[0].contains("found by words only until they are embedded again: down"));
    assert_eq!((calls(&before), calls(&present)), (1, 1));
    before.fails.store(false, Relaxed);
    ask(&mut scene);
    let shown = scene.shows("FACTS").await;
    assert!(shown.notes[0].contains(": down"), "{shown:?}");
    assert_eq!((calls(&before), calls(&present)), (1, 2));
    scene.clock.advance(PAUSE);
    ask(&mut scene);
    assert!(scene.shows("FACTS").await.text.contains(FOUND));
    assert_eq!(calls(&before), 2);
}

/// Both are waited for together, no longer than for one.
#[tokio::test]
async fn a_model_before_that_hangs_takes_no_more_than_the_patience_of_the_turn() {
    let (mut scene, before, _) = changed(4).await;
    scene.agent.settings = galatea_core::Settings::from_pairs([("TURN_TIMEOUT_SECONDS", 8)]);
    before.hangs.store(true, Relaxed);
    let shown = tokio::select! {
        biased;
        shown = scene.shows("FACTS") => shown,
        () = tokio::time::sleep(Duration::from_secs(5)) => panic!("it waited for longer"),
    };
    assert!(shown.notes[0].contains("it took too long"), "{shown:?}");
    let tables = scene.double.tables();
    let query = tables.queries.iter().rfind(|query| !query.meanings.is_empty()).unwrap();
    assert_eq!(query.meanings.len(), 1, "the present model answered");
}

#[tokio::test]
async fn a_present_model_that_fails_leaves_the_answer_to_the_model_before() {
    let (scene, _, present) = changed(4).await;
    present.fails.store(true, Relaxed);
    let shown = scene.shows("FACTS").await;
    assert!(shown.text.contains(FOUND), "{shown:?}");
    assert!(shown.notes[0].contains("only what an older embedding model embedded"), "{shown:?}");
}

/// A server that ignores the name of the model answers with the present one. Its vectors are not
/// compared with those of the model before.
#[tokio::test]
async fn a_service_that_answers_with_the_present_model_is_not_believed() {
    let (scene, before, _) = changed(3).await;
    let shown = scene.shows("FACTS").await;
    assert!(!shown.text.contains("tea"), "{shown:?}");
    assert!(shown.notes[0].contains("answers with the present model in its place"), "{shown:?}");
    assert_eq!(calls(&before), 1);
}

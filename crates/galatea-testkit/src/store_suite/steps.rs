//! The journal of steps of turns that are not committed yet.

use galatea_core::{
    MemoryId, Store, Timestamp,
    store::{InboxState, JournalStep},
};
use serde_json::json;
use std::sync::Arc;

use super::fixtures::Scene;

fn step(message: MemoryId, n: u32) -> JournalStep {
    JournalStep {
        message,
        n,
        action: "PAY".to_owned(),
        input: format!("hash {n}"),
        output: None,
        begun_at: Timestamp(7),
    }
}

/// A step is stored when it begins and gets its result later. Steps are listed in order, for one
/// turn only.
pub async fn a_step_is_begun_and_gets_its_result(store: Arc<dyn Store>) {
    let (message, other) = (MemoryId::fresh(), MemoryId::fresh());
    assert_eq!(store.steps(message).await.unwrap(), []);
    store.save_step(&step(message, 1)).await.unwrap();
    store.save_step(&step(message, 0)).await.unwrap();
    store.save_step(&step(other, 0)).await.unwrap();
    assert_eq!(store.steps(message).await.unwrap(), [step(message, 0), step(message, 1)]);
    let done = JournalStep {
        output: Some(json!({ "text": "paid \"5\" ü\u{0000}", "list": [null, 1] })),
        ..step(message, 1)
    };
    store.save_step(&done).await.unwrap();
    let stored = store.steps(message).await.unwrap();
    assert_eq!(
        (&stored[0], stored[1].output.as_ref().unwrap()["list"].clone()),
        (&step(message, 0), json!([null, 1]))
    );
    assert_eq!(store.steps(other).await.unwrap(), [step(other, 0)]);
}

/// The commit that finishes the message removes its steps; a failed commit keeps them.
pub async fn steps_go_with_their_message(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let messages: Vec<_> = (0..2).map(|n| scene.message("pay", n)).collect();
    store.ingest(Scene::batch(&messages)).await.unwrap();
    let ids: Vec<MemoryId> = messages.iter().map(|m| m.memory.id).collect();
    for id in &ids {
        store.save_step(&step(*id, 0)).await.unwrap();
    }
    store.finish_turn(scene.turn(&[&messages[0]])).await.unwrap();
    assert_eq!(
        (store.steps(ids[0]).await.unwrap().len(), store.steps(ids[1]).await.unwrap().len()),
        (0, 1)
    );
    store.finish_turn(scene.turn(&[&messages[0], &messages[1]])).await.unwrap_err();
    assert_eq!(store.steps(ids[1]).await.unwrap().len(), 1);
    assert_eq!(store.inbox_item(ids[1]).await.unwrap().unwrap().state, InboxState::New);
}

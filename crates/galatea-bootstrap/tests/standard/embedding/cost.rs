//! What embeddings cost is counted once.

use super::*;

/// What a call of the embedding model cost in this scene.
fn cost(scene: &Scene) -> UsageRow {
    UsageRow {
        agent: scene.agent.identity.id(),
        day: Day(20_000),
        source: Source::new("test"),
        world: scene.room.world_id,
        room: scene.room.id,
        person: someone(MARIA),
        model: "test small".into(),
        amount: Amount { calls: 1, input: 90, ..Amount::default() },
    }
}

#[tokio::test]
async fn embeddings_are_stored_with_their_cost_which_stays_if_they_cannot_be() {
    let mut scene = after(8);
    scene.models.embedding = Some(Tea::of("small", 3));
    scene.keep(MemoryKind::Messages, someone(MARIA), scene.room.id, "remark", Timestamp(1));
    let cost = cost(&scene);
    scene.usage.put_back(vec![cost.clone()]);
    scene.double.tables().stores_embeddings = Ending::Refused;
    let running = Running::start(&scene).await;
    running.after(&scene, QUIET).await;
    assert_eq!(*scene.usage.0.lock().unwrap(), std::slice::from_ref(&cost), "not lost");

    scene.double.tables().stores_embeddings = Ending::Stored;
    running.after(&scene, FAILED).await;
    let tables = scene.double.tables();
    assert_eq!(tables.usage, [cost], "stored with the embeddings, once");
    assert!(!tables.embeddings.is_empty() && scene.usage.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_may_be_stored_already_is_not_counted_twice() {
    let mut scene = after(8);
    scene.models.embedding = Some(Tea::of("small", 3));
    scene.keep(MemoryKind::Messages, someone(MARIA), scene.room.id, "remark", Timestamp(1));
    let cost = cost(&scene);
    scene.usage.put_back(vec![cost.clone()]);
    scene.double.tables().stores_embeddings = Ending::Unknown;
    embeds(&scene).await;
    assert_eq!(scene.double.tables().usage, [cost]);
    assert!(scene.usage.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_failed_calls_cost_is_stored_without_embeddings() {
    let model = Tea::of("small", 3);
    let mut scene = after(8);
    scene.models.embedding = Some(model.clone());
    scene.keep(MemoryKind::Messages, someone(MARIA), scene.room.id, "remark", Timestamp(1));
    let cost = cost(&scene);
    scene.usage.put_back(vec![cost.clone()]);
    model.fails.store(true, Relaxed);
    embeds(&scene).await;
    let tables = scene.double.tables();
    assert_eq!((&tables.usage[..], tables.embeddings.len()), (&[cost][..], 0));
}

#[tokio::test]
async fn a_service_that_is_stopped_loses_no_cost() {
    let mut scene = after(8);
    scene.models.embedding = Some(Tea::of("small", 3));
    scene.keep(MemoryKind::Messages, someone(MARIA), scene.room.id, "remark", Timestamp(1));
    let cost = cost(&scene);
    scene.usage.put_back(vec![cost.clone()]);
    let held = Arc::new(tokio::sync::Semaphore::new(0));
    scene.double.tables().held = Some(Arc::clone(&held));
    let running = Running::start(&scene).await;
    scene.clock.advance(QUIET);
    // The rows are taken when the change begins.
    until(|| scene.usage.0.lock().unwrap().is_empty()).await;
    running.stop().await;
    held.add_permits(1);
    until(|| !scene.double.tables().embeddings.is_empty()).await;
    assert_eq!(scene.double.tables().usage, [cost]);
    assert!(scene.usage.0.lock().unwrap().is_empty(), "the engine does not store it again");
}

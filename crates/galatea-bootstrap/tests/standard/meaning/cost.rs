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
    embeds(&scene).await.unwrap_err();
    assert_eq!(*scene.usage.0.lock().unwrap(), std::slice::from_ref(&cost), "not lost");

    scene.double.tables().stores_embeddings = Ending::Stored;
    scene.clock.advance(std::time::Duration::from_secs(3_600));
    assert!(embeds(&scene).await.unwrap());
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
    embeds(&scene).await.unwrap_err();
    assert_eq!(scene.double.tables().usage, [cost]);
    assert!(scene.usage.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_cancelled_evaluator_loses_no_cost() {
    let mut scene = after(8);
    scene.models.embedding = Some(Tea::of("small", 3));
    scene.keep(MemoryKind::Messages, someone(MARIA), scene.room.id, "remark", Timestamp(1));
    let cost = cost(&scene);
    scene.usage.put_back(vec![cost.clone()]);
    let held = Arc::new(tokio::sync::Semaphore::new(0));
    scene.double.tables().held = Some(Arc::clone(&held));
    {
        // The rows are taken when the change begins.
        let begun = async {
            while !scene.usage.0.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            _ = embeds(&scene) => panic!("the change is held"),
            () = begun => {}
        }
    }
    held.add_permits(1);
    while scene.double.tables().embeddings.is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(scene.double.tables().usage, [cost]);
    assert!(scene.usage.0.lock().unwrap().is_empty(), "the engine does not store it again");
}

//! The ledger of model usage, and the block list.

use galatea_core::{
    AgentId, Embedding, EntityId, RemoteId, RoomId, Source, Store, Timestamp, WorldId,
    store::{Amount, Block, BlockKind, Day, Holder, TurnRecord, UsageRow, UsageTotal},
};
use std::sync::Arc;

use super::fixtures::{SOURCE, Scene};

fn row(scene: Scene, day: i64, model: &str, amount: Amount) -> UsageRow {
    UsageRow {
        agent: scene.agent,
        day: Day(day),
        source: SOURCE,
        world: scene.world,
        room: scene.room,
        person: scene.person,
        model: model.to_owned(),
        amount,
    }
}

const CALL: Amount = Amount {
    answers: 0,
    refused: 0,
    notices: 0,
    calls: 1,
    input: 1_000,
    cached: 600,
    output: 50,
    unpriced: 0,
    micros: 420,
};

/// A committed turn adds its usage, a refused turn adds nothing, and repeated rows are summed.
pub async fn a_turn_adds_to_the_ledger_in_its_commit(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let message = scene.message("hello", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    let answered = Amount { answers: 1, ..Amount::default() };
    let usage = vec![row(scene, 20_000, "openai a", CALL), row(scene, 20_000, "", answered)];
    let record = TurnRecord { usage: usage.clone(), ..scene.turn(&[&message]) };
    store.finish_turn(record.clone()).await.unwrap();
    assert!(
        store
            .finish_turn(TurnRecord {
                turn: galatea_core::TurnId::fresh(),
                memories: Vec::new(),
                deliveries: Vec::new(),
                ..record
            })
            .await
            .is_err()
    );
    store
        .add_usage(&[row(scene, 20_000, "openai a", CALL), row(scene, 20_001, "ollama b", CALL)])
        .await
        .unwrap();
    let mut twice = CALL;
    twice += CALL;
    let mut expected = vec![
        row(scene, 20_000, "", answered),
        row(scene, 20_000, "openai a", twice),
        row(scene, 20_001, "ollama b", CALL),
    ];
    assert_eq!(store.usage(Some(scene.agent), Day(20_000)).await.unwrap(), expected);
    assert_eq!(store.usage(None, Day(20_001)).await.unwrap(), expected.split_off(2));
    assert_eq!(store.usage(Some(AgentId::fresh()), Day(0)).await.unwrap(), []);
    let of = async |agent, person, day| store.usage_of(agent, person, Day(day)).await.unwrap();
    let all = store.usage(Some(scene.agent), Day(0)).await.unwrap();
    assert!(all.iter().all(|row| row.person == scene.person));
    assert_eq!(of(scene.agent, scene.person, 0).await, all);
    assert_eq!(of(scene.agent, scene.person, 20_001).await, all[2..]);
    assert_eq!(of(scene.agent, galatea_core::EntityId::fresh(), 0).await, []);
    assert_eq!(of(AgentId::fresh(), scene.person, 0).await, []);
    store.add_usage(&[]).await.unwrap();
}

/// Embeddings and what their call cost are stored by one change; the count is that of embeddings.
pub async fn embeddings_bring_their_cost(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let memory = scene.memory("hello", 1);
    store.save_memories(std::slice::from_ref(&memory)).await.unwrap();
    let embedding = Embedding::new(vec![1.0, 0.0]).unwrap();
    let cost = [row(scene, 20_000, "openai a", CALL)];
    for embeddings in [vec![(&memory, embedding)], Vec::new()] {
        let stored =
            store.save_embeddings_with_usage(scene.agent, "openai a", &embeddings, &cost).await;
        assert_eq!(stored.unwrap(), embeddings.len() as u64);
    }
    let mut twice = CALL;
    twice += CALL;
    let rows = store.usage(Some(scene.agent), Day(0)).await.unwrap();
    assert_eq!(rows, [row(scene, 20_000, "openai a", twice)]);
}

/// Pruning deletes the days before the given one, for one agent only.
pub async fn old_days_of_the_ledger_are_deleted(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let other = UsageRow { agent: AgentId::fresh(), ..row(scene, 20_000, "openai a", CALL) };
    let days = [20_000, 20_001, 20_002].map(|day| row(scene, day, "openai a", CALL));
    store.add_usage(&days).await.unwrap();
    store.add_usage(std::slice::from_ref(&other)).await.unwrap();
    assert_eq!(store.prune_usage(scene.agent, Day(20_001)).await.unwrap(), 1);
    assert_eq!(store.usage(Some(scene.agent), Day(0)).await.unwrap(), days[1..]);
    assert_eq!(store.usage(Some(other.agent), Day(0)).await.unwrap(), [other]);
    assert_eq!(store.prune_usage(scene.agent, Day(20_001)).await.unwrap(), 0);
}

/// Usage is summed per holder and day. A person counts as known when the agent answered them on an
/// earlier day.
pub async fn standings_tell_days_and_holders_apart(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let other = UsageRow {
        person: EntityId::fresh(),
        room: RoomId::fresh(),
        world: WorldId::fresh(),
        source: Source::new("other"),
        ..row(scene, 5, "m", CALL)
    };
    let foreign = UsageRow { agent: AgentId::fresh(), ..row(scene, 5, "m", CALL) };
    let refused = row(scene, 4, "", Amount { refused: 1, ..Amount::default() });
    store
        .add_usage(&[
            row(scene, 5, "m", CALL),
            row(scene, 5, "n", CALL),
            other.clone(),
            foreign,
            refused,
        ])
        .await
        .unwrap();
    let of = async |holder: Holder| store.standing(scene.agent, Day(5), &holder).await.unwrap();
    let calls = async |holder| of(holder).await.today.calls;
    assert_eq!(calls(Holder::Agent).await, 3);
    assert_eq!(
        (calls(Holder::Source(SOURCE)).await, calls(Holder::Source(other.source.clone())).await),
        (2, 1)
    );
    assert_eq!(
        (calls(Holder::World(scene.world)).await, calls(Holder::World(other.world)).await),
        (2, 1)
    );
    assert_eq!(
        (calls(Holder::Room(scene.room)).await, calls(Holder::Room(other.room)).await),
        (2, 1)
    );
    assert_eq!(
        (calls(Holder::Person(scene.person)).await, calls(Holder::Person(other.person)).await),
        (2, 1)
    );
    assert_eq!(calls(Holder::Person(EntityId::fresh())).await, 0);
    assert!(
        !of(Holder::Person(scene.person)).await.earlier,
        "a refused person does not count as known"
    );
    assert_eq!(calls(Holder::Strangers).await, 3);
    store
        .add_usage(&[row(scene, 3, "", Amount { answers: 1, ..Amount::default() })])
        .await
        .unwrap();
    assert!(of(Holder::Person(scene.person)).await.earlier);
    assert_eq!(calls(Holder::Strangers).await, 1, "the other one only");
    assert!(
        !store.standing(scene.agent, Day(3), &Holder::Person(scene.person)).await.unwrap().earlier
    );
    assert_eq!(
        store.standing(scene.agent, Day(6), &Holder::Agent).await.unwrap(),
        UsageTotal::default()
    );
    let mut two = CALL;
    two += CALL;
    assert_eq!(of(Holder::Person(scene.person)).await.today, two);
}

/// Concurrent additions to one row are all counted.
pub async fn many_add_to_one_row_at_once(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let adding = (0..50).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.add_usage(&[row(scene, 1, "m", CALL)]).await })
    });
    for added in futures::future::join_all(adding).await {
        added.unwrap().unwrap();
    }
    let sum = store.standing(scene.agent, Day(1), &Holder::Room(scene.room)).await.unwrap().today;
    assert_eq!((sum.calls, sum.micros, sum.cached), (50, 50 * CALL.micros, 50 * CALL.cached));
}

/// An entry is replaced by a later one, listed in order for its agent only, and removed once.
pub async fn the_block_list_is_kept(store: Arc<dyn Store>) {
    let agent = AgentId::fresh();
    let block = |kind, remote: &str, reason: &str| Block {
        agent,
        source: SOURCE,
        kind,
        remote: RemoteId::new(remote),
        reason: reason.to_owned(),
        at: Timestamp(7),
    };
    store.block(&block(BlockKind::Person, "@spammer", "")).await.unwrap();
    store.block(&block(BlockKind::World, "-100", "raid")).await.unwrap();
    store.block(&block(BlockKind::Person, "@spammer", "floods")).await.unwrap();
    store
        .block(&Block { agent: AgentId::fresh(), ..block(BlockKind::Room, "9", "") })
        .await
        .unwrap();
    assert_eq!(
        store.blocks(agent).await.unwrap(),
        [block(BlockKind::Person, "@spammer", "floods"), block(BlockKind::World, "-100", "raid")]
    );
    assert!(!store.unblock(agent, &SOURCE, BlockKind::Room, &RemoteId::new("-100")).await.unwrap());
    assert!(store.unblock(agent, &SOURCE, BlockKind::World, &RemoteId::new("-100")).await.unwrap());
    assert!(
        !store.unblock(agent, &SOURCE, BlockKind::World, &RemoteId::new("-100")).await.unwrap()
    );
    assert_eq!(store.blocks(agent).await.unwrap().len(), 1);
}

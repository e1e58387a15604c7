//! What it costs to forget a person who wrote much, and how long other writes wait meanwhile.

use galatea_core::{
    Memory,
    store::{ForgetStore, InboxStore, MemoryStore, RequestedChange, TurnRecord},
};
use galatea_testkit::{postgres::Database as Server, store_suite::fixtures::Scene};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{Database, SqliteOptions};

/// Messages of the person, each with an answer, and as many of another person;
/// `GALATEA_FORGOTTEN_MESSAGES` sets another number.
const MESSAGES: i64 = 100_000;
/// Messages that one turn answers.
const TURN: usize = 250;

fn messages() -> i64 {
    let set = std::env::var("GALATEA_FORGOTTEN_MESSAGES");
    set.map_or(MESSAGES, |number| number.parse().unwrap())
}

/// Messages of a person in a Room, each with an answer.
async fn fill(store: &Database, scene: Scene) {
    store.connect(scene.connections()).await.unwrap();
    let numbers: Vec<i64> = (0..messages()).collect();
    for some in numbers.chunks(TURN) {
        let text = |n: &i64| format!("remark number {n} of a long talk about kettles and gardens");
        let said: Vec<_> = some.iter().map(|n| scene.message(&text(n), *n)).collect();
        store.ingest(Scene::batch(&said)).await.unwrap();
        let mut record = scene.turn(&said.iter().collect::<Vec<_>>());
        record.deliveries.clear();
        let answer = |n: &i64| {
            let mut answer = Memory { entity_id: scene.itself(), ..scene.memory("I see.", *n) };
            answer.metadata.insert("turn".into(), json!(record.turn));
            answer
        };
        record.memories = some.iter().map(answer).collect();
        store.finish_turn(record).await.unwrap();
    }
}

/// Writes one message after another until the end: the longest waits, the longest first.
async fn writes(store: Database, scene: Scene, ends: Arc<AtomicBool>) -> Vec<Duration> {
    let mut waits = Vec::new();
    while !ends.load(Ordering::Relaxed) {
        let begun = Instant::now();
        store.save_memories(&[scene.memory("of another room", 1)]).await.unwrap();
        waits.push(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    waits.sort_unstable_by(|a, b| b.cmp(a));
    waits
}

/// How long some work takes, and the longest waits of other writes meanwhile.
async fn beside<T>(
    store: &Database,
    other: Scene,
    work: impl Future<Output = galatea_core::Result<T>>,
) -> (T, Duration, Vec<Duration>) {
    let ends = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn(writes(store.clone(), other, Arc::clone(&ends)));
    let begun = Instant::now();
    let done = work.await.unwrap();
    let took = begun.elapsed();
    ends.store(true, Ordering::Relaxed);
    (done, took, writing.await.unwrap())
}

async fn measure(store: Database, name: &str) {
    for ahead in [false, true] {
        let person = Scene::new();
        let other = Scene { person: Scene::new().person, room: Scene::new().room, ..person };
        fill(&store, person).await;
        fill(&store, other).await;
        let command = person.message("forget me", messages());
        store.ingest(Scene::batch(std::slice::from_ref(&command))).await.unwrap();
        if ahead {
            let work = store.forget_ahead(person.agent, person.person);
            let (gone, took, waits) = beside(&store, other, work).await;
            println!(
                "{name}: {gone} memories went in {took:.1?}; other writes waited {:.1?} at most, the median {:.1?}",
                &waits[..waits.len().min(5)],
                waits[waits.len() / 2],
            );
            assert_eq!(gone, 2 * u64::try_from(messages()).unwrap());
        }
        let effects = vec![RequestedChange::ForgetPerson { entity: person.person }];
        let record = TurnRecord { effects, ..person.turn(&[&command]) };
        let (_, took, waits) = beside(&store, other, store.finish_turn(record)).await;
        println!(
            "{name}, the turn's commit {}: {took:.1?}; other writes waited {:.1?} at most",
            if ahead { "after that" } else { "alone" },
            &waits[..waits.len().min(3)],
        );
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes; prints a measurement"]
async fn a_hundred_thousand_messages_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    measure(Database::sqlite(&path, SqliteOptions::default()).await.unwrap(), "SQLite").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes; prints a measurement"]
async fn a_hundred_thousand_messages_in_postgresql() {
    let server = Server::fresh().await;
    measure(super::postgres::open(&server).await, "PostgreSQL").await;
}

//! Search by words in Rooms of different size, which take different statements.

use galatea_core::{
    Content, Memory, MemoryKind, Timestamp,
    store::{MemoryStore, RecallQuery, RecallStore, Recalled},
};
use galatea_testkit::{postgres::Database, store_suite::fixtures::Scene};

use super::Store;
use crate::PostgresOptions;

/// Six words out of forty, of which the first are in many messages, and sometimes a usual or a rare
/// one.
fn text(n: usize) -> String {
    let words =
        (0..6).map(|k| format!("w{}", (n * 31 + k * k * 7 + n / (k + 3)) % (4 << k).min(40)));
    let mut words: Vec<String> = words.collect();
    if n.is_multiple_of(2) {
        words.push("usual".to_owned());
    }
    if n.is_multiple_of(97) {
        words.push(format!("rare{}", n % 3));
    }
    words.join(" ")
}

fn messages(scene: &Scene, range: std::ops::Range<usize>) -> Vec<Memory> {
    let message = |n: usize| Memory {
        content: Content::text(text(n)),
        created_at: Timestamp(i64::try_from(n).unwrap()),
        ..scene.memory("", 0)
    };
    range.map(message).collect()
}

/// Newest messages of a Room that are looked at one by one.
const LOOKED_AT: usize = 500;

/// Messages from then on are left out.
const BEFORE: i64 = 1_700;

/// What is found, with its coverage in parts of a thousand, in the order of these.
async fn found(store: &Store, scene: &Scene, question: &str) -> Vec<(i32, String)> {
    let mut query = RecallQuery::new(scene.visible(), question, 200, Timestamp(9_999))
        .kind(MemoryKind::Messages);
    query.before = Some(Timestamp(BEFORE));
    query.fusion.neighbours = 0.0;
    let hits = store.recall(&query).await.unwrap();
    #[allow(clippy::cast_possible_truncation, reason = "a thousand at most")]
    let hit = |hit: Recalled| ((hit.coverage * 1e3).round() as i32, hit.memory.content.text);
    let mut hits: Vec<(i32, String)> = hits.into_iter().map(hit).collect();
    hits.sort();
    hits
}

async fn postgres(database: &Database) -> Store {
    Store::postgres(&database.url().into(), PostgresOptions::default()).await.unwrap()
}

#[tokio::test]
async fn rooms_of_any_size_are_searched_as_in_sqlite() {
    let database = Database::fresh().await;
    let (postgres, sqlite) = (postgres(&database).await, Store::in_memory().await.unwrap());
    for size in [20, 200, 600, 1_900] {
        let scene = Scene::new();
        for some in messages(&scene, 0..size).chunks(500) {
            postgres.save_memories(some).await.unwrap();
            sqlite.save_memories(some).await.unwrap();
        }
        for question in ["w3 w17 w30", "usual rare1", "w35 never heard", "rare0 rare1 rare2 w2"] {
            let [here, there] = [&postgres, &sqlite].map(|store| found(store, &scene, question));
            let [here, there] = [here.await, there.await];
            // Of many equals the shorter are found, which the databases measure in their own ways; and
            // SQLite counts a word in later messages, too.
            let rare = |of: Vec<(i32, String)>| {
                let hits = of.into_iter().filter(|hit| hit.0 > 400 && hit.1.contains("rare"));
                let mut texts: Vec<String> = hits.map(|hit| hit.1).collect();
                texts.sort();
                texts
            };
            assert!(size > LOOKED_AT || here.len() == there.len(), "{size}: {question}");
            let here = rare(here);
            let is_found = size < 200 || question != "usual rare1" || !here.is_empty();
            assert!(is_found, "{size}: {question}");
            assert_eq!(here, rare(there), "{size}: {question}");
        }
        let usual = found(&postgres, &scene, "usual").await.len();
        assert_eq!(usual == 0, (100..LOOKED_AT).contains(&size), "half of {size} messages have it");
    }
    postgres.close().await;
}

/// What is found does not depend on how many messages a Room had at an earlier search.
#[tokio::test]
async fn a_room_that_grows_is_searched_whole() {
    let database = Database::fresh().await;
    let (store, scene) = (postgres(&database).await, Scene::new());
    let all = messages(&scene, 0..1_800);
    for (from, to) in [(0, 30), (30, 255), (255, 256), (256, 1_300), (1_300, 1_800)] {
        for some in all[from..to].chunks(500) {
            store.save_memories(some).await.unwrap();
        }
        for question in ["w35", "w33 w38 rare1"] {
            let having = |memory: &&Memory| {
                memory.content.text.split(' ').any(|word| question.split(' ').any(|w| w == word))
            };
            let there = all[..to.min(1_700)].iter().filter(having).count();
            let hits = found(&store, &scene, question).await.len();
            assert_eq!(hits, there.min(200), "{to} messages, {question}");
        }
    }
    // More messages with a word of the question than are read at once: the newest are looked at, and the
    // index is asked for the rare word.
    let grown: Vec<Memory> = messages(&scene, 1_800..6_000);
    for some in grown.chunks(500) {
        let some: Vec<Memory> =
            some.iter().cloned().map(|m| Memory { created_at: Timestamp(1_000), ..m }).collect();
        store.save_memories(&some).await.unwrap();
    }
    let oldest = found(&store, &scene, "usual rare0 w2").await;
    assert!(oldest.iter().any(|(_, text)| *text == self::text(0)), "{oldest:?}");
    store.close().await;
}

/// Two processes write and search the same Room at the same time. Numbers of messages are given before
/// their commits, so they appear out of order.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_another_process_has_committed_is_found() {
    let database = Database::fresh().await;
    let stores = [postgres(&database).await, postgres(&database).await];
    let scene = Scene::new();
    let (talks, each) = (6, 40);
    let all = (0..talks).map(|talk| {
        let [here, there] = [stores[talk % 2].clone(), stores[(talk + 1) % 2].clone()];
        tokio::spawn(async move {
            for n in 0..each {
                let word = format!("word{talk}x{n}");
                let at = i64::try_from(talk * each + n).unwrap();
                here.save_memories(&[scene.memory(&word, at)]).await.unwrap();
                for store in [&there, &here] {
                    let hits = found(store, &scene, &word).await;
                    assert_eq!(hits.len(), 1, "{word}");
                }
                let earlier = format!("word{talk}x{}", n / 2);
                assert_eq!(found(&there, &scene, &earlier).await.len(), 1, "{earlier}");
            }
        })
    });
    for talk in all.collect::<Vec<_>>() {
        talk.await.unwrap();
    }
    for store in stores {
        store.close().await;
    }
}

/// A message that another process changes or removes.
#[tokio::test]
async fn a_message_that_another_process_removed_is_not_shown() {
    let database = Database::fresh().await;
    let [here, there] = [postgres(&database).await, postgres(&database).await];
    let scene = Scene::new();
    let messages = ["the kettle", "a teapot"].map(|text| scene.memory(text, 1));
    here.save_memories(&messages).await.unwrap();
    assert_eq!(found(&here, &scene, "kettle").await.len(), 1);
    let changed = Content::text("a new teapot");
    assert!(there.update_content(scene.agent, messages[1].id, &changed).await.unwrap());
    assert_eq!(found(&here, &scene, "teapot").await[0].1, "a new teapot");
    there.delete_memories(scene.agent, &[messages[0].id]).await.unwrap();
    assert_eq!(found(&here, &scene, "kettle").await, []);
    // Its own changes are seen at once.
    let changed = Content::text("a cup");
    assert!(here.update_content(scene.agent, messages[1].id, &changed).await.unwrap());
    assert_eq!(found(&here, &scene, "teapot").await, []);
    assert_eq!(found(&here, &scene, "cup").await.len(), 1);
    here.close().await;
    there.close().await;
}

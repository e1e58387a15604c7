//! Rooms in memory beside the index of words, in both databases: what a change forgets, the order
//! of hits, and an index that is incomplete.

use galatea_core::{
    EntityId, Memory, MemoryKind, Timestamp,
    fusion::Named,
    store::{InboxStore, Ingest, MemoryStore, Mutation, RecallQuery, RecallStore},
};
use galatea_testkit::{postgres::Database as Server, store_suite::fixtures::Scene};
use std::time::Duration;

use crate::{
    Backend, Database, SqliteOptions,
    talk::{Extent, FIRST, MOST, PAGE},
};

fn asking(scene: Scene, text: &str) -> RecallQuery {
    let mut query =
        RecallQuery::new(scene.visible(), text, 20, Timestamp(9_999)).kind(MemoryKind::Messages);
    query.fusion.neighbours = 0.0;
    query
}

/// What is found by its words, in the order of the hits.
async fn found(store: &Database, scene: Scene, question: &str) -> Vec<String> {
    let hits = store.recall(&asking(scene, question)).await.unwrap();
    hits.into_iter().filter(|hit| hit.words.is_some()).map(|hit| hit.memory.content.text).collect()
}

async fn texts(store: &Database, query: &RecallQuery) -> Vec<String> {
    let hits = store.recall(query).await.unwrap();
    hits.into_iter().map(|hit| hit.memory.content.text).collect()
}

/// Messages of a Room from its first one on: those named, then others up to a number.
async fn said(store: &Database, scene: Scene, first: &[&str], all: usize) -> Vec<Memory> {
    let text = |n: usize| first.get(n).map_or_else(|| format!("word{}", n % 60), |t| (*t).into());
    let said: Vec<Memory> = (0..all).zip(1..).map(|(n, at)| scene.memory(&text(n), at)).collect();
    for some in said.chunks(500) {
        store.save_memories(some).await.unwrap();
    }
    said
}

async fn postgres() -> (Server, Database) {
    let server = Server::fresh().await;
    let store = super::postgres::open(&server).await;
    (server, store)
}

#[tokio::test]
async fn a_change_forgets_what_is_known_of_its_own_rooms_only() {
    forgets_its_own_rooms(&Database::in_memory().await.unwrap()).await;
    let (_server, store) = postgres().await;
    forgets_its_own_rooms(&store).await;
    store.close().await;
}

async fn forgets_its_own_rooms(store: &Database) {
    let (scene, other) = (Scene::new(), Scene::new());
    let old = ["an old kettle", "a kettle and a teapot"];
    let [here, there] =
        [said(store, scene, &old, MOST + 100).await, said(store, other, &old, MOST + 100).await];
    while store.index_step().await.unwrap() {}
    let documents = [MemoryKind::Documents, MemoryKind::Fragments, MemoryKind::Facts];
    let pieces = documents.map(|kind| Memory { kind, ..scene.memory("a piece", 5) });
    store.save_memories(&pieces).await.unwrap();
    let asked = &crate::terms::asked("kettle")[0];
    // Whether it is known which of the messages that are not in memory have the word.
    let is_known = async |scene: Scene| {
        let query = asking(scene, "kettle");
        let handle = match &store.0.backend {
            Backend::Sqlite(sqlite) => sqlite.known.talks.of(&query),
            Backend::Postgres(postgres) => postgres.talk(&query).await.unwrap(),
        };
        handle.unwrap().talk().older(asked).is_some()
    };
    let search = async |scene: Scene| {
        assert!(!is_known(scene).await, "it is asked for again");
        let hits = found(store, scene, "kettle").await;
        assert!(is_known(scene).await, "{hits:?}");
        hits
    };
    assert_eq!((search(scene).await.len(), search(other).await.len()), (2, 2));
    for piece in &pieces {
        store.delete_memories(scene.agent, &[piece.id]).await.unwrap();
        assert!(is_known(scene).await && is_known(other).await, "{:?}", piece.kind);
    }
    store.delete_memories(other.agent, &[there[0].id]).await.unwrap();
    assert!(is_known(scene).await, "it is a message of another room");
    assert_eq!(search(other).await, [old[1]]);
    let mut content = there[1].content.clone();
    content.text = "a lamp".to_owned();
    store.update_content(other.agent, there[1].id, &content).await.unwrap();
    assert!(is_known(scene).await, "it is a message of another room");
    assert_eq!(search(other).await, [""; 0]);
    store.update_content(scene.agent, here[1].id, &content).await.unwrap();
    assert_eq!(search(scene).await, [old[0]]);
    // A message with an old time that one commit stores and edits.
    let late = scene.message("a late kettle", 2);
    let (agent, memory) = (scene.agent, late.memory.id);
    let mutations = vec![Mutation::Edit { agent, memory, content: Box::new(content) }];
    store.ingest(Ingest { mutations, ..Scene::batch(&[late]) }).await.unwrap();
    assert_eq!(found(store, scene, "kettle").await, [old[0]]);
}

/// A Room that has more messages than are kept: each search reads the terms of some older
/// messages, until all are known.
#[tokio::test]
async fn older_messages_are_looked_up_a_few_times_only() {
    let store = Database::in_memory().await.unwrap();
    let Backend::Sqlite(sqlite) = &store.0.backend else { panic!("it is SQLite") };
    let scene = Scene::new();
    let old = said(&store, scene, &["an old kettle"], MOST + 2 * PAGE + 50).await;
    while store.index_step().await.unwrap() {}
    let unknown = async |word: &str| {
        let asked = &crate::terms::asked(word)[0];
        let handle = sqlite.known.talks.of(&asking(scene, word)).unwrap();
        handle.talk().older(asked).is_none()
    };
    for n in 0..4 {
        assert!(unknown(&format!("bicycle{n}")).await, "{n}");
        assert_eq!(found(&store, scene, &format!("bicycle{n}")).await, [""; 0]);
    }
    assert!(!unknown("lamp").await && !unknown("kettle").await, "all terms have been read");
    assert_eq!(found(&store, scene, "kettle").await, ["an old kettle"]);
    // A change of an older message: its words are unknown again.
    let mut content = old[0].content.clone();
    content.text = "an old lamp".to_owned();
    store.update_content(scene.agent, old[0].id, &content).await.unwrap();
    assert!(unknown("lamp").await);
    assert_eq!(found(&store, scene, "lamp").await, ["an old lamp"]);
    assert_eq!(found(&store, scene, "kettle").await, [""; 0]);
}

/// The same for searches of a word that the index has told before.
#[tokio::test]
async fn a_room_is_known_whole_after_searches_of_the_same_word() {
    let store = Database::in_memory().await.unwrap();
    let Backend::Sqlite(sqlite) = &store.0.backend else { panic!("it is SQLite") };
    let scene = Scene::new();
    said(&store, scene, &["an old kettle"], MOST + PAGE + 50).await;
    let mut extents = Vec::new();
    for _ in 0..3 {
        assert_eq!(found(&store, scene, "kettle").await, ["an old kettle"]);
        extents.push(sqlite.known.talks.of(&asking(scene, "kettle")).unwrap().extent());
    }
    assert_eq!(extents, [Extent::Newest, Extent::Newest, Extent::Whole]);
    let before = sqlite.statements();
    assert_eq!(found(&store, scene, "kettle").await, ["an old kettle"]);
    assert_eq!(sqlite.statements() - before, 1, "the reading of what was found");
}

/// In a file the other messages are read once no search comes. A prompt that shows more messages than
/// the first search reads asks for older ones only.
#[tokio::test]
async fn a_room_becomes_known_whole_while_no_search_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    let store = Database::sqlite(path, SqliteOptions::default()).await.unwrap();
    let Backend::Sqlite(sqlite) = &store.0.backend else { unreachable!() };
    for before in [None, Some(Timestamp(400))] {
        let scene = Scene::new();
        said(&store, scene, &["an old kettle"], FIRST + 2 * PAGE).await;
        let mut query = asking(scene, "kettle");
        query.before = before;
        let search = async || store.recall(&query).await.unwrap().len();
        assert_eq!(search().await, 1);
        let extent = || sqlite.known.talks.of(&query).unwrap().extent();
        let read = async {
            while extent() != Extent::Whole {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), read).await.expect("it is not read");
        // The index is written beside some searches, which adds statements.
        let mut fewest = u64::MAX;
        for _ in 0..20 {
            let statements = sqlite.statements();
            assert_eq!(search().await, 1);
            fewest = fewest.min(sqlite.statements() - statements);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(fewest, 1, "the reading of what was found, {before:?}");
    }
    store.close().await;
}

/// A first search reads few messages. It reads more if the prompt shows most of them, and it looks up
/// older messages with a word of which it can't tell yet that it is common.
#[tokio::test]
async fn a_first_search_misses_nothing_of_what_it_has_not_read() {
    let store = Database::in_memory().await.unwrap();
    let Backend::Sqlite(sqlite) = &store.0.backend else { panic!("it is SQLite") };
    let scene = Scene::new();
    let all = 2 * MOST;
    let mut messages = said(&store, scene, &["an old trip"], all).await;
    for message in &mut messages[all - 10..] {
        message.content.text.push_str(" trip");
        store.update_content(scene.agent, message.id, &message.content).await.unwrap();
    }
    while store.index_step().await.unwrap() {}
    assert_eq!(found(&store, scene, "trip").await.len(), 11);
    let mut query = asking(scene, "word7");
    let handle = sqlite.known.talks.of(&query).unwrap();
    sqlite.known.talks.forget(&handle);
    let shown = FIRST - FIRST / 8;
    query.before = Some(Timestamp(i64::try_from(all - shown).unwrap()));
    assert!(!store.recall(&query).await.unwrap().is_empty());
    assert!(sqlite.known.talks.of(&query).unwrap().talk().len() >= MOST);
}

/// Equal words count by the length of the text. It is measured alike in memory and in the index, so
/// that a long message in memory does not rank above a short one that is not there.
#[tokio::test]
async fn hits_have_one_order_in_memory_and_in_the_index() {
    let [memory, index] =
        [Database::in_memory().await.unwrap(), Database::in_memory().await.unwrap()];
    let Backend::Sqlite(sqlite) = &index.0.backend else { panic!("it is SQLite") };
    sqlite.known.talks.fill_up();
    let (_server, postgres) = postgres().await;
    let scene = Scene::new();
    let old = ["a kettle", "this kettle whistles whenever somebody heats enough water inside"];
    let new = [
        "our kettle stands near the stove today",
        "kettle! kettle",
        "the blue kettle of my grandmother has been standing quietly beside our stove since last winter, unused",
    ];
    for store in [&memory, &index, &postgres] {
        said(store, scene, &old, MOST + 100).await;
        for (text, at) in new.iter().zip(5_000..) {
            store.save_memories(&[scene.memory(text, at)]).await.unwrap();
        }
        while store.index_step().await.unwrap() {}
    }
    let expected = found(&index, scene, "kettle").await;
    assert_eq!(expected.len(), 5);
    assert_eq!(found(&memory, scene, "kettle").await, expected);
    let by_length = |of: &[String]| {
        let place = |text: &str| of.iter().position(|hit| hit == text).unwrap();
        [old[0], new[0], old[1], new[2]].map(place)
    };
    for hits in [expected, found(&postgres, scene, "kettle").await] {
        assert!(by_length(&hits).is_sorted(), "{hits:?}");
    }
    postgres.close().await;
}

/// What others say about a named person rises like what that person says, wherever the message is found.
#[tokio::test]
async fn a_message_that_contains_a_name_rises_in_memory_and_in_the_index() {
    let [memory, index] =
        [Database::in_memory().await.unwrap(), Database::in_memory().await.unwrap()];
    let Backend::Sqlite(sqlite) = &index.0.backend else { panic!("it is SQLite") };
    sqlite.known.talks.fill_up();
    let (_server, postgres) = postgres().await;
    let scene = Scene::new();
    let kenji = Scene { person: EntityId::fresh(), ..scene };
    let about = "she told me Kenji's exam was moved to Friday";
    let others = ["my exam was fine today", "an exam once again", "which exam was that one"];
    for store in [&memory, &index, &postgres] {
        said(store, scene, &[about, others[0]], MOST + 100).await;
        let by = kenji.memory("the exam is in the hall north of the town", 4_000);
        let new = [others[1], others[2], "Kenji, good luck", "Kenjiro has an exam"];
        let mut new: Vec<Memory> =
            new.iter().zip(5_000..).map(|(text, at)| scene.memory(text, at)).collect();
        new.push(by);
        store.save_memories(&new).await.unwrap();
        while store.index_step().await.unwrap() {}
        let named =
            Named { people: vec![kenji.person], names: vec!["kenji".into()], ..Named::default() };
        let query = asking(scene, "When is kenji's exam?");
        // The name is left out of the words, and raises nothing.
        let plain = RecallQuery { names: named.names.clone(), ..query.clone() };
        let plain = texts(store, &plain).await;
        assert!(plain.iter().position(|text| text == about).unwrap() > 1, "{plain:?}");
        let hits = texts(store, &query.naming(named)).await;
        assert_eq!(hits.len(), 6, "a name alone is no match: {hits:?}");
        assert!(hits[..2].contains(&about.to_owned()), "{hits:?}");
        assert!(hits[..2].iter().any(|hit| hit.starts_with("the exam is")), "{hits:?}");
    }
    postgres.close().await;
}

/// What an index says that does not have all messages is not kept. So far behind, it is not brought up
/// to the last message by the search that asks.
#[tokio::test]
async fn nothing_is_kept_of_an_incomplete_index() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    said(&store, scene, &["the first kettle"], 8_500).await;
    let late = scene.memory("a late kettle", 1);
    store.save_memories(&[late]).await.unwrap();
    said(&store, scene, &[], 1_500).await;
    assert_eq!(found(&store, scene, "kettle").await, ["the first kettle"], "it is incomplete");
    while store.index_step().await.unwrap() {}
    let mut both = found(&store, scene, "kettle").await;
    both.sort();
    assert_eq!(both, ["a late kettle", "the first kettle"]);
}

#[tokio::test]
async fn rooms_are_dropped_after_a_long_quiet_time() {
    let folder = tempfile::tempdir().unwrap();
    // They are kept for sixty times as long, which must not pass before all are there.
    let idle = Duration::from_millis(50);
    let options = SqliteOptions { idle, ..SqliteOptions::default() };
    let store = Database::sqlite(folder.path().join("galatea.db"), options).await.unwrap();
    let Backend::Sqlite(sqlite) = &store.0.backend else { unreachable!() };
    let talks = &sqlite.known.talks;
    let scenes = [(); 3].map(|()| Scene::new());
    for scene in scenes {
        assert!(found(&store, scene, "kettle").await.is_empty());
        let long = format!("kettle {}", "x".repeat(1 << 20));
        store.save_memories(&[scene.memory(&long, 1)]).await.unwrap();
    }
    // All are kept for a while, and one afterwards.
    assert!(talks.bytes() > 3 << 20, "{}", talks.bytes());
    let dropped = async {
        while talks.bytes() > 2 << 20 {
            tokio::time::sleep(idle).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), dropped).await.expect("they are kept");
    for scene in scenes {
        assert_eq!(found(&store, scene, "kettle").await.len(), 1, "it is read again");
    }
    store.close().await;
}

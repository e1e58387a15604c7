//! Search by words: common and rare words, names, and the index for neighbours. When the index is
//! brought up is tested in [`super::index`].

use galatea_core::{
    Derived, EntityId, Memory, MemoryKind, MemoryScope, Timestamp,
    fusion::Named,
    store::{DerivedChange, DerivedStore, MemoryStore, RecallQuery},
};
use galatea_testkit::{postgres::Database as Server, store_suite::fixtures::Scene};

use super::super::{postgres, searched};
use crate::{
    Database,
    dialect::{Dialects, values},
    search,
};

fn asking(scene: Scene, text: &str) -> RecallQuery {
    RecallQuery {
        room: Some(scene.room),
        ..RecallQuery::new(scene.visible(), text, 10, Timestamp(1_000))
    }
    .kind(MemoryKind::Messages)
}

/// Stores so many messages with this text, a millisecond apart, from a time on.
pub(super) async fn save_messages(
    store: &Database,
    scene: Scene,
    text: &str,
    times: i64,
    from: i64,
) {
    let messages: Vec<_> = (0..times).map(|n| scene.memory(text, from + n)).collect();
    store.save_memories(&messages).await.unwrap();
}

/// Texts that are found by their words, in the order of the hits.
async fn found(store: &Database, query: &RecallQuery) -> Vec<String> {
    let hits = searched(store, query).await;
    hits.into_iter().filter(|hit| hit.words.is_some()).map(|hit| hit.memory.content.text).collect()
}

pub(super) async fn behind(store: &Database) -> i64 {
    let text = "SELECT coalesce((SELECT max(seq) FROM memories), 0) - seq FROM terms_progress";
    store.all::<(i64,)>(Dialects::same(text).with(values![])).await.unwrap()[0].0
}

#[tokio::test]
async fn a_word_that_half_of_a_room_has_is_left_out() {
    let store = Database::in_memory().await.unwrap();
    let (many, some, few) = (Scene::new(), Scene::new(), Scene::new());
    save_messages(&store, many, "good tea", 40, 1).await;
    save_messages(&store, many, "the kettle", 1, 100).await;
    assert_eq!(found(&store, &asking(many, "tea")).await, [""; 0]);
    assert_eq!(found(&store, &asking(many, "tea kettle")).await, ["the kettle"]);
    // It counts in a room where fewer messages have it, and in a short one.
    save_messages(&store, some, "good tea", 30, 1).await;
    save_messages(&store, some, "nothing", 40, 100).await;
    assert_eq!(found(&store, &asking(some, "tea")).await.len(), 10);
    save_messages(&store, few, "good tea", 12, 1).await;
    assert_eq!(found(&store, &asking(few, "tea")).await.len(), 10);
}

/// A message that is changed or deleted before it is indexed, and after.
#[tokio::test]
async fn a_changed_message_is_found_by_its_new_words_only() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    for is_indexed in [false, true] {
        let message = scene.memory("the kettle", 1);
        store.save_memories(std::slice::from_ref(&message)).await.unwrap();
        if is_indexed {
            assert_eq!(found(&store, &asking(scene, "kettle")).await.len(), 1);
        }
        let mut content = message.content.clone();
        content.text = "the teapot".to_owned();
        assert!(store.update_content(scene.agent, message.id, &content).await.unwrap());
        assert_eq!(found(&store, &asking(scene, "kettle")).await, [""; 0]);
        assert_eq!(found(&store, &asking(scene, "teapot")).await, ["the teapot"]);
        assert_eq!(store.delete_memories(scene.agent, &[message.id]).await.unwrap(), 1);
        assert_eq!(found(&store, &asking(scene, "teapot")).await, [""; 0]);
    }
}

/// The exact form and the stem of a word are listed apart, and the word is in more memories than
/// either list has.
#[tokio::test]
async fn a_word_is_common_by_all_of_its_forms() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    save_messages(&store, scene, "nothing at all", 600, 1).await;
    save_messages(&store, scene, "the train is late", 300, 1_000).await;
    save_messages(&store, scene, "nothing at all", 600, 2_000).await;
    // Of a text in German the stem is another one.
    save_messages(&store, scene, "die trains sind nicht da", 200, 3_000).await;
    assert_eq!(found(&store, &asking(scene, "trains")).await.len(), 10);
}

/// An old message with a rare word counts with its common words, too.
#[tokio::test]
async fn a_rare_word_brings_the_common_words_of_an_old_message() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    save_messages(&store, scene, "an old kettle", 1, 1).await;
    save_messages(&store, scene, "a kettle full of good tea", 1, 2).await;
    save_messages(&store, scene, "good tea", 900, 10).await;
    save_messages(&store, scene, "nothing at all", 1_700, 1_000).await;
    let mut query = asking(scene, "tea kettle");
    query.fusion.neighbours = 0.0;
    let hits = found(&store, &query).await;
    assert_eq!(hits[..2], ["a kettle full of good tea", "an old kettle"], "{hits:?}");
    let hits = searched(&store, &query).await;
    assert!(hits[0].coverage > 0.99 && hits[1].coverage < 0.99, "{hits:?}");
}

/// Pieces of documents have no order in time: the one that has most of a question is found, wherever
/// it was stored among thousands with its common words.
#[tokio::test]
async fn a_piece_of_a_document_is_found_wherever_it_was_stored() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    let source = scene.memory("a document", 1);
    store.save_memories(std::slice::from_ref(&source)).await.unwrap();
    let piece = |text: &str| {
        let mut piece = scene.memory(text, 1);
        piece.kind = MemoryKind::Fragments;
        Derived::new(piece, MemoryScope::Agent, vec![source.id])
    };
    let best = "the licence of the software allows every use";
    let mut texts = vec![best.to_owned(), "a licence in short".to_owned()];
    texts.extend((0..2_500).map(|n| format!("software for every use, part {n}")));
    for some in texts.chunks(250) {
        let new = some.iter().map(|text| piece(text)).collect();
        let change = DerivedChange { new, ..DerivedChange::default() };
        store.change_derived(scene.agent, &change).await.unwrap();
    }
    let asked = |text: &str| {
        RecallQuery::new(scene.visible(), text, 10, Timestamp(1_000)).kind(MemoryKind::Fragments)
    };
    let hits = found(&store, &asked("Which licence has the software, and for what use?")).await;
    assert_eq!((hits.len(), hits[0].as_str()), (2, best), "{hits:?}");
    // Without a rare word the common ones are looked for in all of them.
    let hits = searched(&store, &asked("software use")).await;
    assert!(hits.len() == 10 && hits.iter().all(|hit| hit.coverage > 0.9), "{hits:?}");
}

/// What others say about a named person rises like what that person says.
#[tokio::test]
async fn a_message_that_contains_a_name_rises() {
    let server = Server::fresh().await;
    let stores = [Database::in_memory().await.unwrap(), postgres::open(&server).await];
    let scene = Scene::new();
    let kenji = Scene { person: EntityId::fresh(), ..scene };
    let about = "she told me Kenji's exam was moved to Friday";
    let others = ["my exam was fine today", "an exam once again", "which exam was that one"];
    for store in &stores {
        let mut all: Vec<Memory> = vec![scene.memory(about, 1), scene.memory(others[0], 2)];
        all.extend((3..600).map(|n| scene.memory(&format!("word{}", n % 60), n)));
        let by = kenji.memory("the exam is in the hall north of the town", 4_000);
        let new = [others[1], others[2], "Kenji, good luck", "Kenjiro has an exam"];
        all.extend(new.iter().zip(5_000..).map(|(text, at)| scene.memory(text, at)));
        all.push(by);
        store.save_memories(&all).await.unwrap();
        let named =
            Named { people: vec![kenji.person], names: vec!["kenji".into()], ..Named::default() };
        let mut query = RecallQuery { limit: 20, ..asking(scene, "When is kenji's exam?") };
        query.fusion.neighbours = 0.0;
        // The name is left out of the words, and raises nothing.
        let plain =
            found(store, &RecallQuery { names: named.names.clone(), ..query.clone() }).await;
        assert!(plain.iter().position(|text| text == about).unwrap() > 1, "{plain:?}");
        let hits = found(store, &query.naming(named)).await;
        assert_eq!(hits.len(), 6, "a name alone is no match: {hits:?}");
        assert!(hits[..2].contains(&about.to_owned()), "{hits:?}");
        assert!(hits[..2].iter().any(|hit| hit.starts_with("the exam is")), "{hits:?}");
    }
    stores[1].close().await;
}

/// Equal words count by the length of the text.
#[tokio::test]
async fn a_short_message_ranks_above_a_long_one() {
    let server = Server::fresh().await;
    let stores = [Database::in_memory().await.unwrap(), postgres::open(&server).await];
    let texts = [
        "a kettle",
        "our kettle stands near the stove today",
        "this kettle whistles whenever somebody heats enough water inside",
        "the blue kettle of my grandmother has been standing quietly beside our stove since last winter, unused",
    ];
    for store in &stores {
        let scene = Scene::new();
        for (text, at) in texts.iter().zip([5, 4_000, 3, 5_000]) {
            store.save_memories(&[scene.memory(text, at)]).await.unwrap();
        }
        save_messages(store, scene, "nothing at all", 600, 10).await;
        let mut query = asking(scene, "kettle");
        query.fusion.neighbours = 0.0;
        assert_eq!(found(store, &query).await, texts);
    }
    stores[1].close().await;
}

/// Searches beside one another and beside writers: each misses nothing that was indexed before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn searches_beside_one_another_miss_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("galatea.db");
    let store = Database::sqlite(&file, crate::SqliteOptions::default()).await.unwrap();
    let scene = Scene::new();
    let (all, each) = (4, 60);
    let talks = (0..all).map(|talk| {
        let store = store.clone();
        tokio::spawn(async move {
            for n in 0..each {
                let word = format!("word{talk}x{n}");
                save_messages(&store, scene, &word, 1, i64::from(talk * each + n + 1)).await;
                let earlier = format!("word{talk}x{}", n / 2);
                for word in [word, earlier] {
                    assert_eq!(found(&store, &asking(scene, &word)).await, [word.as_str()]);
                }
            }
        })
    });
    for talk in talks.collect::<Vec<_>>() {
        talk.await.unwrap();
    }
    store.close().await;
}

/// The index of the agent would read the messages of all of its rooms until one is of the room.
#[tokio::test]
async fn neighbours_are_found_by_the_index_of_the_room() {
    let store = Database::in_memory().await.unwrap();
    let explain = format!("EXPLAIN QUERY PLAN {}", search::BESIDE.sqlite);
    let statement = crate::dialect::Statement::for_sqlite(explain, values!["[1]"]);
    let plan: Vec<(i64, i64, i64, String)> = store.all(statement).await.unwrap();
    let used = |how: &str| {
        let how = format!("SEARCH b USING INDEX memories_of_room (room_id=? AND type=? AND {how})");
        plan.iter().filter(|row| row.3 == how).count()
    };
    assert_eq!(used("created_at<?") + used("created_at>?"), 2, "{plan:?}");
    // Those of the same time by their number, too.
    assert_eq!(used("created_at=? AND rowid<?") + used("created_at=? AND rowid>?"), 2, "{plan:?}");
}

/// SQLite's tokenizer cuts a term at what it does not count among letters, digits and marks. A term
/// in two pieces is a phrase, which an index without positions refuses.
#[tokio::test]
async fn every_character_of_a_term_is_part_of_a_token_in_sqlite() {
    let store = Database::in_memory().await.unwrap();
    let text = "SELECT count(*) FROM recall_terms WHERE recall_terms MATCH $1";
    let terms: std::collections::BTreeSet<String> = ('\0'..=char::MAX)
        .map(|c| crate::terms::folded(&format!("a{c}b")))
        .filter(|folded| !folded.contains(' '))
        .map(|folded| format!("\"{folded}\""))
        .collect();
    assert!(terms.len() > 100_000, "{}", terms.len());
    let terms: Vec<String> = terms.into_iter().collect();
    let mut cut = Vec::new();
    for some in terms.chunks(100) {
        let asks = |expression: String| {
            store.all::<(i64,)>(Dialects::same(text).with(values![expression]))
        };
        if asks(some.join(" OR ")).await.is_err() {
            for term in some {
                if asks(term.clone()).await.is_err() {
                    cut.push(term);
                }
            }
        }
    }
    assert!(cut.is_empty(), "{} of {}: {:?}", cut.len(), terms.len(), &cut[..cut.len().min(40)]);
}

#[tokio::test]
async fn letters_in_squares_do_not_break_a_search() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    save_messages(&store, scene, "a kettle ni\u{1f171}\u{fe0f}ba", 1, 1).await;
    let squared = asking(scene, "ni\u{1f171}\u{fe0f}ba");
    assert_eq!(found(&store, &squared).await.len(), 1);
    assert_eq!(found(&store, &asking(scene, "\u{1f170}")).await, [""; 0]);
}

#[tokio::test]
async fn one_character_is_looked_for_in_its_own_room() {
    let store = Database::in_memory().await.unwrap();
    let (quiet, busy) = (Scene::new(), Scene::new());
    save_messages(&store, quiet, "水を飲む", 1, 1).await;
    save_messages(&store, busy, "水曜日です", 450, 10).await;
    assert_eq!(found(&store, &asking(quiet, "水")).await, ["水を飲む"]);
}

#[tokio::test]
async fn a_word_of_a_large_room_counts() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    save_messages(&store, scene, "good tea", 900, 1).await;
    save_messages(&store, scene, "nothing at all", 1_700, 1_000).await;
    let since = RecallQuery { since: Some(Timestamp(1)), ..asking(scene, "tea") };
    assert_eq!(found(&store, &since).await.len(), 10);
}

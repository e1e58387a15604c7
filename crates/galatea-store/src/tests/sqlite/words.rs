//! Search by words: common words, an index that is behind, and the index for neighbours. When the index
//! is brought up is tested in [`super::index`].

use galatea_core::{
    Timestamp,
    store::{MemoryStore, RecallQuery, RecallStore},
};
use galatea_testkit::store_suite::fixtures::Scene;

use crate::{
    Backend, Database, SqliteOptions,
    dialect::{Dialects, values},
    recall,
    talk::MOST,
};
pub(super) fn asking(scene: Scene, text: &str) -> RecallQuery {
    RecallQuery {
        room: Some(scene.room),
        ..RecallQuery::new(scene.visible(), text, 10, Timestamp(1_000))
    }
    .kind(galatea_core::MemoryKind::Messages)
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

/// Has all Rooms searched by the index, as if others in use left no space for them in memory.
pub(super) fn use_index(store: &Database) {
    let Backend::Sqlite(sqlite) = &store.0.backend else { panic!("SQLite is searched") };
    sqlite.known.talks.fill_up();
}

pub(super) async fn found(store: &Database, query: &RecallQuery) -> Vec<String> {
    let hits = store.recall(query).await.unwrap();
    hits.into_iter().filter(|hit| hit.words.is_some()).map(|hit| hit.memory.content.text).collect()
}

pub(super) async fn behind(store: &Database) -> i64 {
    let text = "SELECT (SELECT max(seq) FROM memories) - seq FROM terms_progress";
    store.all::<(i64,)>(Dialects::same(text).with(values![])).await.unwrap()[0].0
}

#[tokio::test]
async fn a_word_that_half_of_a_room_has_is_left_out() {
    for in_memory in [true, false] {
        a_common_word_is_left_out(in_memory).await;
    }
}

async fn a_common_word_is_left_out(in_memory: bool) {
    let store = Database::in_memory().await.unwrap();
    let (many, some, few) = (Scene::new(), Scene::new(), Scene::new());
    if !in_memory {
        use_index(&store);
    }
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

/// The same rows give the same hits, whether the index has all, half or none of them, and in memory.
#[tokio::test]
async fn hits_do_not_depend_on_how_far_the_index_is() {
    let texts = [
        "Where is the kettle?",
        "The kettles are in the kitchen",
        "水曜日です",
        "水を飲む",
        "Der Zug fährt um acht",
        "trains at eight",
        "a cup of tea",
        "ni\u{1f171}\u{fe0f}ba",
        "05 cups",
    ];
    let questions = [
        "kettle",
        "kettles kitchen",
        "水",
        "水曜",
        "Züge",
        "train",
        "tea cup",
        "ni\u{1f171}\u{fe0f}ba",
        "5",
    ];
    let (none, half, all, memory) = (
        Database::in_memory().await.unwrap(),
        Database::in_memory().await.unwrap(),
        Database::in_memory().await.unwrap(),
        Database::in_memory().await.unwrap(),
    );
    let (scene, other) = (Scene::new(), Scene::new());
    for store in [&none, &half, &all] {
        use_index(store);
    }
    for (n, text) in (1..).zip(texts) {
        for store in [&none, &half, &all, &memory] {
            save_messages(store, scene, text, 1, n).await;
            save_messages(store, other, text, 1, n).await;
        }
        if n == 5 {
            while half.index_step().await.unwrap() {}
        }
    }
    while all.index_step().await.unwrap() {}
    for question in questions {
        let expected = found(&all, &asking(scene, question)).await;
        assert!(!expected.is_empty(), "{question}");
        for store in [&none, &half, &memory] {
            assert_eq!(found(store, &asking(scene, question)).await, expected, "{question}");
        }
    }
    assert_eq!((behind(&none).await, behind(&all).await), (18, 0));
}

/// A message that is changed or deleted before it is indexed.
#[tokio::test]
async fn a_changed_message_is_found_by_its_new_words_only() {
    for in_memory in [true, false] {
        a_changed_message_is_found_anew(in_memory).await;
    }
}

async fn a_changed_message_is_found_anew(in_memory: bool) {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    if !in_memory {
        use_index(&store);
    }
    let message = scene.memory("the kettle", 1);
    store.save_memories(std::slice::from_ref(&message)).await.unwrap();
    assert_eq!(found(&store, &asking(scene, "kettle")).await.len(), 1);
    let mut content = message.content.clone();
    content.text = "the teapot".to_owned();
    assert!(store.update_content(scene.agent, message.id, &content).await.unwrap());
    assert_eq!(found(&store, &asking(scene, "kettle")).await, [""; 0]);
    assert_eq!(found(&store, &asking(scene, "teapot")).await, ["the teapot"]);
    assert_eq!(behind(&store).await, 1);
}

/// The exact form and the stem of a word are listed apart, and the word is in more memories than
/// either list has.
#[tokio::test]
async fn a_word_is_common_by_all_of_its_forms() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    use_index(&store);
    save_messages(&store, scene, "nothing at all", 600, 1).await;
    save_messages(&store, scene, "the train is late", 300, 1_000).await;
    save_messages(&store, scene, "nothing at all", 600, 2_000).await;
    // Of a text in German the stem is another one.
    save_messages(&store, scene, "die trains sind nicht da", 200, 3_000).await;
    while store.index_step().await.unwrap() {}
    assert_eq!(found(&store, &asking(scene, "trains")).await.len(), 10);
}

/// Of a Room with more messages than are kept in memory the index knows the older ones.
#[tokio::test]
async fn a_large_room_is_searched_alike_in_memory_and_in_the_index() {
    let [memory, index] =
        [Database::in_memory().await.unwrap(), Database::in_memory().await.unwrap()];
    use_index(&index);
    let scene = Scene::new();
    let number = |n: i64| i64::try_from(MOST).unwrap() + n;
    let text = |n: i64| match n {
        0 => "an old kettle".to_owned(),
        1 => "a teapot and a kettle".to_owned(),
        2 => "the teapots".to_owned(),
        n if n % 150 == 7 => format!("a lamp of row{n}"),
        n => format!("word{} word{}", n % 7, n % 50),
    };
    let alike = async |question: &str| {
        let mut all = Vec::new();
        for store in [&memory, &index] {
            let mut query = RecallQuery { limit: 50, ..asking(scene, question) };
            query.fusion.neighbours = 0.0;
            let mut texts = found(store, &query).await;
            texts.sort();
            all.push(texts);
        }
        assert_eq!(all[0], all[1], "{question}");
        all.swap_remove(0)
    };
    let mut messages = Vec::new();
    for n in 0..number(100) {
        let memory = scene.memory(&text(n), n + 1);
        messages.push(memory);
    }
    for store in [&memory, &index] {
        for some in messages.chunks(500) {
            store.save_memories(some).await.unwrap();
        }
        while store.index_step().await.unwrap() {}
    }
    assert_eq!(alike("old kettle").await.len(), 2);
    assert_eq!(alike("lamp").await.len(), 4);
    assert_eq!(alike("teapot").await.len(), 2);
    // Others leave the memory, and are found with those that left before.
    for n in number(100)..number(600) {
        for store in [&memory, &index] {
            save_messages(store, scene, &text(n), 1, n + 1).await;
        }
    }
    assert_eq!(alike("lamp").await.len(), 8);
    // An older one is changed, one is deleted.
    let mut content = messages[0].content.clone();
    content.text = "a new lamp".to_owned();
    for store in [&memory, &index] {
        store.update_content(scene.agent, messages[0].id, &content).await.unwrap();
        store.delete_memories(scene.agent, &[messages[2].id]).await.unwrap();
    }
    use_index(&index);
    assert_eq!(alike("lamp").await.len(), 9);
    assert_eq!(alike("old kettle").await, ["a teapot and a kettle"]);
    assert_eq!(alike("teapot").await, ["a teapot and a kettle"]);
}

/// Searches beside one another and beside writers miss no row that was stored before them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn searches_beside_one_another_miss_nothing() {
    for in_memory in [true, false] {
        searches_miss_nothing(in_memory).await;
    }
}

async fn searches_miss_nothing(in_memory: bool) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("galatea.db");
    let store = Database::sqlite(&file, SqliteOptions::default()).await.unwrap();
    let scene = Scene::new();
    if !in_memory {
        use_index(&store);
    }
    let (all, each) = (4, 60);
    let talks = (0..all).map(|talk| {
        let store = store.clone();
        tokio::spawn(async move {
            for n in 0..each {
                let word = format!("word{talk}x{n}");
                save_messages(&store, scene, &word, 1, i64::from(talk * each + n + 1)).await;
                assert_eq!(found(&store, &asking(scene, &word)).await, [word.as_str()]);
                let earlier = format!("word{talk}x{}", n / 2);
                assert_eq!(found(&store, &asking(scene, &earlier)).await, [earlier.as_str()]);
                if n % 10 == 5 {
                    store.index_step().await.unwrap();
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
    let explain = format!("EXPLAIN QUERY PLAN {}", recall::BESIDE.sqlite);
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
    use_index(&store);
    save_messages(&store, scene, "a kettle ni\u{1f171}\u{fe0f}ba", 1, 1).await;
    let squared = asking(scene, "ni\u{1f171}\u{fe0f}ba");
    assert_eq!(found(&store, &squared).await.len(), 1);
    assert_eq!(found(&store, &asking(scene, "\u{1f170}")).await, [""; 0]);
}

#[tokio::test]
async fn one_character_is_looked_for_in_its_own_room() {
    let store = Database::in_memory().await.unwrap();
    let (quiet, busy) = (Scene::new(), Scene::new());
    use_index(&store);
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
    while store.index_step().await.unwrap() {}
    let since = RecallQuery { since: Some(Timestamp(1)), ..asking(scene, "tea") };
    assert_eq!(found(&store, &since).await.len(), 10);
}

//! Search by words: common words, an index that is behind, and the index for neighbours.

use galatea_core::{
    Timestamp,
    store::{MemoryStore, RecallQuery, RecallStore},
};
use galatea_testkit::store_suite::fixtures::Scene;

use crate::{Database, dialect::Dialects, dialect::values, recall};

fn asking(scene: Scene, text: &str) -> RecallQuery {
    RecallQuery {
        room: Some(scene.room),
        ..RecallQuery::new(scene.visible(), text, 10, Timestamp(1_000))
    }
    .kind(galatea_core::MemoryKind::Messages)
}

/// Says `text` so many times, from a time on.
async fn say(store: &Database, scene: Scene, text: &str, times: i64, from: i64) {
    let said: Vec<_> = (0..times).map(|n| scene.memory(text, from + n)).collect();
    store.save_memories(&said).await.unwrap();
}

async fn found(store: &Database, query: &RecallQuery) -> Vec<String> {
    let hits = store.recall(query).await.unwrap();
    hits.into_iter().filter(|hit| hit.words.is_some()).map(|hit| hit.memory.content.text).collect()
}

async fn behind(store: &Database) -> i64 {
    let text = "SELECT (SELECT max(seq) FROM memories) - seq FROM terms_progress";
    store.all::<(i64,)>(Dialects::same(text).with(values![])).await.unwrap()[0].0
}

#[tokio::test]
async fn a_word_that_half_of_a_room_has_is_left_out() {
    let store = Database::in_memory().await.unwrap();
    let (many, some, few) = (Scene::new(), Scene::new(), Scene::new());
    say(&store, many, "good tea", 40, 1).await;
    say(&store, many, "the kettle", 1, 100).await;
    assert_eq!(found(&store, &asking(many, "tea")).await, [""; 0]);
    assert_eq!(found(&store, &asking(many, "tea kettle")).await, ["the kettle"]);
    // It counts in a room where fewer messages have it, and in a short one.
    say(&store, some, "good tea", 30, 1).await;
    say(&store, some, "nothing", 40, 100).await;
    assert_eq!(found(&store, &asking(some, "tea")).await.len(), 10);
    say(&store, few, "good tea", 12, 1).await;
    assert_eq!(found(&store, &asking(few, "tea")).await.len(), 10);
}

#[tokio::test]
async fn the_index_is_brought_up_when_a_search_would_miss_something() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    say(&store, scene, "the kettle", 1, 1).await;
    let older = |before| RecallQuery { before: Some(Timestamp(before)), ..asking(scene, "kettle") };
    assert_eq!(found(&store, &older(10)).await.len(), 1);
    assert_eq!(behind(&store).await, 0);
    say(&store, scene, "a new kettle", 1, 20).await;
    say(&store, Scene::new(), "another room", 30, 1).await;
    // The new one is not asked for.
    assert_eq!(found(&store, &older(10)).await.len(), 1);
    assert_eq!(behind(&store).await, 31);
    assert_eq!(found(&store, &older(30)).await.len(), 2);
    assert_eq!(behind(&store).await, 0);
    // Many are indexed whether or not they are asked for.
    say(&store, Scene::new(), "another room", 501, 1).await;
    found(&store, &older(10)).await;
    assert_eq!(behind(&store).await, 0);
}

/// The index of the agent would read the messages of all of its rooms until one is of the room.
#[tokio::test]
async fn neighbours_are_found_by_the_index_of_the_room() {
    let store = Database::in_memory().await.unwrap();
    let explain = format!("EXPLAIN QUERY PLAN {}", recall::BESIDE.sqlite);
    let statement = crate::dialect::Statement::for_sqlite(explain, values!["[1]"]);
    let plan: Vec<(i64, i64, i64, String)> = store.all(statement).await.unwrap();
    let used = plan.iter().filter(|row| row.3.starts_with("SEARCH b USING INDEX memories_of_room"));
    assert_eq!(used.count(), 2, "{plan:?}");
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
    say(&store, scene, "a kettle ni\u{1f171}\u{fe0f}ba", 1, 1).await;
    let squared = asking(scene, "ni\u{1f171}\u{fe0f}ba");
    assert_eq!(found(&store, &squared).await.len(), 1);
    assert_eq!(found(&store, &asking(scene, "\u{1f170}")).await, [""; 0]);
}

#[tokio::test]
async fn one_character_is_looked_for_in_its_own_room() {
    let store = Database::in_memory().await.unwrap();
    let (quiet, busy) = (Scene::new(), Scene::new());
    say(&store, quiet, "水を飲む", 1, 1).await;
    say(&store, busy, "水曜日です", 450, 10).await;
    assert_eq!(found(&store, &asking(quiet, "水")).await, ["水を飲む"]);
}

#[tokio::test]
async fn a_word_of_a_large_room_counts() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    say(&store, scene, "good tea", 900, 1).await;
    say(&store, scene, "nothing at all", 1_700, 1_000).await;
    while store.index_step().await.unwrap() {}
    let since = RecallQuery { since: Some(Timestamp(1)), ..asking(scene, "tea") };
    assert_eq!(found(&store, &since).await.len(), 10);
}

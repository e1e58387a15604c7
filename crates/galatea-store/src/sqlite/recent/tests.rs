//! What is read is what is stored, whatever happens in between; and what is held is bounded.

use galatea_core::{
    Content, Derived, Memory, MemoryKind, MemoryScope, RemoteId, Timestamp,
    store::{
        DerivedChange, DerivedStore, InboxStore, MemoryQuery, MemoryStore, OutboxStore,
        RecallStore, RequestedChange,
    },
};
use galatea_testkit::store_suite::fixtures::Scene;
use proptest::{collection::vec, prelude::*, test_runner::Config};

use super::{BYTES, CacheLookup, Recent, STEP};
use crate::{
    Database, SqliteOptions,
    dialect::{Dialects, values},
    search, terms,
};

/// Something that happens to a store, in one of two Rooms.
#[derive(Debug, Clone)]
enum Step {
    Arrives { room: usize, at: i64 },
    Again { nth: usize },
    Answered { at: i64 },
    Saved { room: usize, at: i64, kind: MemoryKind },
    SavedAgain { nth: usize, at: i64 },
    Edited { nth: usize },
    Deleted { nth: usize },
    Forgotten { room: usize },
    Moved,
    Summarised { room: usize, nth: usize },
    Read { room: usize, kind: MemoryKind, limit: u32, since: Option<i64> },
    Indexed { room: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let (room, at, nth) = (0..2usize, 0..40i64, 0..60usize);
    prop_oneof![
        8 => (room.clone(), at.clone()).prop_map(|(room, at)| Step::Arrives { room, at }),
        1 => nth.clone().prop_map(|nth| Step::Again { nth }),
        4 => at.clone().prop_map(|at| Step::Answered { at }),
        2 => (room.clone(), at.clone(), kind()).prop_map(|(room, at, kind)| Step::Saved { room, at, kind }),
        1 => (nth.clone(), at.clone()).prop_map(|(nth, at)| Step::SavedAgain { nth, at }),
        1 => nth.clone().prop_map(|nth| Step::Edited { nth }),
        1 => nth.clone().prop_map(|nth| Step::Deleted { nth }),
        1 => room.clone().prop_map(|room| Step::Forgotten { room }),
        1 => Just(Step::Moved),
        2 => (room.clone(), nth).prop_map(|(room, nth)| Step::Summarised { room, nth }),
        12 => (room.clone(), kind(), 1..40u32, proptest::option::of(at)).prop_map(|(room, kind, limit, since)| Step::Read { room, kind, limit, since }),
        3 => room.prop_map(|room| Step::Indexed { room }),
    ]
}

fn kind() -> impl Strategy<Value = MemoryKind> {
    prop_oneof![
        4 => Just(MemoryKind::Messages),
        1 => Just(MemoryKind::Facts),
        2 => Just(MemoryKind::Summaries),
    ]
}

/// The index of words has the messages of a Room that have a word, and no others.
async fn is_indexed(store: &Database, scene: Scene) -> Result<(), TestCaseError> {
    while !store.index_words().await.unwrap() {}
    let place = terms::place(MemoryKind::Messages, false, MemoryScope::Room, scene.room.0);
    for word in ["messages", "edited", "another", "asked", "forget"] {
        let expression = format!("\"{word}{}{}\"", terms::AT, terms::code(&place));
        let found = search::LIST.with(values![expression, 1_000_u32]);
        let mut found: Vec<(i64,)> = store.all(found).await.unwrap();
        found.sort_unstable();
        let text = "SELECT seq FROM memories WHERE room_id = $1 AND type = 'messages' AND content ->> '$.text' LIKE $2 ORDER BY seq";
        let statement = Dialects::same(text).with(values![scene.room.0, format!("%{word}%")]);
        let rows: Vec<(i64,)> = store.all(statement).await.unwrap();
        prop_assert_eq!(found, rows, "{}", word);
    }
    Ok(())
}

/// What is read is what the tables say, whatever happens in which order.
async fn plays(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let store = Database::in_memory().await.unwrap();
    let first = Scene::new();
    // Another agent in the same Room must not be mixed up with the first.
    let rooms = [first, Scene { room: first.room, ..Scene::new() }];
    let elsewhere = first.other_room();
    let mut messages = Vec::new();
    for step in steps {
        match step {
            Step::Arrives { room, at } => {
                let message = rooms[room].message(&format!("messages at {at}"), at);
                store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
                messages.push(message);
            }
            Step::Again { nth } => {
                if let Some(message) = messages.get(nth) {
                    store.ingest(Scene::batch(std::slice::from_ref(message))).await.unwrap();
                }
            }
            Step::Answered { at } => {
                let message = first.message("asked", at);
                store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
                store.finish_turn(first.turn(&[&message])).await.unwrap();
                assert!(store.finish_turn(first.turn(&[&message])).await.is_err(), "once");
                messages.push(message);
            }
            Step::Saved { room, at, kind } => store
                .save_memories(&[Memory { kind, ..rooms[room].memory("saved", at) }])
                .await
                .unwrap(),
            Step::SavedAgain { nth, at } => {
                if let Some(message) = messages.get(nth) {
                    let again = Memory {
                        id: message.memory.id,
                        ..first.memory("another text of the same id", at)
                    };
                    store.save_memories(&[again]).await.unwrap();
                }
            }
            Step::Edited { nth } => {
                if let Some(message) = messages.get(nth) {
                    store
                        .update_content(
                            message.memory.agent_id,
                            message.memory.id,
                            &Content::text("edited"),
                        )
                        .await
                        .unwrap();
                }
            }
            Step::Deleted { nth } => {
                if let Some(message) = messages.get(nth) {
                    store
                        .delete_memories(message.memory.agent_id, &[message.memory.id])
                        .await
                        .unwrap();
                }
            }
            Step::Forgotten { room } => {
                let asked = rooms[room].message("forget me", 41);
                store.ingest(Scene::batch(std::slice::from_ref(&asked))).await.unwrap();
                let mut turn = rooms[room].turn(&[&asked]);
                turn.effects.push(RequestedChange::ForgetPerson { entity: rooms[room].person });
                store.finish_turn(turn).await.unwrap();
            }
            Step::Moved => {
                for (from, to) in [(first.room, elsewhere.room), (elsewhere.room, first.room)] {
                    store.move_room(from, to, &RemoteId::new("moved")).await.unwrap();
                    prop_assert!(
                        store.memories(&page(first, 5)).await.unwrap()
                            == tables(&store).page(&page(first, 5)).await.unwrap()
                    );
                }
            }
            Step::Summarised { room, nth } => {
                if let Some(message) = messages.get(nth) {
                    let memory =
                        Memory { kind: MemoryKind::Summaries, ..rooms[room].memory("summary", 20) };
                    let derived = Derived::new(memory, MemoryScope::Room, vec![message.memory.id]);
                    let change = DerivedChange { new: vec![derived], ..DerivedChange::default() };
                    store.change_derived(rooms[room].agent, &change).await.unwrap();
                }
            }
            Step::Indexed { room } => is_indexed(&store, rooms[room]).await?,
            Step::Read { room, kind, limit, since } => {
                let Scene { agent, room, .. } = rooms[room];
                let query = MemoryQuery {
                    since: since.map(Timestamp),
                    ..MemoryQuery::new(agent, limit).room(room).kind(kind)
                };
                prop_assert_eq!(
                    store.memories(&query).await.unwrap(),
                    tables(&store).page(&query).await.unwrap()
                );
            }
        }
    }
    for scene in rooms {
        prop_assert_eq!(
            store.memories(&page(scene, 100)).await.unwrap(),
            tables(&store).page(&page(scene, 100)).await.unwrap()
        );
        is_indexed(&store, scene).await?;
    }
    Ok(())
}

fn page(scene: Scene, limit: u32) -> MemoryQuery {
    MemoryQuery::new(scene.agent, limit).room(scene.room).kind(MemoryKind::Messages)
}

proptest! {
    #![proptest_config(Config::with_cases(64))]
    #[test]
    fn what_is_read_is_what_is_stored(steps in vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(plays(steps))?;
    }
}

#[tokio::test]
async fn what_was_committed_is_read_without_the_tables() {
    let store = Database::in_memory().await.unwrap();
    let scene = Scene::new();
    assert!(store.memories(&page(scene, 5)).await.unwrap().is_empty());
    let message = scene.message("hello", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    store.finish_turn(scene.turn(&[&message])).await.unwrap();
    let before = store.statements();
    let read = store.memories(&page(scene, 5)).await.unwrap();
    assert_eq!(store.statements(), before);
    assert!(read.len() > 1 && read.contains(&message.memory));
    assert_eq!(read, tables(&store).page(&page(scene, 5)).await.unwrap());
}

#[tokio::test]
async fn what_another_process_deleted_is_gone_with_the_next_commit() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Database::sqlite(folder.path().join("test.db"), SqliteOptions::default());
    let (store, other) = (open().await.unwrap(), open().await.unwrap());
    let scene = Scene::new();
    let message = scene.message("hello", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    assert_eq!(store.memories(&page(scene, 5)).await.unwrap().len(), 1);
    assert_eq!(other.delete_memories(scene.agent, &[message.memory.id]).await.unwrap(), 1);
    let next = scene.message("still there?", 2);
    store.ingest(Scene::batch(std::slice::from_ref(&next))).await.unwrap();
    assert_eq!(store.memories(&page(scene, 5)).await.unwrap(), [next.memory]);
}

/// What a reader gets that began before a commit and ended after it is not kept.
#[test]
fn a_page_read_beside_a_commit_is_not_kept() {
    let (recent, scene) = (Recent::default(), Scene::new());
    let query = page(scene, 5);
    let read = |recent: &Recent| match recent.lookup(&query) {
        CacheLookup::Miss(reading) => reading,
        CacheLookup::Hit(_) | CacheLookup::Uncacheable => panic!("nothing is known yet"),
    };
    let reading = read(&recent);
    recent.add([scene.memory("new", 2)].into_iter());
    recent.fill(&reading, &query, vec![scene.memory("old", 1)]);
    let reading = read(&recent);
    recent.clear();
    recent.fill(&reading, &query, vec![scene.memory("removed", 1)]);
    let reading = read(&recent);
    assert_eq!(recent.fill(&reading, &query, vec![scene.memory("kept", 1)]).len(), 1);
    assert!(matches!(recent.lookup(&query), CacheLookup::Hit(page) if page.len() == 1));
}

#[test]
fn a_long_page_and_a_filtered_one_are_read_from_the_tables() {
    let (recent, scene) = (Recent::default(), Scene::new());
    for query in [
        page(scene, 10_000),
        page(scene, 0),
        MemoryQuery::new(scene.agent, 5).room(scene.room),
        page(scene, 5).kind(MemoryKind::Facts),
    ] {
        assert!(matches!(recent.lookup(&query), CacheLookup::Uncacheable));
    }
    let query = MemoryQuery { entity: Some(scene.person), ..page(scene, 5) };
    assert!(matches!(recent.lookup(&query), CacheLookup::Uncacheable));
}

#[test]
fn what_is_held_is_bounded() {
    let (recent, scene) = (Recent::default(), Scene::new());
    let large = |scene: Scene| scene.memory(&"x".repeat(BYTES / 8), 1);
    let rooms: Vec<Scene> = (0..20).map(|_| scene.other_room()).collect();
    for room in &rooms {
        let CacheLookup::Miss(reading) = recent.lookup(&page(*room, 1)) else {
            panic!("not asked before")
        };
        recent.fill(&reading, &page(*room, 1), vec![large(*room)]);
    }
    let held = |room: &Scene| matches!(recent.lookup(&page(*room, 1)), CacheLookup::Hit(_));
    assert_eq!(rooms.iter().filter(|room| held(room)).count(), 7, "the last ones");
    recent.shrink();
    assert_eq!(
        rooms.iter().filter(|room| held(room)).count(),
        1,
        "the very last one, once it is quiet"
    );
    let room = rooms[19];
    for at in 0..i64::from(STEP) * 3 {
        recent.add([room.memory("short", at + 2)].into_iter());
    }
    let longest = (1..100)
        .filter(|limit| matches!(recent.lookup(&page(room, *limit)), CacheLookup::Hit(_)))
        .max();
    assert_eq!(longest, Some(STEP), "and a page no longer than it was asked for");
}

/// What the tables say, whatever is kept of it in memory.
fn tables(store: &Database) -> &crate::sqlite::Sqlite {
    match &store.0.backend {
        crate::Backend::Sqlite(sqlite) => sqlite,
        crate::Backend::Postgres(_) => panic!("not a file"),
    }
}

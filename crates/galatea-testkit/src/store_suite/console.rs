//! Lists for operators.

use galatea_core::{
    AgentId, MemoryKind, RoomId, Store, Timestamp,
    store::{DeliveriesQuery, InboxState, MemoriesOf, OutboxState, Place, TurnsQuery},
};
use std::sync::Arc;

use super::fixtures::{SOURCE, Scene, settlement};

fn turns() -> TurnsQuery {
    TurnsQuery {
        agent: None,
        room: None,
        source: None,
        state: None,
        before: Place::NEWEST,
        limit: 3,
    }
}

fn parts() -> DeliveriesQuery {
    DeliveriesQuery {
        agent: None,
        room: None,
        source: None,
        state: None,
        before: Place::NEWEST,
        limit: 3,
    }
}

async fn messages(store: &Arc<dyn Store>, scene: Scene, texts: std::ops::Range<i64>) {
    for n in texts {
        // Two of each time: the order of commits decides.
        let message = scene.message(&format!("m{n}"), n / 2);
        let mut ingest = Scene::batch(std::slice::from_ref(&message));
        ingest.connections = scene.connections();
        store.ingest(ingest).await.unwrap();
    }
}

/// Reads a whole list, and calls `between` after the first page.
async fn all_turns(store: &Arc<dyn Store>, mut query: TurnsQuery) -> Vec<String> {
    let mut out = Vec::new();
    loop {
        let page = store.list_turns(&query).await.unwrap();
        out.extend(page.rows.into_iter().map(|item| item.entry.memory.content.text));
        let Some(next) = page.next else { return out };
        query.before = next;
    }
}

fn newest_first(texts: std::ops::Range<i64>) -> Vec<String> {
    texts.rev().map(|n| format!("m{n}")).collect()
}

/// A list has every row once, also when rows arrive while it is read.
pub async fn turns_are_paged_without_gaps_or_repeats(store: Arc<dyn Store>) {
    messages(&store, Scene::new(), 100..104).await;
    for by_room in [false, true] {
        let scene = Scene::new();
        messages(&store, scene, 0..10).await;
        let query = match by_room {
            true => TurnsQuery { room: Some(scene.room), ..turns() },
            false => TurnsQuery { agent: Some(scene.agent), ..turns() },
        };
        assert_eq!(all_turns(&store, query.clone()).await, newest_first(0..10), "{query:?}");
        let first = store.list_turns(&query).await.unwrap();
        assert_eq!(first.rows.len(), 3);
        messages(&store, scene, 10..12).await;
        let rest = TurnsQuery { before: first.next.unwrap(), ..query.clone() };
        let rest = all_turns(&store, rest).await;
        assert_eq!(rest, newest_first(0..7), "what arrived meanwhile is not in between");
        assert_eq!(all_turns(&store, query).await, newest_first(0..12));
    }
    assert_eq!(all_turns(&store, turns()).await.len(), 28);
}

/// Lists keep to what is asked for.
pub async fn lists_are_filtered(store: Arc<dyn Store>) {
    let (scene, other) = (Scene::new(), Scene::new());
    messages(&store, scene, 0..4).await;
    messages(&store, other, 4..6).await;
    let state = |state| TurnsQuery { state: Some(state), ..turns() };
    assert_eq!(all_turns(&store, state(InboxState::New)).await.len(), 6);
    assert!(all_turns(&store, state(InboxState::Done)).await.is_empty());
    let foreign = TurnsQuery { agent: Some(AgentId::fresh()), ..turns() };
    assert!(all_turns(&store, foreign).await.is_empty());
    let source = TurnsQuery { source: Some(SOURCE), ..turns() };
    assert_eq!(all_turns(&store, source).await.len(), 6);
    let room = MemoriesOf::Room(scene.room);
    let first = store.list_memories(room, &MemoryKind::Messages, Place::NEWEST, 3).await.unwrap();
    let second =
        store.list_memories(room, &MemoryKind::Messages, first.next.unwrap(), 3).await.unwrap();
    let texts = |rows: &[galatea_core::Memory]| -> Vec<String> {
        rows.iter().map(|m| m.content.text.clone()).collect()
    };
    assert_eq!(texts(&first.rows), ["m3", "m2", "m1"]);
    assert_eq!((texts(&second.rows), second.next), (vec!["m0".to_owned()], None));
    for of in [MemoriesOf::Agent(scene.agent), MemoriesOf::Person(scene.person)] {
        let page = store.list_memories(of, &MemoryKind::Messages, Place::NEWEST, 9).await.unwrap();
        assert_eq!(page.rows.len(), 4, "{of:?}");
        let page = store.list_memories(of, &MemoryKind::Facts, Place::NEWEST, 9).await.unwrap();
        assert!(page.rows.is_empty());
    }
}

/// Rooms and people are listed with their agent, in the order of their ids.
pub async fn rooms_and_people_are_listed(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let scenes = [scene, scene.other_room(), Scene::new()];
    for (n, scene) in (0_i64..).zip(scenes) {
        messages(&store, scene, n..n + 1).await;
    }
    let mine = store.list_rooms(Some(scene.agent), Some(&SOURCE), None, 9).await.unwrap();
    let mut expected: Vec<RoomId> = scenes[..2].iter().map(|s| s.room).collect();
    expected.sort();
    assert_eq!(mine.iter().map(|r| r.room.id).collect::<Vec<_>>(), expected);
    assert!(mine.iter().all(|room| room.last_at == Some(Timestamp(0))));
    let second = store.list_rooms(Some(scene.agent), None, Some(expected[0]), 9).await.unwrap();
    assert_eq!(second, mine[1..]);
    assert_eq!(store.list_rooms(None, None, None, 9).await.unwrap().len(), 3);
    let people = store.list_people(Some(scene.agent), Some("Pygmal"), None, 9).await.unwrap();
    assert_eq!(people.iter().map(|p| p.id).collect::<Vec<_>>(), [scene.person]);
    let one = store.list_people(Some(scene.agent), None, None, 1).await.unwrap();
    let two = store.list_people(Some(scene.agent), None, Some(one[0].id), 9).await.unwrap();
    assert_eq!((one.len(), two.len()), (1, 1));
}

/// Parts are listed with their states, and what failed is counted.
pub async fn deliveries_are_listed_and_counted(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let mut ids = Vec::new();
    for n in 0..4 {
        let message = scene.message("question", n);
        store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
        let record = scene.turn(&[&message]);
        ids.push(record.deliveries[0].delivery.id);
        store.finish_turn(record).await.unwrap();
    }
    let all = store.list_deliveries(&parts()).await.unwrap();
    let rest = DeliveriesQuery { before: all.next.unwrap(), ..parts() };
    let rest = store.list_deliveries(&rest).await.unwrap();
    let listed: Vec<_> = all.rows.iter().chain(&rest.rows).map(|row| row.delivery.id).collect();
    let mut expected = ids.clone();
    expected.reverse();
    assert!(expected.iter().all(|id| listed.contains(id)), "{listed:?}");
    let before = store.counts().await.unwrap();
    store.settle(vec![settlement(ids[0], OutboxState::Dead)]).await.unwrap();
    let dead =
        DeliveriesQuery { state: Some(OutboxState::Dead), room: Some(scene.room), ..parts() };
    let page = store.list_deliveries(&dead).await.unwrap();
    assert_eq!(page.rows.iter().map(|row| row.delivery.id).collect::<Vec<_>>(), [ids[0]]);
    assert_eq!(store.delivery(ids[0]).await.unwrap().as_ref(), page.rows.first());
    let elsewhere = DeliveriesQuery { room: Some(RoomId::fresh()), ..dead };
    assert!(store.list_deliveries(&elsewhere).await.unwrap().rows.is_empty());
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.dead, counts.waiting_messages), (1, 0));
    let unsettled = |counts: galatea_core::store::Counts| counts.pending + counts.sending;
    assert_eq!(unsettled(counts) + 1, unsettled(before));
}

/// The character of an agent is read back as it was saved.
pub async fn characters_are_read_back(store: Arc<dyn Store>) {
    let id = AgentId::fresh();
    assert_eq!(store.agent_character(id).await.unwrap(), None);
    let character =
        galatea_core::Character { name: "Ada".to_owned(), ..galatea_core::Character::default() };
    store.save_agent(id, &character).await.unwrap();
    assert_eq!(store.agent_character(id).await.unwrap().unwrap()["name"], "Ada");
}

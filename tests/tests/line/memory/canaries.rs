//! Words that one place of one agent holds. A search from any other place never finds them, however
//! well they match.

use galatea_core::{
    Account, AgentId, ChannelType, Content, Derived, EntityId, Memory, MemoryId, MemoryKind,
    MemoryScope, RemoteId, Room, RoomId, Source, Store, Timestamp, Visibility, WorldId,
    store::{DerivedChange, RecallQuery},
};
use galatea_store::Database;
use serde_json::Map;
use std::{collections::HashMap, sync::Arc};

const AGENTS: u128 = 20;
const ROOMS: u128 = 50;
/// Queries of a usual run; `GALATEA_CANARY_QUERIES` sets another number.
const QUERIES: usize = 1_500;
const KINDS: [MemoryKind; 5] = [
    MemoryKind::Messages,
    MemoryKind::Facts,
    MemoryKind::Summaries,
    MemoryKind::Profiles,
    MemoryKind::Fragments,
];

/// An id, by sort, agent and number: `EntityId(id("person", 1, 2))`.
macro_rules! id {
    ($what:literal, $agent:expr, $n:expr) => {
        galatea_core::ids::uuid_of(&format!("{} {} {}", $what, $agent, $n))
    };
}

/// Five rooms are a World. Every second room is direct, with a person of its own; the person of a
/// room speaks in the room beside it as well.
fn room(agent: u128, n: u128) -> (Room, EntityId) {
    let person = EntityId(id!("person", agent, n / 2));
    let kind = if n.is_multiple_of(2) { ChannelType::Dm } else { ChannelType::Group };
    let room = Room {
        id: RoomId(id!("room", agent, n)),
        agent_id: AgentId(id!("agent", agent, 0)),
        world_id: WorldId(id!("world", agent, n / 5)),
        parent_id: None,
        source: Source::new("stage"),
        account: Account("1000".into()),
        remote: RemoteId::new(format!("{agent}-{n}")),
        kind,
        name: String::new(),
        metadata: Map::new(),
    };
    (room, person)
}

/// A word that stands in one memory only, and one that stands in all.
fn canary(agent: u128, n: u128, kind: MemoryKind, scope: MemoryScope) -> String {
    format!("canary{agent}x{n}x{}x{} birdsong", kind.as_str().replace('_', ""), scope.as_str())
}

async fn plant(store: &Arc<dyn Store>) -> i64 {
    let mut planted = 0;
    for agent in 0..AGENTS {
        for n in 0..ROOMS {
            let (room, person) = room(agent, n);
            let at = Timestamp(1_000 + planted);
            let memory = |kind, scope| Memory {
                id: MemoryId::fresh(),
                kind,
                agent_id: room.agent_id,
                entity_id: person,
                room_id: room.id,
                world_id: Some(room.world_id),
                content: Content::text(canary(agent, n, kind, scope)),
                metadata: Map::new(),
                created_at: at,
            };
            let message = memory(MemoryKind::Messages, MemoryScope::Room);
            store.save_memories(&[message]).await.unwrap();
            planted += 1;
            let mut change = DerivedChange::default();
            for kind in &KINDS[1..] {
                let scope = match (*kind, n % 2, n % 10) {
                    (MemoryKind::Facts, 0, _) => MemoryScope::Private,
                    (MemoryKind::Facts, _, 1) => MemoryScope::Agent,
                    (MemoryKind::Facts | MemoryKind::Profiles, ..) => MemoryScope::World,
                    _ => MemoryScope::Room,
                };
                change.new.push(Derived::new(memory(*kind, scope), scope, Vec::new()));
                planted += 1;
            }
            store.change_derived(room.agent_id, &change).await.unwrap();
        }
    }
    planted
}

/// What a place may see, said once more and in other words than the code says it.
fn may_see(from: &Room, with: EntityId, memory: &Memory, scope: &str) -> bool {
    let same_world = memory.world_id == Some(from.world_id);
    let mine = from.kind == ChannelType::Dm && memory.entity_id == with;
    memory.agent_id == from.agent_id
        && match scope {
            "agent" => true,
            "world" => same_world,
            "private" => mine,
            _ => memory.room_id == from.id,
        }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_search_finds_what_belongs_to_another_place() {
    let store: Arc<dyn Store> = Arc::new(Database::in_memory().await.unwrap());
    let planted = plant(&store).await;
    let queries = std::env::var("GALATEA_CANARY_QUERIES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(QUERIES);
    let (mut hits, mut own, mut foreign) = (0, 0, Vec::new());
    let mut by_kind: HashMap<MemoryKind, usize> = HashMap::new();
    for n in 0..queries as u128 {
        let (agent, at) = (n % AGENTS, n / AGENTS * 7 % ROOMS);
        let (from, person) = room(agent, at);
        let kind = KINDS[usize::try_from(n / 3 % KINDS.len() as u128).unwrap()];
        // Its own canaries, its neighbours', or another agent's; and the word that all share.
        let (other, place) = match n % 3 {
            0 => (agent, at),
            1 => (agent, (at + 1 + n % 4) % ROOMS),
            _ => ((agent + 1) % AGENTS, at),
        };
        let scopes =
            [MemoryScope::Private, MemoryScope::Room, MemoryScope::World, MemoryScope::Agent];
        let words: Vec<String> =
            scopes.iter().map(|scope| canary(other, place, kind, *scope)).collect();
        let visible = Visibility::in_room(&from, &[person]);
        let query = RecallQuery {
            kinds: KINDS.to_vec(),
            ..RecallQuery::new(visible, words.join(" "), 50, Timestamp(1_000_000))
        };
        for hit in store.recall(&query).await.unwrap() {
            hits += 1;
            own += usize::from(hit.memory.room_id == from.id);
            *by_kind.entry(hit.memory.kind).or_default() += 1;
            if !may_see(&from, person, &hit.memory, hit.scope.as_str()) {
                foreign.push(hit.memory.content.text.clone());
            }
        }
    }
    println!(
        "{queries} queries from {AGENTS} agents × {ROOMS} rooms over {planted} canaries: \
         {hits} hits, {own} of the room itself, {} foreign; {by_kind:?}",
        foreign.len()
    );
    assert!(KINDS.iter().all(|kind| by_kind.contains_key(kind)), "each sort is found: {by_kind:?}");
    assert!(own > queries, "a room finds its own");
    assert_eq!(foreign, [""; 0]);
}

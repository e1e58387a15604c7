//! Words and meanings that one place of one agent holds. A search from any other place
//! never finds them, however well they match, and shows none of them as a neighbour.

use galatea_core::{
    Account, AgentId, ChannelType, Content, Derived, Embedding, EntityId, IdentityLink, Memory,
    MemoryId, MemoryKind, MemoryScope, RemoteId, Room, RoomId, Source, Store, Timestamp,
    Visibility, WorldId,
    store::{DerivedChange, RecallQuery},
};
use galatea_knowledge::shared_agent;
use galatea_store::{Database, PostgresOptions};
use serde_json::Map;
use std::{
    collections::{BTreeMap, HashMap},
    hash::{DefaultHasher, Hasher as _},
    sync::Arc,
};

const AGENTS: u128 = 20;
const ROOMS: u128 = 50;
/// The number in canaries of documents that agents share: that of no agent.
const SHARED: u128 = 999;
/// Queries of a usual run; `GALATEA_CANARY_QUERIES` sets another number.
const QUERIES: usize = 1_500;
/// Fewer with PostgreSQL, where both take longer.
const POSTGRES_AGENTS: u128 = 5;
const POSTGRES_QUERIES: usize = 200;
/// Messages of a room: one with a message before it and one after it.
const MESSAGES: u128 = 3;
/// Pieces of documents of an agent. Each of its rooms sees them, so they are few.
const PIECES: u128 = 3;
const KINDS: [MemoryKind; 5] = [
    MemoryKind::Messages,
    MemoryKind::Facts,
    MemoryKind::Summaries,
    MemoryKind::Profiles,
    MemoryKind::Fragments,
];
const MODEL: &str = "canary model";
/// Numbers of a vector. Each word is a direction, so different canaries differ in meaning too.
const WIDTH: usize = 96;

/// An id, by sort, agent and number: `EntityId(id!("person", 1, 2))`.
macro_rules! id {
    ($what:literal, $agent:expr, $n:expr) => {
        galatea_core::ids::uuid_of(&format!("{} {} {}", $what, $agent, $n))
    };
}

fn agent(n: u128) -> AgentId {
    AgentId(id!("agent", n, 0))
}

/// Five rooms are a World. Every second room is direct, with a person of its own; the person of a
/// room speaks in the room beside it as well.
fn room(agent: u128, n: u128) -> (Room, EntityId) {
    let kind = if n.is_multiple_of(2) { ChannelType::Dm } else { ChannelType::Group };
    let room = Room {
        id: RoomId(id!("room", agent, n)),
        agent_id: self::agent(agent),
        world_id: WorldId(id!("world", agent, n / 5)),
        parent_id: None,
        source: Source::new("stage"),
        account: Account("1000".into()),
        remote: RemoteId::new(format!("{agent}-{n}")),
        kind,
        name: String::new(),
        metadata: Map::new(),
    };
    (room, person(agent, n / 2))
}

fn person(agent: u128, n: u128) -> EntityId {
    EntityId(id!("person", agent, n))
}

/// The person with whom a person is linked: of five, the first and the third.
fn linked(n: u128) -> Option<u128> {
    match n % 5 {
        0 => Some(n + 2),
        2 => Some(n - 2),
        _ => None,
    }
}

/// A word that stands in one memory only, and one that stands in all.
fn canary(agent: u128, n: u128, kind: MemoryKind, scope: MemoryScope) -> String {
    format!("canary{agent}x{n}x{}x{} birdsong", kind.as_str().replace('_', ""), scope.as_str())
}

/// The meaning of a text: the sum of its words' directions.
fn meaning(text: &str) -> Embedding {
    let mut vector = vec![0.01; WIDTH];
    for word in text.split(' ') {
        for nth in 0..4_u8 {
            let mut hasher = DefaultHasher::new();
            hasher.write(word.as_bytes());
            hasher.write_u8(nth);
            let hash = hasher.finish();
            let sign = if hash.is_multiple_of(2) { 1.0 } else { -1.0 };
            vector[usize::try_from(hash / 2).unwrap() % WIDTH] += sign;
        }
    }
    Embedding::new(vector).unwrap()
}

/// Every memory of an agent, with its embedding; how many.
async fn plant(store: &Arc<dyn Store>, agent: u128, at: &mut i64) -> usize {
    let (mut messages, mut change) = (Vec::new(), DerivedChange::default());
    let mut memory = |room: &Room, person, kind, scope, n| {
        *at += 1;
        Memory {
            id: MemoryId::fresh(),
            kind,
            agent_id: room.agent_id,
            entity_id: person,
            room_id: room.id,
            world_id: Some(room.world_id),
            content: Content::text(canary(agent, n, kind, scope)),
            metadata: Map::new(),
            created_at: Timestamp(*at),
        }
    };
    for n in 0..ROOMS {
        let (room, person) = room(agent, n);
        for _ in 0..MESSAGES {
            messages.push(memory(&room, person, MemoryKind::Messages, MemoryScope::Room, n));
        }
        for kind in &KINDS[1..4] {
            let scope = match (*kind, n % 2, n % 10) {
                (MemoryKind::Facts | MemoryKind::Profiles, 0, _) => MemoryScope::Private,
                (MemoryKind::Facts, _, 1) => MemoryScope::Agent,
                (MemoryKind::Facts | MemoryKind::Profiles, ..) => MemoryScope::World,
                _ => MemoryScope::Room,
            };
            let memory = memory(&room, person, *kind, scope, n);
            change.new.push(Derived::new(memory, scope, Vec::new()));
        }
    }
    // Pieces of documents, as the library stores them: in the agent's own Room. Those of versions
    // before have the scope of that Room.
    let own = self::agent(agent);
    for n in 0..PIECES {
        let scope = if n + 1 < PIECES { MemoryScope::Agent } else { MemoryScope::Room };
        let piece =
            piece(own, memory(&room(agent, n).0, own_entity(own), MemoryKind::Fragments, scope, n));
        change.new.push(Derived::new(piece, scope, Vec::new()));
    }
    store.save_memories(&messages).await.unwrap();
    store.change_derived(own, &change).await.unwrap();
    let all: Vec<&Memory> =
        messages.iter().chain(change.new.iter().map(|derived| &derived.memory)).collect();
    embed(store, own, &all).await;
    let link = |n| {
        Some(IdentityLink {
            entity_id: person(agent, n),
            linked_id: person(agent, linked(n)?),
            linked_at: Timestamp(1),
        })
    };
    let links: Vec<IdentityLink> = (0..ROOMS / 2).filter(|n| n % 5 == 0).filter_map(link).collect();
    assert_eq!(store.restore_links(own, &links).await.unwrap(), links.len() as u64);
    all.len()
}

fn own_entity(agent: AgentId) -> EntityId {
    EntityId(agent.0)
}

fn piece(agent: AgentId, piece: Memory) -> Memory {
    let (room_id, world_id) = (RoomId(agent.0), Some(WorldId(agent.0)));
    Memory { agent_id: agent, entity_id: own_entity(agent), room_id, world_id, ..piece }
}

/// Pieces that every agent has, under the one that no agent is.
async fn plant_shared(store: &Arc<dyn Store>, at: &mut i64) -> usize {
    let shared = shared_agent();
    let mut change = DerivedChange::default();
    for n in 0..PIECES {
        *at += 1;
        let (room, person) = room(0, n);
        let memory = Memory {
            id: MemoryId::fresh(),
            kind: MemoryKind::Fragments,
            agent_id: shared,
            entity_id: person,
            room_id: room.id,
            world_id: None,
            content: Content::text(canary(SHARED, n, MemoryKind::Fragments, MemoryScope::Agent)),
            metadata: Map::new(),
            created_at: Timestamp(*at),
        };
        change.new.push(Derived::new(piece(shared, memory), MemoryScope::Agent, Vec::new()));
    }
    store.change_derived(shared, &change).await.unwrap();
    let all: Vec<&Memory> = change.new.iter().map(|derived| &derived.memory).collect();
    embed(store, shared, &all).await;
    all.len()
}

async fn embed(store: &Arc<dyn Store>, agent: AgentId, memories: &[&Memory]) {
    let embeddings: Vec<(&Memory, Embedding)> =
        memories.iter().map(|memory| (*memory, meaning(&memory.content.text))).collect();
    let stored = store.save_embeddings(agent, MODEL, &embeddings).await.unwrap();
    assert_eq!(stored, memories.len() as u64);
}

/// From where a query looks.
struct Place {
    agent: AgentId,
    room: RoomId,
    world: WorldId,
    /// The person of a direct room, under every linked id.
    with: Vec<EntityId>,
}

/// The view of a place, said once more and in other words than the code says it.
fn may_see(from: &Place, memory: &Memory, scope: &str) -> bool {
    memory.agent_id == from.agent
        && match scope {
            "agent" => true,
            "world" => memory.world_id == Some(from.world),
            "private" => from.with.contains(&memory.entity_id),
            _ => memory.room_id == from.room,
        }
}

/// The hits, and how many of them belong to another place.
#[derive(Default)]
struct Found {
    hits: usize,
    own: usize,
    by_kind: HashMap<MemoryKind, usize>,
    /// Sorts of hits that have to occur for the run to say anything.
    of: BTreeMap<&'static str, usize>,
    foreign: Vec<String>,
}

/// The place of a query, and how the program looks from there.
async fn place(store: &Arc<dyn Store>, agents: u128, n: u128) -> (Place, Visibility) {
    let (agent, at) = (n % agents, n / agents * 7 % ROOMS);
    if (n / agents) % 4 == 3 {
        // Documents: the agent's own, and in every second one the shared ones.
        let agent = if n.is_multiple_of(2) { self::agent(agent) } else { shared_agent() };
        let (room, world) = (RoomId(agent.0), WorldId(agent.0));
        return (Place { agent, room, world, with: Vec::new() }, Visibility::documents(agent));
    }
    let (from, who) = room(agent, at);
    let mut people = vec![who];
    people.extend(store.linked(from.agent_id, who).await.unwrap());
    let visible = Visibility::in_room(&from, &people);
    let mut with = vec![who];
    with.extend(linked(at / 2).map(|other| person(agent, other)));
    with.retain(|_| from.kind == ChannelType::Dm);
    (Place { agent: from.agent_id, room: from.id, world: from.world_id, with }, visible)
}

async fn search(store: &Arc<dyn Store>, agents: u128, n: u128, found: &mut Found) {
    let (agent, at) = (n % agents, n / agents * 7 % ROOMS);
    let (from, visible) = place(store, agents, n).await;
    let kind = KINDS[usize::try_from(n / 3 % KINDS.len() as u128).unwrap()];
    // Its own canaries, its neighbours', or another agent's; and the word that all share.
    let (other, there) = match n % 3 {
        0 => (agent, at),
        1 => (agent, (at + 1 + n % 4) % ROOMS),
        _ => ((agent + 1) % agents, at),
    };
    let scopes = [MemoryScope::Private, MemoryScope::Room, MemoryScope::World, MemoryScope::Agent];
    let words: Vec<String> =
        scopes.iter().map(|scope| canary(other, there, kind, *scope)).collect();
    let words = words.join(" ");
    // By meaning, by words, and by both.
    let text = if n % 7 < 2 { String::new() } else { words.clone() };
    let mut query = RecallQuery {
        kinds: KINDS.to_vec(),
        named: vec![person(other, there / 2)],
        neighbours: true,
        ..RecallQuery::new(visible, text, 50, Timestamp(1_000_000))
    };
    if n % 7 != 2 {
        query = query.meaning(MODEL, meaning(&words));
    }
    for hit in store.recall(&query).await.unwrap() {
        found.hits += 1;
        found.own += usize::from(hit.memory.room_id == from.room);
        *found.by_kind.entry(hit.memory.kind).or_default() += 1;
        let linked =
            hit.scope == MemoryScope::Private && from.with.first() != Some(&hit.memory.entity_id);
        for (what, is) in [
            ("by words", hit.words.is_some()),
            ("by meaning", hit.meaning.is_some()),
            ("by meaning alone", hit.words.is_none()),
            ("of a linked person", linked),
            ("shared", hit.memory.agent_id == shared_agent()),
            ("with neighbours", hit.before.is_some() && hit.after.is_some()),
        ] {
            *found.of.entry(what).or_default() += usize::from(is);
        }
        if !may_see(&from, &hit.memory, hit.scope.as_str()) {
            found.foreign.push(hit.memory.content.text.clone());
        }
        for near in [hit.before, hit.after].into_iter().flatten() {
            if near.room_id != hit.memory.room_id || !may_see(&from, &near, "room") {
                found.foreign.push(format!("neighbour {}", near.content.text));
            }
        }
    }
}

#[allow(clippy::print_stdout, reason = "figures for people")]
async fn searches(store: Arc<dyn Store>, agents: u128, queries: usize) {
    let (mut planted, mut at) = (0, 1_000);
    for agent in 0..agents {
        planted += plant(&store, agent, &mut at).await;
    }
    planted += plant_shared(&store, &mut at).await;
    let begun = std::time::Instant::now();
    let mut found = Found::default();
    for n in 0..queries as u128 {
        search(&store, agents, n, &mut found).await;
    }
    let Found { hits, own, by_kind, of, foreign } = found;
    println!(
        "{queries} queries in {:.1} s from {agents} agents × {ROOMS} rooms over {planted} canaries: \
         {hits} hits, {own} of the room itself, {} foreign; {by_kind:?}; {of:?}",
        begun.elapsed().as_secs_f32(),
        foreign.len()
    );
    assert!(KINDS.iter().all(|kind| by_kind.contains_key(kind)), "each sort is found: {by_kind:?}");
    assert!(of.values().all(|count| *count > 0), "each way of finding is used: {of:?}");
    assert!(own > queries, "a room finds its own");
    assert_eq!(foreign, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_search_finds_what_belongs_to_another_place() {
    let queries = std::env::var("GALATEA_CANARY_QUERIES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(QUERIES);
    searches(Arc::new(Database::in_memory().await.unwrap()), AGENTS, queries).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_search_in_postgresql_finds_what_belongs_to_another_place() {
    let database = galatea_testkit::postgres::Database::fresh().await;
    let url = galatea_core::SecretString::from(database.url());
    let store = Database::postgres(&url, PostgresOptions::default()).await.unwrap();
    searches(Arc::new(store.clone()), POSTGRES_AGENTS, POSTGRES_QUERIES).await;
    store.close().await;
}

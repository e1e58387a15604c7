//! Facts that others told of a person before the person wrote where they were told: these facts are
//! stored under the name ([`mentioned`]).

use galatea_core::{
    AgentIdentity, Derived, Entity, EntityId, MemoryId, MemoryKind, MemoryScope, Result, Room,
    RoomId, Store, WorldId,
    mentioned::{self, Mentioned},
    store::MemoryQuery,
};
use std::collections::{BTreeMap, BTreeSet};

/// Facts read for one name.
const READ: u32 = 2_000;

/// The facts about the names of a person (under each of these ids) in the Worlds of these Rooms, as
/// facts about the person: those that mean no other known person, of a whole World or of one of the
/// Rooms. `rooms` are Rooms in which the person takes part.
pub(super) async fn of(
    store: &dyn Store,
    identity: &AgentIdentity,
    person: &[EntityId],
    rooms: &[Room],
) -> Result<Vec<Derived>> {
    let themselves = store.entities(person).await?;
    let mut worlds: BTreeMap<WorldId, BTreeSet<RoomId>> = BTreeMap::new();
    for room in rooms {
        worlds.entry(room.world_id).or_default().insert(room.id);
    }
    let mut found = Vec::new();
    for (world, places) in worlds {
        let names = themselves.iter().flat_map(Entity::called);
        let names: BTreeSet<EntityId> =
            names.map(|(_, name)| mentioned::id(identity, world, name)).collect();
        let mut facts = about(store, identity, &names).await?;
        facts.retain(|fact| {
            fact.scope == MemoryScope::World || places.contains(&fact.memory.room_id)
        });
        if facts.is_empty() {
            continue;
        }
        let mentioned = Mentioned::read(store, world).await?;
        for fact in &mut facts {
            fact.memory.entity_id = mentioned.subject(&fact.memory);
        }
        found.extend(facts.into_iter().filter(|fact| person.contains(&fact.memory.entity_id)));
    }
    Ok(found)
}

/// The Rooms in which a person takes part, under each of these ids.
pub(super) async fn rooms(
    store: &dyn Store,
    identity: &AgentIdentity,
    person: &[EntityId],
) -> Result<Vec<Room>> {
    let mut rooms = Vec::new();
    for entity in person {
        rooms.extend(store.rooms_of(identity.id(), *entity).await?);
    }
    Ok(rooms)
}

async fn about(
    store: &dyn Store,
    identity: &AgentIdentity,
    subjects: &BTreeSet<EntityId>,
) -> Result<Vec<Derived>> {
    let agent = identity.id();
    let mut ids: Vec<MemoryId> = Vec::new();
    for subject in subjects {
        let query = MemoryQuery {
            entity: Some(*subject),
            ..MemoryQuery::new(agent, READ).kind(MemoryKind::Facts)
        };
        ids.extend(store.memories(&query).await?.into_iter().map(|fact| fact.id));
    }
    store.derived(agent, &ids).await
}

//! Pure part of `ensure_connection`: ids, rows and what of them is new or changed.

use galatea_core::{
    Connection, ConnectorInfo, EntityId, EntityRef, Place, RemoteId, RoomId, RoomRef, WorldId, WorldRef, WorldSync,
    store::{ConnectionChange, EntityChange, RoomChange, WorldChange},
};
use serde_json::{Map, Value, json};
use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};
use uuid::Uuid;

use crate::agent::Agent;

/// What a fingerprint is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    /// A World row.
    World,
    /// A Room row.
    Room,
    /// An Entity row.
    Entity,
    /// A Participant row.
    Participant,
}

/// Identifies a row and its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(super) owner: Owner,
    pub(super) id: Uuid,
    /// The room of a participant, else nil.
    pub(super) room: Uuid,
    pub(super) hash: u64,
}

/// Our ids of a connection, and the rows that are not known to be stored.
pub(super) fn changes(agent: &Agent, info: &ConnectorInfo, connection: &Connection) -> (Place, ConnectionChange) {
    let identity = &agent.view.identity;
    let world = WorldId(identity.swizzle(connection.world.remote.as_str()));
    let room = room_id(agent, info, &connection.room.remote);
    let mut change = ConnectionChange::default();
    change.worlds.push(world_change(agent, info, &connection.world));
    change.rooms.push(room_change(agent, info, world, &connection.room));
    let own = identity.entity();
    let entity = connection.entity.as_ref().map_or(own, |entity| {
        let row = entity_change(agent, info, entity);
        let id = row.id;
        if id != own {
            change.entities.push(row);
            change.participants.push((id, room));
        }
        id
    });
    change.participants.push((own, room));
    retain_unknown(agent, &mut change);
    (Place { world, room, entity }, change)
}

/// A whole World; every Room gets its participants.
pub(super) fn bulk(agent: &Agent, info: &ConnectorInfo, sync: &WorldSync) -> ConnectionChange {
    let own = agent.view.identity.entity();
    let world = WorldId(agent.view.identity.swizzle(sync.world.remote.as_str()));
    let mut change = ConnectionChange::default();
    change.worlds.push(world_change(agent, info, &sync.world));
    change.rooms.extend(sync.rooms.iter().map(|room| room_change(agent, info, world, room)));
    let rooms: Vec<RoomId> = change.rooms.iter().map(|r| r.id).collect();
    change.participants.extend(rooms.iter().map(|room| (own, *room)));
    for (entity, within) in &sync.entities {
        let row = entity_change(agent, info, entity);
        if row.id == own {
            continue;
        }
        let id = row.id;
        change.entities.push(row);
        if within.is_empty() {
            change.participants.extend(rooms.iter().map(|room| (id, *room)));
        } else {
            change.participants.extend(within.iter().map(|room| (id, room_id(agent, info, room))));
        }
    }
    retain_unknown(agent, &mut change);
    change
}

/// Entities that came into a Room.
pub(super) fn members(agent: &Agent, info: &ConnectorInfo, room: RoomId, entities: &[EntityRef]) -> ConnectionChange {
    let mut change = ConnectionChange::default();
    for entity in entities {
        let row = entity_change(agent, info, entity);
        change.participants.push((row.id, room));
        if row.id != agent.view.identity.entity() {
            change.entities.push(row);
        }
    }
    change
}

/// The entity id of a platform id.
pub(super) fn entity_id(agent: &Agent, info: &ConnectorInfo, remote: &RemoteId) -> EntityId {
    agent.accounts.entity(&info.source, remote)
}

fn room_id(agent: &Agent, info: &ConnectorInfo, remote: &RemoteId) -> RoomId {
    agent.accounts.room(&info.source, &info.account, remote)
}

fn world_change(agent: &Agent, info: &ConnectorInfo, world: &WorldRef) -> WorldChange {
    let mut metadata = world.metadata.clone();
    if let Some(owner) = &world.owner {
        metadata.insert("ownership".into(), json!({ "ownerId": entity_id(agent, info, owner) }));
    }
    if !world.roles.is_empty() {
        let roles: Map<String, Value> = world.roles.iter().map(|(remote, role)| (entity_id(agent, info, remote).to_string(), json!(role))).collect();
        metadata.insert("roles".into(), Value::Object(roles));
    }
    WorldChange {
        id: WorldId(agent.view.identity.swizzle(world.remote.as_str())),
        agent: agent.view.identity.id(),
        source: info.source.clone(),
        remote: world.remote.clone(),
        name: world.name.clone(),
        metadata,
    }
}

fn room_change(agent: &Agent, info: &ConnectorInfo, world: WorldId, room: &RoomRef) -> RoomChange {
    let identity = &agent.view.identity;
    RoomChange {
        id: room_id(agent, info, &room.remote),
        agent: identity.id(),
        world,
        parent: room.parent.as_ref().map(|parent| room_id(agent, info, parent)),
        source: info.source.clone(),
        account: info.account.clone(),
        remote: room.remote.clone(),
        kind: room.kind,
        name: room.name.clone(),
        metadata: room.metadata.clone(),
    }
}

fn entity_change(agent: &Agent, info: &ConnectorInfo, entity: &EntityRef) -> EntityChange {
    let mut metadata = entity.metadata.clone();
    metadata.insert(info.source.as_str().to_owned(), json!({ "id": entity.remote, "name": entity.name, "userName": entity.user_name, "isBot": entity.is_bot }));
    EntityChange {
        id: entity_id(agent, info, &entity.remote),
        agent: agent.view.identity.id(),
        names: [&entity.name, &entity.user_name].into_iter().flatten().filter(|n| !n.is_empty()).cloned().collect(),
        metadata,
    }
}

/// Drops rows that are known to be stored, and repeats.
fn retain_unknown(agent: &Agent, change: &mut ConnectionChange) {
    let known = &agent.known;
    change.worlds.retain(|row| !known.has(&of_world(row)));
    change.rooms.retain(|row| !known.has(&of_room(row)));
    change.entities.retain(|row| !known.has(&of_entity(row)));
    let mut seen = HashSet::new();
    change.participants.retain(|pair| !known.has(&of_participant(*pair)) && seen.insert(*pair));
}

/// Fingerprints of every row of a change.
pub(super) fn fingerprints(change: &ConnectionChange) -> Vec<Fingerprint> {
    let mut all: Vec<_> = change.worlds.iter().map(of_world).collect();
    all.extend(change.rooms.iter().map(of_room));
    all.extend(change.entities.iter().map(of_entity));
    all.extend(change.participants.iter().map(|pair| of_participant(*pair)));
    all
}

fn of_world(row: &WorldChange) -> Fingerprint {
    Fingerprint { owner: Owner::World, id: row.id.0, room: Uuid::nil(), hash: hash((&row.name, &row.remote, json(&row.metadata))) }
}

fn of_room(row: &RoomChange) -> Fingerprint {
    Fingerprint {
        owner: Owner::Room,
        id: row.id.0,
        room: Uuid::nil(),
        hash: hash((&row.name, &row.remote, row.world, row.parent, row.kind, &row.account, json(&row.metadata))),
    }
}

fn of_entity(row: &EntityChange) -> Fingerprint {
    Fingerprint { owner: Owner::Entity, id: row.id.0, room: Uuid::nil(), hash: hash((&row.names, json(&row.metadata))) }
}

fn of_participant((entity, room): (EntityId, RoomId)) -> Fingerprint {
    Fingerprint { owner: Owner::Participant, id: entity.0, room: room.0, hash: 0 }
}

fn json(map: &Map<String, Value>) -> String {
    if map.is_empty() { String::new() } else { Value::Object(map.clone()).to_string() }
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

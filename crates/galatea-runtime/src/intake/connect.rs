//! Pure part of `ensure_connection`: ids, rows and what of them is new or changed.

use galatea_core::{
    Connection, ConnectionIds, ConnectorInfo, EntityId, EntityRef, RemoteId, RoomId, RoomRef,
    WorldId, WorldRef, WorldSync,
    store::{ConnectionChange, EntityChange, RoomChange, WorldChange},
};
use serde_json::{Map, Value, json};

use crate::directory::Directory;

/// Our ids of a connection, and the rows that are not known to be stored.
pub(super) fn changes(
    directory: &Directory,
    info: &ConnectorInfo,
    connection: &Connection,
) -> (ConnectionIds, ConnectionChange) {
    let identity = &directory.identity;
    let world = WorldId(identity.swizzle(connection.world.remote.as_str()));
    let room = room_id(directory, info, &connection.room.remote);
    let mut change = ConnectionChange::default();
    change.worlds.push(world_change(directory, info, &connection.world));
    change.rooms.push(room_change(directory, info, world, &connection.room));
    let own = identity.entity();
    let entity = connection.entity.as_ref().map_or(own, |entity| {
        let row = entity_change(directory, info, entity);
        let id = row.id;
        if id != own {
            change.entities.push(row);
            change.participants.push((id, room));
        }
        id
    });
    change.participants.push((own, room));
    directory.known.retain_unknown(&mut change);
    (ConnectionIds { world, room, entity }, change)
}

/// A whole World; every Room gets its participants.
pub(super) fn bulk(
    directory: &Directory,
    info: &ConnectorInfo,
    sync: &WorldSync,
) -> ConnectionChange {
    let own = directory.identity.entity();
    let world = WorldId(directory.identity.swizzle(sync.world.remote.as_str()));
    let mut change = ConnectionChange::default();
    change.worlds.push(world_change(directory, info, &sync.world));
    change.rooms.extend(sync.rooms.iter().map(|room| room_change(directory, info, world, room)));
    let rooms: Vec<RoomId> = change.rooms.iter().map(|r| r.id).collect();
    change.participants.extend(rooms.iter().map(|room| (own, *room)));
    for (entity, within) in &sync.entities {
        let row = entity_change(directory, info, entity);
        if row.id == own {
            continue;
        }
        let id = row.id;
        change.entities.push(row);
        if within.is_empty() {
            change.participants.extend(rooms.iter().map(|room| (id, *room)));
        } else {
            change
                .participants
                .extend(within.iter().map(|room| (id, room_id(directory, info, room))));
        }
    }
    directory.known.retain_unknown(&mut change);
    change
}

/// Entities that came into a Room.
pub(super) fn members(
    directory: &Directory,
    info: &ConnectorInfo,
    room: RoomId,
    entities: &[EntityRef],
) -> ConnectionChange {
    let mut change = ConnectionChange::default();
    for entity in entities {
        let row = entity_change(directory, info, entity);
        change.participants.push((row.id, room));
        if row.id != directory.identity.entity() {
            change.entities.push(row);
        }
    }
    change
}

/// The entity id of a platform id.
pub(super) fn entity_id(
    directory: &Directory,
    info: &ConnectorInfo,
    remote: &RemoteId,
) -> EntityId {
    directory.accounts.entity(&info.source, remote)
}

fn room_id(directory: &Directory, info: &ConnectorInfo, remote: &RemoteId) -> RoomId {
    directory.accounts.room(&info.source, &info.account, remote)
}

fn world_change(directory: &Directory, info: &ConnectorInfo, world: &WorldRef) -> WorldChange {
    let mut metadata = world.metadata.clone();
    if let Some(owner) = &world.owner {
        metadata
            .insert("ownership".into(), json!({ "ownerId": entity_id(directory, info, owner) }));
    }
    if !world.roles.is_empty() {
        let roles: Map<String, Value> = world
            .roles
            .iter()
            .map(|(remote, role)| (entity_id(directory, info, remote).to_string(), json!(role)))
            .collect();
        metadata.insert("roles".into(), Value::Object(roles));
    }
    WorldChange {
        id: WorldId(directory.identity.swizzle(world.remote.as_str())),
        agent: directory.identity.id(),
        source: info.source.clone(),
        remote: world.remote.clone(),
        name: world.name.clone(),
        metadata,
    }
}

fn room_change(
    directory: &Directory,
    info: &ConnectorInfo,
    world: WorldId,
    room: &RoomRef,
) -> RoomChange {
    let identity = &directory.identity;
    RoomChange {
        id: room_id(directory, info, &room.remote),
        agent: identity.id(),
        world,
        parent: room.parent.as_ref().map(|parent| room_id(directory, info, parent)),
        source: info.source.clone(),
        account: info.account.clone(),
        remote: room.remote.clone(),
        kind: room.kind,
        name: room.name.clone(),
        metadata: room.metadata.clone(),
    }
}

fn entity_change(directory: &Directory, info: &ConnectorInfo, entity: &EntityRef) -> EntityChange {
    let mut metadata = entity.metadata.clone();
    metadata.insert(info.source.as_str().to_owned(), json!({ "id": entity.remote, "name": entity.name, "userName": entity.user_name, "isBot": entity.is_bot }));
    EntityChange {
        id: entity_id(directory, info, &entity.remote),
        agent: directory.identity.id(),
        names: [&entity.name, &entity.user_name]
            .into_iter()
            .flatten()
            .filter(|n| !n.is_empty())
            .cloned()
            .collect(),
        metadata,
    }
}

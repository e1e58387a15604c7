//! Connections: Worlds, Rooms, Entities and Participants merged field by field.

use galatea_core::{
    Result,
    store::{ConnectionChange, EntityChange, RoomChange, WorldChange},
};
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::{
    apply::Step,
    change::{Change, uuid},
};

/// `merged` and `newest` are functions of the writer's connection, see [`crate::apply`].
pub(crate) const STEPS: &[Step] = &[
    (
        "world",
        "INSERT INTO worlds (id, agent_id, source, remote, name, metadata) VALUES (
            (b ->> 'id')::uuid, (b ->> 'agent')::uuid, b ->> 'source', b ->> 'remote',
            coalesce(b ->> 'name', b ->> 'remote'), pg_temp.merged('{}', b -> 'metadata'))
         ON CONFLICT (id) DO UPDATE SET source = excluded.source, remote = excluded.remote, name = coalesce(b ->> 'name', worlds.name),
            metadata = pg_temp.merged(worlds.metadata, b -> 'metadata');",
    ),
    (
        "room",
        "INSERT INTO rooms (id, agent_id, world_id, parent_id, source, account, remote, type, name, metadata) VALUES (
            (b ->> 'id')::uuid, (b ->> 'agent')::uuid, (b ->> 'world')::uuid, (b ->> 'parent')::uuid,
            b ->> 'source', b ->> 'account', b ->> 'remote', b ->> 'type',
            coalesce(b ->> 'name', b ->> 'remote'), pg_temp.merged('{}', b -> 'metadata'))
         ON CONFLICT (id) DO UPDATE SET world_id = excluded.world_id, parent_id = coalesce(excluded.parent_id, rooms.parent_id),
            source = excluded.source, account = excluded.account, remote = excluded.remote, type = excluded.type,
            name = coalesce(b ->> 'name', rooms.name),
            metadata = pg_temp.merged(rooms.metadata, b -> 'metadata');",
    ),
    (
        // New names come first, known ones follow; 32 are kept, so that somebody who renames himself for ever fills no disk.
        "entity",
        "INSERT INTO entities (id, agent_id, names, metadata) VALUES (
            (b ->> 'id')::uuid, (b ->> 'agent')::uuid,
            pg_temp.newest(b -> 'names', '[]'),
            pg_temp.merged('{}', b -> 'metadata'))
         ON CONFLICT (id) DO UPDATE SET
            names = pg_temp.newest(b -> 'names', entities.names),
            metadata = pg_temp.merged(entities.metadata, b -> 'metadata');",
    ),
    ("participant", "INSERT INTO participants (room_id, entity_id) VALUES ((b ->> 'room')::uuid, (b ->> 'entity')::uuid) ON CONFLICT DO NOTHING;"),
];

#[derive(Serialize)]
struct WorldRow<'a> {
    id: Uuid,
    agent: Uuid,
    source: &'a str,
    remote: &'a str,
    name: Option<&'a str>,
    metadata: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct RoomRow<'a> {
    id: Uuid,
    agent: Uuid,
    world: Uuid,
    parent: Option<Uuid>,
    source: &'a str,
    account: &'a str,
    remote: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    name: Option<&'a str>,
    metadata: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct EntityRow<'a> {
    id: Uuid,
    agent: Uuid,
    names: &'a [String],
    metadata: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct ParticipantRow {
    room: Uuid,
    entity: Uuid,
}

/// Adds connections to a change, containers before what they contain.
pub(crate) fn push(change: &mut Change, connections: &ConnectionChange) -> Result<()> {
    for WorldChange { id, agent, source, remote, name, metadata } in &connections.worlds {
        let (source, remote) = (source.as_str(), remote.as_str());
        let row = WorldRow { id: uuid(*id), agent: uuid(*agent), source, remote, name: name.as_deref(), metadata };
        change.push("world", &row)?;
    }
    for RoomChange { id, agent, world, parent, source, account, remote, kind, name, metadata } in &connections.rooms {
        let row = RoomRow {
            id: uuid(*id),
            agent: uuid(*agent),
            world: uuid(*world),
            parent: parent.map(uuid),
            source: source.as_str(),
            account: &account.0,
            remote: remote.as_str(),
            kind: kind.as_str(),
            name: name.as_deref(),
            metadata,
        };
        change.push("room", &row)?;
    }
    for EntityChange { id, agent, names, metadata } in &connections.entities {
        change.push("entity", &EntityRow { id: uuid(*id), agent: uuid(*agent), names, metadata })?;
    }
    for (entity, room) in &connections.participants {
        change.push("participant", &ParticipantRow { room: uuid(*room), entity: uuid(*entity) })?;
    }
    Ok(())
}

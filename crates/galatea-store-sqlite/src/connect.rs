//! Connections: Worlds, Rooms, Entities and Participants merged field by field.

use galatea_core::{
    Result,
    store::{ConnectionChange, EntityChange, RoomChange, WorldChange},
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    apply::Trigger,
    change::{Change, Hex, hex},
    convert::replaced,
};

/// `json_patch(old, patch)` is RFC 7396: null removes a key, objects are merged; `drop` first takes out what is to be replaced.
pub(crate) const TRIGGERS: &[Trigger] = &[
    (
        "world",
        "INSERT INTO worlds (id, agent_id, source, remote, name, metadata) VALUES (
            unhex(NEW.body ->> 'id'), unhex(NEW.body ->> 'agent'), NEW.body ->> 'source', NEW.body ->> 'remote',
            coalesce(NEW.body ->> 'name', NEW.body ->> 'remote'), json_patch('{}', NEW.body -> 'metadata'))
         ON CONFLICT (id) DO UPDATE SET source = excluded.source, remote = excluded.remote, name = coalesce(NEW.body ->> 'name', name),
            metadata = json_patch(json_patch(metadata, coalesce(NEW.body -> 'drop', '{}')), NEW.body -> 'metadata');",
    ),
    (
        "room",
        "INSERT INTO rooms (id, agent_id, world_id, parent_id, source, account, remote, type, name, metadata) VALUES (
            unhex(NEW.body ->> 'id'), unhex(NEW.body ->> 'agent'), unhex(NEW.body ->> 'world'), unhex(NEW.body ->> 'parent'),
            NEW.body ->> 'source', NEW.body ->> 'account', NEW.body ->> 'remote', NEW.body ->> 'type',
            coalesce(NEW.body ->> 'name', NEW.body ->> 'remote'), json_patch('{}', NEW.body -> 'metadata'))
         ON CONFLICT (id) DO UPDATE SET world_id = excluded.world_id, parent_id = coalesce(excluded.parent_id, parent_id),
            source = excluded.source, account = excluded.account, remote = excluded.remote, type = excluded.type,
            name = coalesce(NEW.body ->> 'name', name),
            metadata = json_patch(json_patch(metadata, coalesce(NEW.body -> 'drop', '{}')), NEW.body -> 'metadata');",
    ),
    (
        // New names come first, known ones follow; 32 are kept, so that somebody who renames himself for ever fills no disk.
        "entity",
        "INSERT INTO entities (id, agent_id, names, metadata) VALUES (
            unhex(NEW.body ->> 'id'), unhex(NEW.body ->> 'agent'),
            (SELECT json_group_array(value ORDER BY place) FROM (
                SELECT value, min(key) AS place FROM json_each(NEW.body -> 'names') GROUP BY value ORDER BY place LIMIT 32)),
            json_patch('{}', NEW.body -> 'metadata'))
         ON CONFLICT (id) DO UPDATE SET
            names = (SELECT json_group_array(value ORDER BY place) FROM (
                SELECT value, min(place) AS place FROM (
                    SELECT value, key AS place FROM json_each(NEW.body -> 'names')
                    UNION ALL SELECT value, key + 1000000 FROM json_each(entities.names))
                GROUP BY value ORDER BY place LIMIT 32)),
            metadata = json_patch(json_patch(metadata, coalesce(NEW.body -> 'drop', '{}')), NEW.body -> 'metadata');",
    ),
    ("participant", "INSERT INTO participants (room_id, entity_id) VALUES (unhex(NEW.body ->> 'room'), unhex(NEW.body ->> 'entity')) ON CONFLICT DO NOTHING;"),
];

#[derive(Serialize)]
struct WorldRow<'a> {
    id: Hex,
    agent: Hex,
    source: &'a str,
    remote: &'a str,
    name: Option<&'a str>,
    metadata: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drop: Option<Map<String, Value>>,
}

#[derive(Serialize)]
struct RoomRow<'a> {
    id: Hex,
    agent: Hex,
    world: Hex,
    parent: Option<Hex>,
    source: &'a str,
    account: &'a str,
    remote: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    name: Option<&'a str>,
    metadata: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drop: Option<Map<String, Value>>,
}

#[derive(Serialize)]
struct EntityRow<'a> {
    id: Hex,
    agent: Hex,
    names: &'a [String],
    metadata: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drop: Option<Map<String, Value>>,
}

#[derive(Serialize)]
struct ParticipantRow {
    room: Hex,
    entity: Hex,
}

/// Adds connections to a change, containers before what they contain.
pub(crate) fn push(change: &mut Change, connections: &ConnectionChange) -> Result<()> {
    for WorldChange { id, agent, source, remote, name, metadata } in &connections.worlds {
        let (source, remote) = (source.as_str(), remote.as_str());
        let row = WorldRow { id: hex(*id), agent: hex(*agent), source, remote, name: name.as_deref(), metadata, drop: replaced(metadata) };
        change.push("world", &row)?;
    }
    for RoomChange { id, agent, world, parent, source, account, remote, kind, name, metadata } in &connections.rooms {
        let row = RoomRow {
            id: hex(*id),
            agent: hex(*agent),
            world: hex(*world),
            parent: parent.map(hex),
            source: source.as_str(),
            account: &account.0,
            remote: remote.as_str(),
            kind: kind.as_str(),
            name: name.as_deref(),
            metadata,
            drop: replaced(metadata),
        };
        change.push("room", &row)?;
    }
    for EntityChange { id, agent, names, metadata } in &connections.entities {
        change.push("entity", &EntityRow { id: hex(*id), agent: hex(*agent), names, metadata, drop: replaced(metadata) })?;
    }
    for (entity, room) in &connections.participants {
        change.push("participant", &ParticipantRow { room: hex(*room), entity: hex(*entity) })?;
    }
    Ok(())
}

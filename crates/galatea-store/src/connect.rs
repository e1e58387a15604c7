//! Merges Worlds, Rooms, Entities and Participants field by field.

use galatea_core::{
    Result,
    store::{ConnectionChange, EntityChange, RoomChange, WorldChange},
};
use serde_json::{Map, Value as Json};

use crate::{
    change::{Change, Write},
    convert::{replaced, to_json},
    dialect::{Dialects, Value, values},
};

// In SQLite `json_patch(old, patch)` is RFC 7396: null removes a key, objects are merged at every
// depth; the last value first takes out what is to be replaced. In PostgreSQL `merged` and `newest`
// are functions (`migrations/postgres/0001_tables.sql`).

const WORLD: Dialects = Dialects {
    sqlite: "INSERT INTO worlds (id, agent_id, source, remote, name, metadata) VALUES ($1, $2, $3, $4, coalesce($5, $4), json_patch('{}', $6)) \
             ON CONFLICT (id) DO UPDATE SET source = excluded.source, remote = excluded.remote, name = coalesce($5, name), \
             metadata = json_patch(json_patch(metadata, $7), $6)",
    postgres: "INSERT INTO worlds (id, agent_id, source, remote, name, metadata) VALUES ($1, $2, $3, $4, coalesce($5, $4), merged('{}', $6)) \
               ON CONFLICT (id) DO UPDATE SET source = excluded.source, remote = excluded.remote, name = coalesce($5, worlds.name), \
               metadata = merged(worlds.metadata, $6)",
};
const ROOM: Dialects = Dialects {
    sqlite: "INSERT INTO rooms (id, agent_id, world_id, parent_id, source, account, remote, type, name, metadata) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, coalesce($9, $7), json_patch('{}', $10)) \
             ON CONFLICT (id) DO UPDATE SET world_id = excluded.world_id, parent_id = coalesce(excluded.parent_id, parent_id), \
             source = excluded.source, account = excluded.account, remote = excluded.remote, type = excluded.type, name = coalesce($9, name), \
             metadata = json_patch(json_patch(metadata, $11), $10)",
    postgres: "INSERT INTO rooms (id, agent_id, world_id, parent_id, source, account, remote, type, name, metadata) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, coalesce($9, $7), merged('{}', $10)) \
               ON CONFLICT (id) DO UPDATE SET world_id = excluded.world_id, parent_id = coalesce(excluded.parent_id, rooms.parent_id), \
               source = excluded.source, account = excluded.account, remote = excluded.remote, type = excluded.type, \
               name = coalesce($9, rooms.name), metadata = merged(rooms.metadata, $10)",
};
/// New names come first, known ones follow; 32 are kept, so that endless renames fill no disk.
const ENTITY: Dialects = Dialects {
    sqlite: "INSERT INTO entities (id, agent_id, names, metadata) VALUES ($1, $2, \
                (SELECT json_group_array(value ORDER BY place) FROM ( \
                    SELECT value, min(key) AS place FROM json_each($3) GROUP BY value ORDER BY place LIMIT 32)), \
                json_patch('{}', $4)) \
             ON CONFLICT (id) DO UPDATE SET \
                names = (SELECT json_group_array(value ORDER BY place) FROM ( \
                    SELECT value, min(place) AS place FROM ( \
                        SELECT value, key AS place FROM json_each($3) \
                        UNION ALL SELECT value, key + 1000000 FROM json_each(entities.names)) \
                    GROUP BY value ORDER BY place LIMIT 32)), \
                metadata = json_patch(json_patch(metadata, $5), $4)",
    postgres: "INSERT INTO entities (id, agent_id, names, metadata) VALUES ($1, $2, newest($3, '[]'), merged('{}', $4)) \
               ON CONFLICT (id) DO UPDATE SET names = newest($3, entities.names), metadata = merged(entities.metadata, $4)",
};
// Rows of the past change nothing that is stored. A metadata key that is there keeps its value whole:
// a role that was taken away must not come back beside those that are left. Of a World and a Room that
// are stored, a key that forgetting a person removes (`forget.rs`) does not come back either.
macro_rules! missing {
    ($table:literal) => {
        missing!($table, "excluded.metadata")
    };
    ($table:literal, $past:literal) => {
        concat!(
            "json_patch(json_patch(",
            $past,
            ", (SELECT json_group_object(key, NULL) FROM json_each(",
            $table,
            ".metadata))), ",
            $table,
            ".metadata)"
        )
    };
}
const PAST_WORLD: Dialects = Dialects {
    sqlite: concat!(
        "INSERT INTO worlds (id, agent_id, source, remote, name, metadata) VALUES ($1, $2, $3, $4, coalesce($5, $4), json_patch('{}', $6)) \
         ON CONFLICT (id) DO UPDATE SET metadata = ",
        missing!("worlds", "json_remove(excluded.metadata, '$.username')")
    ),
    postgres: "INSERT INTO worlds (id, agent_id, source, remote, name, metadata) VALUES ($1, $2, $3, $4, coalesce($5, $4), merged('{}', $6)) \
               ON CONFLICT (id) DO UPDATE SET metadata = (excluded.metadata - 'username') || worlds.metadata",
};
const PAST_ROOM: Dialects = Dialects {
    sqlite: concat!(
        "INSERT INTO rooms (id, agent_id, world_id, parent_id, source, account, remote, type, name, metadata) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, coalesce($9, $7), json_patch('{}', $10)) \
         ON CONFLICT (id) DO UPDATE SET parent_id = coalesce(parent_id, excluded.parent_id), metadata = ",
        missing!("rooms", "json_remove(excluded.metadata, '$.username', '$.continued')")
    ),
    postgres: "INSERT INTO rooms (id, agent_id, world_id, parent_id, source, account, remote, type, name, metadata) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, coalesce($9, $7), merged('{}', $10)) \
               ON CONFLICT (id) DO UPDATE SET parent_id = coalesce(rooms.parent_id, excluded.parent_id), metadata = (excluded.metadata - 'username' - 'continued') || rooms.metadata",
};
/// Names of the past follow those that are known.
const PAST_ENTITY: Dialects = Dialects {
    sqlite: concat!(
        "INSERT INTO entities (id, agent_id, names, metadata) VALUES ($1, $2, \
            (SELECT json_group_array(value ORDER BY place) FROM ( \
                SELECT value, min(key) AS place FROM json_each($3) GROUP BY value ORDER BY place LIMIT 32)), \
            json_patch('{}', $4)) \
         ON CONFLICT (id) DO UPDATE SET \
            names = (SELECT json_group_array(value ORDER BY place) FROM ( \
                SELECT value, min(place) AS place FROM ( \
                    SELECT value, key AS place FROM json_each(entities.names) \
                    UNION ALL SELECT value, key + 1000000 FROM json_each($3)) \
                GROUP BY value ORDER BY place LIMIT 32)), metadata = ",
        missing!("entities"),
        " WHERE entities.names <> '[]' OR entities.metadata <> '{}'"
    ),
    postgres: "INSERT INTO entities (id, agent_id, names, metadata) VALUES ($1, $2, newest($3, '[]'), merged('{}', $4)) \
               ON CONFLICT (id) DO UPDATE SET names = newest(entities.names, $3), metadata = excluded.metadata || entities.metadata \
               WHERE entities.names <> '[]' OR entities.metadata <> '{}'",
};
const PARTICIPANT: Dialects = Dialects::same(
    "INSERT INTO participants (room_id, entity_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
);

#[cfg(test)]
pub(crate) const WRITES: &[crate::dialect::Listed] =
    crate::dialect::listed![WORLD, ROOM, ENTITY, PAST_WORLD, PAST_ROOM, PAST_ENTITY, PARTICIPANT];

/// Metadata to merge, and what SQLite has to take out before.
pub(crate) fn merging(metadata: &Map<String, Json>) -> Result<[Value; 2]> {
    Ok([Value::Jsonb(to_json(metadata)?), Value::Jsonb(to_json(&replaced(metadata))?)])
}

/// Adds connections to a change, containers before what they contain.
pub(crate) fn push(change: &mut Change, connections: &ConnectionChange) -> Result<()> {
    let [of_world, of_room, of_entity] =
        if connections.past { [PAST_WORLD, PAST_ROOM, PAST_ENTITY] } else { [WORLD, ROOM, ENTITY] };
    for WorldChange { id, agent, source, remote, name, metadata } in &connections.worlds {
        let mut values = values![id.0, agent.0, source.as_str(), remote.as_str(), name.clone()];
        values.extend(merging(metadata)?);
        change.push(Write::statement(of_world.with(values)))?;
    }
    for RoomChange { id, agent, world, parent, source, account, remote, kind, name, metadata } in
        &connections.rooms
    {
        let mut values = values![
            id.0,
            agent.0,
            world.0,
            parent.map(|id| id.0),
            source.as_str(),
            account.0.as_str(),
            remote.as_str(),
            kind.as_str(),
            name.clone()
        ];
        values.extend(merging(metadata)?);
        change.push(Write::statement(of_room.with(values)))?;
    }
    for EntityChange { id, agent, names, metadata } in &connections.entities {
        let mut values = values![id.0, agent.0];
        values.push(Value::Jsonb(to_json(names)?));
        values.extend(merging(metadata)?);
        change.push(Write::statement(of_entity.with(values)))?;
    }
    for (entity, room) in &connections.participants {
        change.push(Write::statement(PARTICIPANT.with(values![room.0, entity.0])))?;
    }
    Ok(())
}

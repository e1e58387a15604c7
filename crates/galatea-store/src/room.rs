//! Rooms and who is in them.

use async_trait::async_trait;
use galatea_core::{
    Account, AgentId, EntityId, Participant, ParticipantState, RemoteId, Result, Room, RoomId,
    Source, WorldId, store::RoomStore,
};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::{self, from_json, from_name},
    dialect::{Dialects, Value, values},
    index::{place, reindex_terms, unindex_terms},
};

const LEAVE: Dialects = Dialects {
    sqlite: "DELETE FROM participants WHERE room_id = $1 AND entity_id IN (SELECT unhex(value) FROM json_each($2))",
    postgres: "DELETE FROM participants WHERE room_id = $1 AND entity_id = ANY ($2)",
};

// A Room moves ($1 to $2 with the remote id $3). Its memories are indexed by their Room; the table
// `doomed` lists them meanwhile. Where the new one exists already it wins field by
// field, except that a switch set in the old Room is kept.
macro_rules! moved {
    ($to:literal, $parent:literal, $merged:literal) => {
        concat!(
            "INSERT INTO rooms (id, agent_id, world_id, parent_id, source, account, remote, type, name, metadata) \
             SELECT ",
            $to,
            ", type, name, metadata FROM rooms WHERE id = $1 \
             ON CONFLICT (id) DO UPDATE SET remote = excluded.remote, parent_id = coalesce(",
            $parent,
            ", excluded.parent_id), metadata = ",
            $merged
        )
    };
}
macro_rules! copied_grants {
    ($to:literal) => {
        concat!(
            "INSERT INTO grants (agent_id, kind, tools, world_id, room_id, entity_id, least, ask, pin, at) \
             SELECT agent_id, kind, tools, world_id, ",
            $to,
            ", entity_id, least, ask, pin, at FROM grants WHERE room_id = $1 ON CONFLICT DO NOTHING"
        )
    };
}
const MOVE: [Dialects; 17] = [
    Dialects {
        sqlite: moved!(
            "$2, agent_id, world_id, parent_id, source, account, $3",
            "parent_id",
            "json_patch(excluded.metadata, metadata)"
        ),
        postgres: moved!(
            "$2::uuid, agent_id, world_id, parent_id, source, account, $3::text",
            "rooms.parent_id",
            "merged(excluded.metadata, rooms.metadata)"
        ),
    },
    Dialects::same("DELETE FROM rooms WHERE id = $1 AND $1 <> $2"),
    Dialects::same("UPDATE rooms SET parent_id = $2 WHERE parent_id = $1"),
    Dialects {
        sqlite: "INSERT INTO participants (room_id, entity_id, state) SELECT $2, entity_id, state FROM participants WHERE room_id = $1 \
                 ON CONFLICT (room_id, entity_id) DO UPDATE SET state = coalesce(excluded.state, state)",
        postgres: "INSERT INTO participants (room_id, entity_id, state) SELECT $2::uuid, entity_id, state FROM participants WHERE room_id = $1 \
                   ON CONFLICT (room_id, entity_id) DO UPDATE SET state = coalesce(excluded.state, participants.state)",
    },
    Dialects::same("DELETE FROM participants WHERE room_id = $1 AND $1 <> $2"),
    Dialects {
        sqlite: "INSERT INTO doomed (id) SELECT id FROM memories WHERE room_id = $1",
        postgres: "",
    },
    Dialects { sqlite: unindex_terms!("m.id IN (SELECT id FROM doomed)"), postgres: "" },
    Dialects {
        sqlite: "UPDATE memories SET room_id = $2 WHERE room_id = $1",
        postgres: concat!(
            "UPDATE memories SET room_id = $2::uuid, words = CASE scope WHEN 'room' THEN ts_delete(words, ",
            place!("valid_until"),
            ") || to_tsvector('simple', CASE WHEN valid_until IS NULL THEN '' ELSE 'x' END || replace(type, '_', '') || 'r' || replace($2::uuid::text, '-', '')) \
             ELSE words END WHERE room_id = $1"
        ),
    },
    Dialects::same("UPDATE embeddings SET owner = $2 WHERE owner = $1"),
    Dialects { sqlite: reindex_terms!("m.id IN (SELECT id FROM doomed)"), postgres: "" },
    Dialects { sqlite: "DELETE FROM doomed", postgres: "" },
    Dialects::same("UPDATE tasks SET room_id = $2 WHERE room_id = $1"),
    // A grant of the Room that exists already wins.
    Dialects { sqlite: copied_grants!("$2"), postgres: copied_grants!("$2::uuid") },
    Dialects::same("DELETE FROM grants WHERE room_id = $1 AND $1 <> $2"),
    Dialects::same("UPDATE traces SET room_id = $2 WHERE room_id = $1 AND texts IS NOT NULL"),
    Dialects::same("UPDATE inbox SET room_id = $2, room_remote = $3 WHERE room_id = $1"),
    Dialects::same("UPDATE outbox SET room_id = $2, room_remote = $3 WHERE room_id = $1"),
];

#[cfg(test)]
pub(crate) const WRITES: &[crate::dialect::Listed] = crate::dialect::listed![LEAVE];

/// The steps of a move, under one name.
#[cfg(test)]
pub(crate) fn moves() -> impl Iterator<Item = crate::dialect::Listed> {
    MOVE.into_iter().map(|step| (concat!(module_path!(), "::MOVE"), step))
}

macro_rules! room {
    ($condition:literal) => {
        Dialects::same(concat!(
            "SELECT id, agent_id, world_id, parent_id, source, account, remote, type AS kind, name, CAST(metadata AS text) AS metadata FROM rooms ",
            $condition
        ))
    };
}

pub(crate) const ROOM: Dialects = room!("WHERE id = $1");
pub(crate) const ROOMS: Dialects = room!("WHERE world_id = $1 ORDER BY name, id");
pub(crate) const OF_PERSON: Dialects = room!(
    "WHERE agent_id = $1 AND id IN (SELECT room_id FROM participants WHERE entity_id = $2) ORDER BY id"
);
pub(crate) const PARTICIPANTS: Dialects = Dialects::same(
    "SELECT entity_id, state FROM participants WHERE room_id = $1 ORDER BY entity_id",
);
pub(crate) const PARTICIPANT_STATE: Dialects =
    Dialects::same("SELECT state FROM participants WHERE room_id = $1 AND entity_id = $2");

#[derive(FromRow)]
pub(crate) struct Stored {
    id: Uuid,
    agent_id: Uuid,
    world_id: Uuid,
    parent_id: Option<Uuid>,
    source: String,
    account: String,
    remote: String,
    kind: String,
    name: String,
    metadata: String,
}

impl Stored {
    pub(crate) fn decode(self) -> Result<Room> {
        Ok(Room {
            id: RoomId(self.id),
            agent_id: AgentId(self.agent_id),
            world_id: WorldId(self.world_id),
            parent_id: convert::room(self.parent_id),
            source: Source::from_name(self.source),
            account: Account(self.account),
            remote: RemoteId(self.remote),
            kind: self.kind.parse()?,
            name: self.name,
            metadata: from_json("room metadata", &self.metadata)?,
        })
    }
}

/// Adds the removal of participants to a change.
pub(crate) fn push_leave(change: &mut Change, room: RoomId, entities: &[EntityId]) -> Result<()> {
    if entities.is_empty() {
        return Ok(());
    }
    let entities = Value::Ids(entities.iter().map(|id| id.0).collect());
    change.push(Write::statement(LEAVE.with(vec![room.0.into(), entities]))).map(drop)
}

/// Adds the move of a Room to a change.
pub(crate) fn push_move(
    change: &mut Change,
    room: RoomId,
    to_room: RoomId,
    to_remote: &RemoteId,
) -> Result<()> {
    let values = values![room.0, to_room.0, to_remote.as_str()];
    let statements = MOVE.into_iter().map(|step| step.with(values.clone())).collect();
    change.changed = true;
    change.push(Write::Other { statements, counted: None }).map(drop)
}

fn state(name: Option<String>) -> Result<Option<ParticipantState>> {
    name.map(|name| from_name("participant state", name)).transpose()
}

#[async_trait]
impl RoomStore for Database {
    async fn room(&self, id: RoomId) -> Result<Option<Room>> {
        self.fetch_one(ROOM.with(values![id.0])).await?.map(Stored::decode).transpose()
    }

    async fn rooms(&self, world: WorldId) -> Result<Vec<Room>> {
        self.all(ROOMS.with(values![world.0])).await?.into_iter().map(Stored::decode).collect()
    }

    async fn rooms_of(&self, agent: AgentId, person: EntityId) -> Result<Vec<Room>> {
        let rooms = self.all(OF_PERSON.with(values![agent.0, person.0])).await?;
        rooms.into_iter().map(Stored::decode).collect()
    }

    async fn participants(&self, room: RoomId) -> Result<Vec<Participant>> {
        let rows = self.all::<(Uuid, Option<String>)>(PARTICIPANTS.with(values![room.0])).await?;
        rows.into_iter()
            .map(|(entity, name)| {
                Ok(Participant { entity_id: EntityId(entity), room_id: room, state: state(name)? })
            })
            .collect()
    }

    async fn participant_state(
        &self,
        room: RoomId,
        entity: EntityId,
    ) -> Result<Option<ParticipantState>> {
        let select = PARTICIPANT_STATE.with(values![room.0, entity.0]);
        state(self.fetch_one::<(Option<String>,)>(select).await?.and_then(|(name,)| name))
    }
}

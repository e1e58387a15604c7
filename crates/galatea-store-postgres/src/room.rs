//! Rooms and who is in them.

use async_trait::async_trait;
use galatea_core::{Account, AgentId, EntityId, Participant, ParticipantState, RemoteId, Result, Room, RoomId, Source, WorldId, store::RoomStore};
use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    PostgresStore,
    apply::Step,
    change::uuid,
    convert::{self, from_json, from_name},
    effect,
    read::select,
};

pub(crate) const STEPS: &[Step] = &[
    (
        "save_room",
        "INSERT INTO rooms (id, agent_id, world_id, parent_id, source, account, remote, type, name, metadata) VALUES (
            (b ->> 'id')::uuid, (b ->> 'agent')::uuid, (b ->> 'world')::uuid, (b ->> 'parent')::uuid, b ->> 'source',
            b ->> 'account', b ->> 'remote', b ->> 'type', b ->> 'name', b -> 'metadata')
         ON CONFLICT (id) DO UPDATE SET agent_id = excluded.agent_id, world_id = excluded.world_id, parent_id = excluded.parent_id,
            source = excluded.source, account = excluded.account, remote = excluded.remote, type = excluded.type, name = excluded.name,
            metadata = excluded.metadata;",
    ),
    (
        "leave",
        "DELETE FROM participants WHERE room_id = (b ->> 'room')::uuid
            AND entity_id IN (SELECT value::uuid FROM jsonb_array_elements_text(b -> 'entities'));",
    ),
    (
        // Where the new room exists already it wins field by field, except that a switch set in the old room is kept.
        "move_room",
        "INSERT INTO rooms (id, agent_id, world_id, parent_id, source, account, remote, type, name, metadata)
            SELECT (b ->> 'to')::uuid, agent_id, world_id, parent_id, source, account, b ->> 'remote', type, name, metadata
            FROM rooms WHERE id = (b ->> 'from')::uuid
         ON CONFLICT (id) DO UPDATE SET remote = excluded.remote, parent_id = coalesce(rooms.parent_id, excluded.parent_id),
            metadata = pg_temp.merged(excluded.metadata, rooms.metadata);
         DELETE FROM rooms WHERE id = (b ->> 'from')::uuid AND b ->> 'from' <> b ->> 'to';
         UPDATE rooms SET parent_id = (b ->> 'to')::uuid WHERE parent_id = (b ->> 'from')::uuid;
         INSERT INTO participants (room_id, entity_id, state)
            SELECT (b ->> 'to')::uuid, entity_id, state FROM participants WHERE room_id = (b ->> 'from')::uuid
         ON CONFLICT (room_id, entity_id) DO UPDATE SET state = coalesce(excluded.state, participants.state);
         DELETE FROM participants WHERE room_id = (b ->> 'from')::uuid AND b ->> 'from' <> b ->> 'to';
         UPDATE memories SET room_id = (b ->> 'to')::uuid WHERE room_id = (b ->> 'from')::uuid;
         UPDATE tasks SET room_id = (b ->> 'to')::uuid WHERE room_id = (b ->> 'from')::uuid;
         UPDATE inbox SET room_id = (b ->> 'to')::uuid, room_remote = b ->> 'remote' WHERE room_id = (b ->> 'from')::uuid;
         UPDATE outbox SET room_id = (b ->> 'to')::uuid, room_remote = b ->> 'remote' WHERE room_id = (b ->> 'from')::uuid;",
    ),
];

pub(crate) const ROOM: &str = "SELECT id, agent_id, world_id, parent_id, source, account, remote, type AS kind, name, metadata::text FROM rooms WHERE id = $1";
pub(crate) const ROOMS: &str =
    "SELECT id, agent_id, world_id, parent_id, source, account, remote, type AS kind, name, metadata::text FROM rooms WHERE world_id = $1 ORDER BY name, id";
pub(crate) const PARTICIPANTS: &str = "SELECT entity_id, state FROM participants WHERE room_id = $1 ORDER BY entity_id";
pub(crate) const PARTICIPANT_STATE: &str = "SELECT state FROM participants WHERE room_id = $1 AND entity_id = $2";

#[derive(Serialize)]
struct Saved<'a> {
    id: Uuid,
    agent: Uuid,
    world: Uuid,
    parent: Option<Uuid>,
    source: &'a str,
    account: &'a str,
    remote: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    metadata: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct Left {
    room: Uuid,
    entities: Vec<Uuid>,
}

#[derive(FromRow)]
struct Stored {
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
    fn decode(self) -> Result<Room> {
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

fn state(name: Option<String>) -> Result<Option<ParticipantState>> {
    name.map(|name| from_name("participant state", name)).transpose()
}

#[async_trait]
impl RoomStore for PostgresStore {
    async fn room(&self, id: RoomId) -> Result<Option<Room>> {
        self.one(select::<Stored>(ROOM).bind(id.0)).await?.map(Stored::decode).transpose()
    }

    async fn rooms(&self, world: WorldId) -> Result<Vec<Room>> {
        self.all(select::<Stored>(ROOMS).bind(world.0)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn save_room(&self, room: &Room) -> Result<()> {
        let mut change = self.change();
        let row = Saved {
            id: uuid(room.id),
            agent: uuid(room.agent_id),
            world: uuid(room.world_id),
            parent: room.parent_id.map(uuid),
            source: room.source.as_str(),
            account: &room.account.0,
            remote: room.remote.as_str(),
            kind: room.kind.as_str(),
            name: &room.name,
            metadata: &room.metadata,
        };
        change.push("save_room", &row)?;
        self.write(change).await.map(drop)
    }

    async fn participants(&self, room: RoomId) -> Result<Vec<Participant>> {
        let rows = self.all(select::<(Uuid, Option<String>)>(PARTICIPANTS).bind(room.0)).await?;
        rows.into_iter().map(|(entity, name)| Ok(Participant { entity_id: EntityId(entity), room_id: room, state: state(name)? })).collect()
    }

    async fn participant_state(&self, room: RoomId, entity: EntityId) -> Result<Option<ParticipantState>> {
        let row = self.one(select::<(Option<String>,)>(PARTICIPANT_STATE).bind(room.0).bind(entity.0)).await?;
        state(row.and_then(|(name,)| name))
    }

    async fn set_participant_state(&self, room: RoomId, entity: EntityId, state: Option<ParticipantState>) -> Result<()> {
        let mut change = self.change();
        effect::push_state(&mut change, None, room, entity, state)?;
        self.write(change).await.map(drop)
    }

    async fn remove_participants(&self, room: RoomId, entities: &[EntityId]) -> Result<()> {
        let mut change = self.change();
        if !entities.is_empty() {
            change.push("leave", &Left { room: uuid(room), entities: entities.iter().map(|id| uuid(*id)).collect() })?;
        }
        self.write(change).await.map(drop)
    }
}

//! Entities.

use async_trait::async_trait;
use galatea_core::{AgentId, Entity, EntityId, Result, RoomId, store::EntityStore};
use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{PostgresStore, apply::Step, change::uuid, convert::from_json, read::select};

pub(crate) const STEPS: &[Step] = &[(
    "save_entity",
    "INSERT INTO entities (id, agent_id, names, metadata) VALUES (
        (b ->> 'id')::uuid, (b ->> 'agent')::uuid, b -> 'names', b -> 'metadata')
     ON CONFLICT (id) DO UPDATE SET agent_id = excluded.agent_id, names = excluded.names, metadata = excluded.metadata;",
)];

pub(crate) const ENTITIES: &str = "SELECT id, agent_id, names::text, metadata::text FROM entities WHERE id = ANY ($1)";
pub(crate) const ENTITIES_IN_ROOM: &str =
    "SELECT e.id, e.agent_id, e.names::text, e.metadata::text FROM participants p JOIN entities e ON e.id = p.entity_id WHERE p.room_id = $1 ORDER BY e.id";

#[derive(Serialize)]
struct Saved<'a> {
    id: Uuid,
    agent: Uuid,
    names: &'a [String],
    metadata: &'a Map<String, Value>,
}

#[derive(FromRow)]
struct Stored {
    id: Uuid,
    agent_id: Uuid,
    names: String,
    metadata: String,
}

impl Stored {
    fn decode(self) -> Result<Entity> {
        Ok(Entity {
            id: EntityId(self.id),
            agent_id: AgentId(self.agent_id),
            names: from_json("entity names", &self.names)?,
            metadata: from_json("entity metadata", &self.metadata)?,
        })
    }
}

#[async_trait]
impl EntityStore for PostgresStore {
    async fn entities(&self, ids: &[EntityId]) -> Result<Vec<Entity>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.all(select::<Stored>(ENTITIES).bind(ids.iter().map(|id| id.0).collect::<Vec<_>>())).await?.into_iter().map(Stored::decode).collect()
    }

    async fn entities_in_room(&self, room: RoomId) -> Result<Vec<Entity>> {
        self.all(select::<Stored>(ENTITIES_IN_ROOM).bind(room.0)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn save_entity(&self, entity: &Entity) -> Result<()> {
        let mut change = self.change();
        change.push("save_entity", &Saved { id: uuid(entity.id), agent: uuid(entity.agent_id), names: &entity.names, metadata: &entity.metadata })?;
        self.write(change).await.map(drop)
    }
}

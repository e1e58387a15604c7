//! Entities.

use async_trait::async_trait;
use galatea_core::{AgentId, Entity, EntityId, Result, RoomId, store::EntityStore};
use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    SqliteStore,
    apply::Trigger,
    change::{Hex, hex},
    convert::{from_json, ids_json},
    read::select,
};

pub(crate) const TRIGGERS: &[Trigger] = &[(
    "save_entity",
    "INSERT INTO entities (id, agent_id, names, metadata) VALUES (
        unhex(NEW.body ->> 'id'), unhex(NEW.body ->> 'agent'), NEW.body -> 'names', NEW.body -> 'metadata')
     ON CONFLICT (id) DO UPDATE SET agent_id = excluded.agent_id, names = excluded.names, metadata = excluded.metadata;",
)];

pub(crate) const ENTITIES: &str = "SELECT id, agent_id, names, metadata FROM entities WHERE id IN (SELECT unhex(value) FROM json_each(?1))";
pub(crate) const ENTITIES_IN_ROOM: &str =
    "SELECT e.id, e.agent_id, e.names, e.metadata FROM participants p JOIN entities e ON e.id = p.entity_id WHERE p.room_id = ?1 ORDER BY e.id";

#[derive(Serialize)]
struct Saved<'a> {
    id: Hex,
    agent: Hex,
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
impl EntityStore for SqliteStore {
    async fn entities(&self, ids: &[EntityId]) -> Result<Vec<Entity>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.all(select::<Stored>(ENTITIES).bind(ids_json(ids))).await?.into_iter().map(Stored::decode).collect()
    }

    async fn entities_in_room(&self, room: RoomId) -> Result<Vec<Entity>> {
        self.all(select::<Stored>(ENTITIES_IN_ROOM).bind(room.0)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn save_entity(&self, entity: &Entity) -> Result<()> {
        let mut change = self.change();
        change.push("save_entity", &Saved { id: hex(entity.id), agent: hex(entity.agent_id), names: &entity.names, metadata: &entity.metadata })?;
        self.write(change).await.map(drop)
    }
}

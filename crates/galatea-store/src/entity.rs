//! Entities.

use async_trait::async_trait;
use galatea_core::{AgentId, Entity, EntityId, Result, RoomId, WorldId, store::EntityStore};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    convert::from_json,
    dialect::{Dialects, Value, values},
};

macro_rules! entities {
    ($from:literal) => {
        concat!(
            "SELECT e.id, e.agent_id, CAST(e.names AS text) AS names, CAST(e.metadata AS text) AS metadata FROM ",
            $from
        )
    };
}

pub(crate) const ENTITIES: Dialects = Dialects {
    sqlite: entities!("entities e WHERE e.id IN (SELECT unhex(value) FROM json_each($1))"),
    postgres: entities!("entities e WHERE e.id = ANY ($1)"),
};
pub(crate) const ENTITIES_IN_ROOM: Dialects = Dialects::same(entities!(
    "participants p JOIN entities e ON e.id = p.entity_id WHERE p.room_id = $1 ORDER BY e.id"
));
// As arrays: for joins PostgreSQL may read all participants.
pub(crate) const ENTITIES_IN_WORLD: Dialects = Dialects {
    sqlite: entities!(
        "entities e WHERE e.id IN (SELECT DISTINCT p.entity_id FROM participants p \
         WHERE p.room_id IN (SELECT r.id FROM rooms r WHERE r.world_id = $1) ORDER BY p.entity_id LIMIT +$2) ORDER BY e.id"
    ),
    postgres: entities!(
        "entities e WHERE e.id = ANY (ARRAY(SELECT DISTINCT p.entity_id FROM participants p \
         WHERE p.room_id = ANY (ARRAY(SELECT r.id FROM rooms r WHERE r.world_id = $1)) ORDER BY p.entity_id LIMIT $2)) ORDER BY e.id"
    ),
};

#[derive(FromRow)]
pub(crate) struct Stored {
    id: Uuid,
    agent_id: Uuid,
    names: String,
    metadata: String,
}

impl Stored {
    pub(crate) fn decode(self) -> Result<Entity> {
        Ok(Entity {
            id: EntityId(self.id),
            agent_id: AgentId(self.agent_id),
            names: from_json("entity names", &self.names)?,
            metadata: from_json("entity metadata", &self.metadata)?,
        })
    }
}

#[async_trait]
impl EntityStore for Database {
    async fn entities(&self, ids: &[EntityId]) -> Result<Vec<Entity>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids = Value::Ids(ids.iter().map(|id| id.0).collect());
        self.all(ENTITIES.with(vec![ids])).await?.into_iter().map(Stored::decode).collect()
    }

    async fn entities_in_room(&self, room: RoomId) -> Result<Vec<Entity>> {
        let rows = self.all(ENTITIES_IN_ROOM.with(values![room.0])).await?;
        rows.into_iter().map(Stored::decode).collect()
    }

    async fn entities_in_world(&self, world: WorldId, limit: u32) -> Result<Vec<Entity>> {
        let rows = self.all(ENTITIES_IN_WORLD.with(values![world.0, limit])).await?;
        rows.into_iter().map(Stored::decode).collect()
    }
}

//! Relationships.

use async_trait::async_trait;
use galatea_core::{
    AgentId, EntityId, Relationship, RelationshipId, Result, store::RelationshipStore,
};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::{from_json, to_json},
    dialect::{Dialects, Value, values},
};

/// Both the row of the same id and that of the same triple make room.
pub(crate) const MAKE_ROOM: Dialects = Dialects::same(
    "DELETE FROM relationships WHERE id = $1 OR (agent_id = $2 AND source_entity_id = $3 AND target_entity_id = $4)",
);
pub(crate) const SAVE: Dialects = Dialects::same(
    "INSERT INTO relationships (id, agent_id, source_entity_id, target_entity_id, tags, metadata) VALUES ($1, $2, $3, $4, $5, $6)",
);
pub(crate) const RELATIONSHIPS: Dialects = Dialects::same(
    "SELECT id, agent_id, source_entity_id, target_entity_id, CAST(tags AS text) AS tags, CAST(metadata AS text) AS metadata FROM relationships \
     WHERE agent_id = $1 AND (source_entity_id = $2 OR target_entity_id = $2) ORDER BY id",
);

#[derive(FromRow)]
struct Stored {
    id: Uuid,
    agent_id: Uuid,
    source_entity_id: Uuid,
    target_entity_id: Uuid,
    tags: String,
    metadata: String,
}

impl Stored {
    fn decode(self) -> Result<Relationship> {
        Ok(Relationship {
            id: RelationshipId(self.id),
            agent_id: AgentId(self.agent_id),
            source_entity_id: EntityId(self.source_entity_id),
            target_entity_id: EntityId(self.target_entity_id),
            tags: from_json("relationship tags", &self.tags)?,
            metadata: from_json("relationship metadata", &self.metadata)?,
        })
    }
}

#[async_trait]
impl RelationshipStore for Database {
    async fn save_relationship(&self, relationship: &Relationship) -> Result<()> {
        let which = || {
            values![
                relationship.id.0,
                relationship.agent_id.0,
                relationship.source_entity_id.0,
                relationship.target_entity_id.0
            ]
        };
        let mut values = which();
        values.push(Value::Json(Some(to_json(&relationship.tags)?)));
        values.push(Value::Json(Some(to_json(&relationship.metadata)?)));
        let statements = vec![MAKE_ROOM.with(which()), SAVE.with(values)];
        let mut change = Change::default();
        change.push(Write::Other { statements, counted: None })?;
        self.write(change).await.map(drop)
    }

    async fn relationships(&self, agent: AgentId, entity: EntityId) -> Result<Vec<Relationship>> {
        let rows = self.all(RELATIONSHIPS.with(values![agent.0, entity.0])).await?;
        rows.into_iter().map(Stored::decode).collect()
    }
}

//! Relationships.

use async_trait::async_trait;
use galatea_core::{AgentId, EntityId, Relationship, RelationshipId, Result, store::RelationshipStore};
use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    PostgresStore,
    apply::Step,
    change::{Text, uuid},
    convert::from_json,
    read::select,
};

pub(crate) const STEPS: &[Step] = &[(
    // Both the row of the same id and that of the same triple make room.
    "relationship",
    "DELETE FROM relationships WHERE id = (b ->> 'id')::uuid OR (agent_id = (b ->> 'agent')::uuid
        AND source_entity_id = (b ->> 'source')::uuid AND target_entity_id = (b ->> 'target')::uuid);
     INSERT INTO relationships (id, agent_id, source_entity_id, target_entity_id, tags, metadata) VALUES (
        (b ->> 'id')::uuid, (b ->> 'agent')::uuid, (b ->> 'source')::uuid, (b ->> 'target')::uuid,
        (b ->> 'tags')::json, (b ->> 'metadata')::json);",
)];

pub(crate) const RELATIONSHIPS: &str = "SELECT id, agent_id, source_entity_id, target_entity_id, tags::text, metadata::text FROM relationships \
     WHERE agent_id = $1 AND (source_entity_id = $2 OR target_entity_id = $2) ORDER BY id";

#[derive(Serialize)]
struct Saved<'a> {
    id: Uuid,
    agent: Uuid,
    source: Uuid,
    target: Uuid,
    tags: Text<'a, [String]>,
    metadata: Text<'a, Map<String, Value>>,
}

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
impl RelationshipStore for PostgresStore {
    async fn save_relationship(&self, relationship: &Relationship) -> Result<()> {
        let mut change = self.change();
        let row = Saved {
            id: uuid(relationship.id),
            agent: uuid(relationship.agent_id),
            source: uuid(relationship.source_entity_id),
            target: uuid(relationship.target_entity_id),
            tags: Text(&relationship.tags),
            metadata: Text(&relationship.metadata),
        };
        change.push("relationship", &row)?;
        self.write(change).await.map(drop)
    }

    async fn relationships(&self, agent: AgentId, entity: EntityId) -> Result<Vec<Relationship>> {
        self.all(select::<Stored>(RELATIONSHIPS).bind(agent.0).bind(entity.0)).await?.into_iter().map(Stored::decode).collect()
    }
}

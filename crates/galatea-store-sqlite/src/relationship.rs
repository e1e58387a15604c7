//! Relationships.

use async_trait::async_trait;
use galatea_core::{AgentId, EntityId, Relationship, RelationshipId, Result, store::RelationshipStore};
use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    SqliteStore,
    apply::Trigger,
    change::{Hex, hex},
    convert::from_json,
    read::select,
};

pub(crate) const TRIGGERS: &[Trigger] = &[(
    // REPLACE takes out the row of the same id as well as that of the same triple.
    "relationship",
    "INSERT OR REPLACE INTO relationships (id, agent_id, source_entity_id, target_entity_id, tags, metadata) VALUES (
        unhex(NEW.body ->> 'id'), unhex(NEW.body ->> 'agent'), unhex(NEW.body ->> 'source'), unhex(NEW.body ->> 'target'),
        NEW.body -> 'tags', NEW.body -> 'metadata');",
)];

pub(crate) const RELATIONSHIPS: &str = "SELECT id, agent_id, source_entity_id, target_entity_id, tags, metadata FROM relationships \
     WHERE agent_id = ?1 AND (source_entity_id = ?2 OR target_entity_id = ?2) ORDER BY id";

#[derive(Serialize)]
struct Saved<'a> {
    id: Hex,
    agent: Hex,
    source: Hex,
    target: Hex,
    tags: &'a [String],
    metadata: &'a Map<String, Value>,
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
impl RelationshipStore for SqliteStore {
    async fn save_relationship(&self, relationship: &Relationship) -> Result<()> {
        let mut change = self.change();
        let row = Saved {
            id: hex(relationship.id),
            agent: hex(relationship.agent_id),
            source: hex(relationship.source_entity_id),
            target: hex(relationship.target_entity_id),
            tags: &relationship.tags,
            metadata: &relationship.metadata,
        };
        change.push("relationship", &row)?;
        self.write(change).await.map(drop)
    }

    async fn relationships(&self, agent: AgentId, entity: EntityId) -> Result<Vec<Relationship>> {
        self.all(select::<Stored>(RELATIONSHIPS).bind(agent.0).bind(entity.0)).await?.into_iter().map(Stored::decode).collect()
    }
}

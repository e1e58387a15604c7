//! Relationships, and which entities are one person.

use async_trait::async_trait;
use galatea_core::{
    AgentId, EntityId, Error, Relationship, RelationshipId, Result, TaskId, Timestamp,
    store::{MOST_LINKED, RelationshipStore},
};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::{self, from_json, to_json},
    dialect::{Dialects, Value, values},
    task,
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
     WHERE id IN (SELECT s.id FROM relationships s WHERE s.agent_id = $1 AND s.source_entity_id = $2 \
        UNION ALL SELECT t.id FROM relationships t WHERE t.agent_id = $1 AND t.target_entity_id = $2) ORDER BY id",
);

/// Links of an agent change one after another, in all processes: two that link overlapping accounts at
/// once would each miss what the other stores. Taken before any row, so that two changes never wait for
/// one another. The first number is ours alone.
pub(crate) const LOCK: Dialects = Dialects {
    sqlite: "",
    postgres: "SELECT pg_advisory_xact_lock(1271819331, hashtext($1::uuid::text))",
};
/// Each with each, as long as the question to both sides stands and none of them is linked with an
/// entity that the question did not name. What is linked already keeps its time.
pub(crate) const LINK: Dialects = Dialects {
    sqlite: "INSERT INTO identity_links (agent_id, entity_id, linked_id, linked_at) \
             SELECT $1, unhex(a.value), unhex(b.value), $3 FROM json_each($2) a JOIN json_each($2) b WHERE a.value <> b.value \
             AND EXISTS (SELECT 1 FROM tasks WHERE id = $4 AND agent_id = $1) \
             AND NOT EXISTS (SELECT 1 FROM identity_links WHERE agent_id = $1 AND entity_id IN (SELECT unhex(value) FROM json_each($2)) \
                AND linked_id NOT IN (SELECT unhex(value) FROM json_each($2))) \
             ON CONFLICT DO NOTHING",
    postgres: "WITH question AS MATERIALIZED (SELECT id FROM tasks WHERE id = $4 AND agent_id = $1 FOR UPDATE) \
               INSERT INTO identity_links (agent_id, entity_id, linked_id, linked_at) \
               SELECT $1::uuid, a.id, b.id, $3::bigint FROM unnest($2::uuid[]) a (id) JOIN unnest($2::uuid[]) b (id) ON a.id <> b.id \
               WHERE EXISTS (SELECT 1 FROM question) \
               AND NOT EXISTS (SELECT 1 FROM identity_links WHERE agent_id = $1 AND entity_id = ANY ($2) AND linked_id <> ALL ($2)) \
               ON CONFLICT DO NOTHING",
};
/// Touches rows only if each of these ($3 pairs) is linked with each now: as the change left them, or as
/// it did before its answer was lost.
pub(crate) const STANDS: Dialects = Dialects {
    sqlite: "UPDATE identity_links SET linked_at = linked_at WHERE agent_id = $1 AND entity_id IN (SELECT unhex(value) FROM json_each($2)) \
             AND (SELECT count(*) FROM identity_links o WHERE o.agent_id = $1 AND o.entity_id IN (SELECT unhex(value) FROM json_each($2)) \
                AND o.linked_id IN (SELECT unhex(value) FROM json_each($2))) = $3",
    postgres: "UPDATE identity_links SET linked_at = linked_at WHERE agent_id = $1 AND entity_id = ANY ($2) \
               AND (SELECT count(*) FROM identity_links o WHERE o.agent_id = $1 AND o.entity_id = ANY ($2) AND o.linked_id = ANY ($2)) = $3",
};
/// Both directions. SQLite does not use an index for each side of the OR.
pub(crate) const UNLINK: Dialects = Dialects {
    sqlite: "DELETE FROM identity_links WHERE agent_id = $1 AND (entity_id = $2 OR linked_id = $2) AND entity_id IN ( \
                SELECT $2 UNION ALL SELECT l.linked_id FROM identity_links l WHERE l.agent_id = $1 AND l.entity_id = $2)",
    postgres: "DELETE FROM identity_links WHERE agent_id = $1 AND (entity_id = $2 OR linked_id = $2)",
};
pub(crate) const LINKED: Dialects = Dialects::same(
    "SELECT linked_id FROM identity_links WHERE agent_id = $1 AND entity_id = $2 ORDER BY linked_id",
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

/// Adds that nothing else changes the links of an agent until the change is committed.
pub(crate) fn push_lock(change: &mut Change, agent: AgentId) -> Result<()> {
    change.push(Write::statement(LOCK.with(values![agent.0]))).map(drop)
}

/// Adds that these entities are one person. Refuses the change unless the question stands and they are
/// linked with no other entity; the question is answered then.
pub(crate) fn push_link(
    change: &mut Change,
    agent: AgentId,
    question: TaskId,
    entities: &[EntityId],
    at: Timestamp,
) -> Result<()> {
    if entities.len() > MOST_LINKED {
        return Err(Error::invalid("too many entities for one person").with("most", MOST_LINKED));
    }
    let mut all: Vec<Uuid> = entities.iter().map(|id| id.0).collect();
    all.sort_unstable();
    all.dedup();
    let pairs = convert::width(all.len() * all.len().saturating_sub(1));
    let ids = Value::Ids(all);
    let link = vec![agent.0.into(), ids.clone(), at.0.into(), question.0.into()];
    let stands = vec![agent.0.into(), ids, pairs.into()];
    let answered = task::DELETE.with(values![question.0, agent.0]);
    let statements = vec![LINK.with(link), answered, STANDS.with(stands)];
    change.push(Write::Required { statements }).map(drop)
}

/// Adds the end of an entity's links.
pub(crate) fn push_unlink(change: &mut Change, agent: AgentId, entity: EntityId) -> Result<()> {
    change.push(Write::statement(UNLINK.with(values![agent.0, entity.0]))).map(drop)
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

    async fn linked(&self, agent: AgentId, entity: EntityId) -> Result<Vec<EntityId>> {
        let rows = self.all::<(Uuid,)>(LINKED.with(values![agent.0, entity.0])).await?;
        Ok(rows.into_iter().map(|(id,)| EntityId(id)).collect())
    }
}

//! Memories.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Content, EntityId, Memory, MemoryId, MemoryKind, Result, RoomId, Timestamp, WorldId,
    store::{MemoryQuery, MemoryStore},
};
use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    PostgresStore,
    apply::{Batch, Step},
    change::{Change, Text, uuid},
    convert::from_json,
    read::{select, select_built},
    search,
};

mod filter;

#[cfg(test)]
pub(crate) use filter::statements as filter_statements;
pub(crate) use filter::{COLUMNS, Filter};

pub(crate) const MEMORY_ROWS: Batch = (
    "memory",
    "INSERT INTO memories (id, type, agent_id, entity_id, room_id, world_id, created_at, metadata, content, words)
        SELECT id, type, agent, entity, room, world, at, metadata::json, content::json, to_tsvector('simple', words)
        FROM jsonb_to_recordset(rows) r(id uuid, type text, agent uuid, entity uuid, room uuid, world uuid, at bigint, metadata text, content text, words text)
     ON CONFLICT (id) DO NOTHING;",
);

pub(crate) const STEPS: &[Step] = &[
    (
        "update_content",
        "UPDATE memories SET content = (b ->> 'content')::json, words = to_tsvector('simple', b ->> 'words')
            WHERE id = (b ->> 'id')::uuid AND agent_id = (b ->> 'agent')::uuid;
         GET DIAGNOSTICS touched = ROW_COUNT;
         DELETE FROM embeddings WHERE seq IN (SELECT seq FROM memories WHERE id = (b ->> 'id')::uuid AND agent_id = (b ->> 'agent')::uuid);",
    ),
    (
        // A message that is taken back before its turn is not answered; what was typed goes from its inbox row too, and the
        // row itself stays: it tells a replayed message apart from a new one, and no message drops out of the count.
        "delete_memory",
        "DELETE FROM memories WHERE id = (b ->> 'id')::uuid AND agent_id = (b ->> 'agent')::uuid;
         GET DIAGNOSTICS touched = ROW_COUNT;
         IF touched > 0 THEN
            UPDATE inbox SET envelope = envelope - 'command' - 'pressed', finished_at = coalesce(finished_at, (b ->> 'at')::bigint),
                verdict = CASE state WHEN 'new' THEN (b ->> 'verdict')::json ELSE verdict END, state = CASE state WHEN 'new' THEN 'skipped' ELSE state END
                WHERE id = (b ->> 'id')::uuid AND agent_id = (b ->> 'agent')::uuid;
         END IF;
         UPDATE outbox SET body = 'null' WHERE memory_id = (b ->> 'id')::uuid AND agent_id = (b ->> 'agent')::uuid
            AND state NOT IN ('pending', 'sending');",
    ),
];

pub(crate) const MEMORY: &str =
    "SELECT id, type AS kind, agent_id, entity_id, room_id, world_id, created_at, metadata::text, content::text FROM memories WHERE id = $1";

/// A memory's columns in a row of a change.
#[derive(Serialize)]
pub(crate) struct MemoryRow<'a> {
    id: Uuid,
    #[serde(rename = "type")]
    kind: &'static str,
    agent: Uuid,
    entity: Uuid,
    room: Uuid,
    world: Option<Uuid>,
    at: i64,
    metadata: Text<'a, Map<String, Value>>,
    content: Text<'a, Content>,
    words: String,
}

impl<'a> From<&'a Memory> for MemoryRow<'a> {
    fn from(memory: &'a Memory) -> Self {
        Self {
            id: uuid(memory.id),
            kind: memory.kind.as_str(),
            agent: uuid(memory.agent_id),
            entity: uuid(memory.entity_id),
            room: uuid(memory.room_id),
            world: memory.world_id.map(uuid),
            at: memory.created_at.0,
            metadata: Text(&memory.metadata),
            content: Text(&memory.content),
            words: search::folded(&memory.content.text),
        }
    }
}

/// Adds memories to a change; ids that exist are left as they are.
pub(crate) fn push(change: &mut Change, memories: &[Memory]) -> Result<()> {
    memories.iter().try_for_each(|memory| change.push_about("memory", uuid(memory.id), &MemoryRow::from(memory)))
}

#[derive(Serialize)]
struct Updated<'a> {
    id: Uuid,
    agent: Uuid,
    content: Text<'a, Content>,
    words: String,
}

#[derive(Serialize)]
struct Deleted<'a> {
    id: Uuid,
    agent: Uuid,
    at: i64,
    verdict: Text<'a, galatea_core::Verdict>,
}

#[derive(FromRow)]
pub(crate) struct Stored {
    id: Uuid,
    kind: String,
    agent_id: Uuid,
    entity_id: Uuid,
    room_id: Uuid,
    world_id: Option<Uuid>,
    created_at: i64,
    metadata: String,
    content: String,
}

impl Stored {
    pub(crate) fn decode(self) -> Result<Memory> {
        Ok(Memory {
            id: MemoryId(self.id),
            kind: MemoryKind::from_stored(&self.kind),
            agent_id: AgentId(self.agent_id),
            entity_id: EntityId(self.entity_id),
            room_id: RoomId(self.room_id),
            world_id: self.world_id.map(WorldId),
            content: from_json("memory content", &self.content)?,
            metadata: from_json("memory metadata", &self.metadata)?,
            created_at: Timestamp(self.created_at),
        })
    }
}

#[async_trait]
impl MemoryStore for PostgresStore {
    async fn memory(&self, id: MemoryId) -> Result<Option<Memory>> {
        self.one(select::<Stored>(MEMORY).bind(id.0)).await?.map(Stored::decode).transpose()
    }

    async fn memories(&self, query: &MemoryQuery) -> Result<Vec<Memory>> {
        let filter = Filter::new(query);
        let select = filter.bind(select_built::<Stored>(filter.page())).bind(i64::from(query.limit));
        self.all(select).await?.into_iter().map(Stored::decode).collect()
    }

    async fn count_memories(&self, query: &MemoryQuery) -> Result<u64> {
        let filter = Filter::new(query);
        let row = self.one(filter.bind(select_built::<(i64,)>(filter.count()))).await?;
        Ok(row.and_then(|(count,)| u64::try_from(count).ok()).unwrap_or(0))
    }

    async fn save_memories(&self, memories: &[Memory]) -> Result<()> {
        let mut change = self.change();
        push(&mut change, memories)?;
        self.write(change).await.map(drop)
    }

    async fn update_content(&self, agent: AgentId, id: MemoryId, content: &Content) -> Result<bool> {
        let mut change = self.change();
        change.push_answered(
            "update_content",
            uuid(id),
            &Updated { id: uuid(id), agent: uuid(agent), content: Text(content), words: search::folded(&content.text) },
        )?;
        Ok(self.write(change).await?.iter().any(|hits| *hits > 0))
    }

    async fn delete_memories(&self, agent: AgentId, ids: &[MemoryId]) -> Result<u64> {
        let mut verdict = galatea_core::Verdict::default();
        verdict.step("deleted", "skip", "the message was deleted before it was answered");
        let mut change = self.change();
        for id in ids {
            change.push_answered("delete_memory", uuid(*id), &Deleted { id: uuid(*id), agent: uuid(agent), at: self.now().0, verdict: Text(&verdict) })?;
        }
        Ok(self.write(change).await?.iter().sum())
    }
}

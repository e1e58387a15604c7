//! Memories.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Content, EntityId, Memory, MemoryId, MemoryKind, Result, RoomId, Timestamp, WorldId,
    store::{MemoryQuery, MemoryStore},
};
use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::FromRow;
use std::sync::Arc;
use uuid::Uuid;

use crate::{
    SqliteStore,
    apply::Trigger,
    change::{Change, Hex, hex},
    convert::from_json,
    read::{select, select_built},
    recent::Known,
};

mod filter;
mod page;

pub(crate) use filter::Filter;
#[cfg(test)]
pub(crate) use filter::statements as filter_statements;
pub(crate) use page::{read as read_page, read_with as read_page_with};

/// Served for every row.
pub(crate) const HOT_TRIGGERS: &[Trigger] = &[(
    "memory",
    "INSERT INTO memories (id, type, agent_id, entity_id, room_id, world_id, created_at, metadata, content) VALUES (
        unhex(NEW.body ->> 'id'), NEW.body ->> 'type', unhex(NEW.body ->> 'agent'), unhex(NEW.body ->> 'entity'), unhex(NEW.body ->> 'room'),
        unhex(NEW.body ->> 'world'), NEW.body ->> 'at', NEW.body -> 'metadata', NEW.body -> 'content')
     ON CONFLICT (id) DO NOTHING;
     UPDATE answer SET hits = changes();",
)];

pub(crate) const TRIGGERS: &[Trigger] = &[
    (
        "update_content",
        "INSERT INTO memories_fts (memories_fts, rowid, text) SELECT 'delete', t.seq, t.text FROM memories m JOIN memory_text t ON t.seq = m.seq
            WHERE m.id = unhex(NEW.body ->> 'id') AND m.agent_id = unhex(NEW.body ->> 'agent') AND m.seq <= (SELECT seq FROM search_progress);
         UPDATE memories SET content = NEW.body -> 'content' WHERE id = unhex(NEW.body ->> 'id') AND agent_id = unhex(NEW.body ->> 'agent');
         UPDATE answer SET hits = changes();
         DELETE FROM embeddings WHERE seq IN (SELECT seq FROM memories
            WHERE id = unhex(NEW.body ->> 'id') AND agent_id = unhex(NEW.body ->> 'agent'));
         INSERT INTO memories_fts (rowid, text) SELECT t.seq, t.text FROM memories m JOIN memory_text t ON t.seq = m.seq
            WHERE m.id = unhex(NEW.body ->> 'id') AND m.agent_id = unhex(NEW.body ->> 'agent') AND m.seq <= (SELECT seq FROM search_progress);",
    ),
    (
        // A message that is taken back before its turn is not answered; what was typed goes from its inbox row too, and the
        // row itself stays: it tells a replayed message apart from a new one, and no message drops out of the count.
        "delete_memory",
        "INSERT INTO memories_fts (memories_fts, rowid, text) SELECT 'delete', t.seq, t.text FROM memories m JOIN memory_text t ON t.seq = m.seq
            WHERE m.id = unhex(NEW.body ->> 'id') AND m.agent_id = unhex(NEW.body ->> 'agent') AND m.seq <= (SELECT seq FROM search_progress);
         UPDATE inbox SET envelope = json_remove(envelope, '$.command', '$.pressed'), finished_at = coalesce(finished_at, NEW.body ->> 'at'),
            verdict = CASE state WHEN 'new' THEN NEW.body -> 'verdict' ELSE verdict END, state = CASE state WHEN 'new' THEN 'skipped' ELSE state END
            WHERE id = unhex(NEW.body ->> 'id') AND agent_id = unhex(NEW.body ->> 'agent')
            AND EXISTS (SELECT 1 FROM memories WHERE id = unhex(NEW.body ->> 'id') AND agent_id = unhex(NEW.body ->> 'agent'));
         UPDATE outbox SET body = 'null' WHERE memory_id = unhex(NEW.body ->> 'id') AND agent_id = unhex(NEW.body ->> 'agent')
            AND state NOT IN ('pending', 'sending');
         DELETE FROM memories WHERE id = unhex(NEW.body ->> 'id') AND agent_id = unhex(NEW.body ->> 'agent');
         UPDATE answer SET hits = changes();
         UPDATE search_progress SET seq = min(seq, coalesce((SELECT max(seq) FROM memories), 0));",
    ),
];

pub(crate) const MEMORY: &str = "SELECT id, type AS kind, agent_id, entity_id, room_id, world_id, created_at, metadata, content FROM memories WHERE id = ?1";

/// A memory's columns in a row of a change.
#[derive(Serialize)]
pub(crate) struct MemoryRow<'a> {
    id: Hex,
    #[serde(rename = "type")]
    kind: &'static str,
    agent: Hex,
    entity: Hex,
    room: Hex,
    world: Option<Hex>,
    at: i64,
    metadata: &'a Map<String, Value>,
    content: &'a Content,
}

impl<'a> From<&'a Memory> for MemoryRow<'a> {
    fn from(memory: &'a Memory) -> Self {
        Self {
            id: hex(memory.id),
            kind: memory.kind.as_str(),
            agent: hex(memory.agent_id),
            entity: hex(memory.entity_id),
            room: hex(memory.room_id),
            world: memory.world_id.map(hex),
            at: memory.created_at.0,
            metadata: &memory.metadata,
            content: &memory.content,
        }
    }
}

/// Adds memories to a change; ids that exist are left as they are.
pub(crate) fn push(change: &mut Change, memories: Vec<Memory>) -> Result<()> {
    for memory in memories {
        change.push_answered("memory", &MemoryRow::from(&memory))?;
        change.stores(memory);
    }
    Ok(())
}

#[derive(Serialize)]
struct Updated<'a> {
    id: Hex,
    agent: Hex,
    content: &'a Content,
}

#[derive(Serialize)]
struct Deleted<'a> {
    id: Hex,
    agent: Hex,
    at: i64,
    verdict: &'a galatea_core::Verdict,
}

#[derive(FromRow)]
struct Stored {
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
    fn decode(self) -> Result<Memory> {
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

impl SqliteStore {
    /// A page from the tables, whatever is kept of it in memory.
    pub(crate) async fn page(&self, query: &MemoryQuery) -> Result<Vec<Memory>> {
        let filter = Filter::new(query);
        if filter.searches() {
            self.index_text().await?;
        }
        let page = self.one(filter.bind(select_built::<(Option<String>,)>(filter.page())).bind(i64::from(query.limit))).await?;
        page.and_then(|(page,)| page).map_or_else(|| Ok(Vec::new()), |page| page::read(&page))
    }
}

#[async_trait]
impl MemoryStore for SqliteStore {
    async fn memory(&self, id: MemoryId) -> Result<Option<Memory>> {
        self.one(select::<Stored>(MEMORY).bind(id.0)).await?.map(Stored::decode).transpose()
    }

    async fn memories(&self, query: &MemoryQuery) -> Result<Vec<Memory>> {
        Ok(self.shared_memories(query).await?.into_iter().map(Arc::unwrap_or_clone).collect())
    }

    async fn shared_memories(&self, query: &MemoryQuery) -> Result<Vec<Arc<Memory>>> {
        match self.0.recent.look(query) {
            Known::Page(page) => Ok(page),
            Known::Read(reading) => {
                let read = self.page(&reading.query()).await?;
                Ok(self.0.recent.fill(&reading, query, read))
            }
            Known::Other => Ok(self.page(query).await?.into_iter().map(Arc::new).collect()),
        }
    }

    async fn count_memories(&self, query: &MemoryQuery) -> Result<u64> {
        let filter = Filter::new(query);
        if filter.searches() {
            self.index_text().await?;
        }
        let row = self.one(filter.bind(select_built::<(i64,)>(filter.count()))).await?;
        Ok(row.and_then(|(count,)| u64::try_from(count).ok()).unwrap_or(0))
    }

    async fn save_memories(&self, memories: &[Memory]) -> Result<()> {
        let mut change = self.change();
        push(&mut change, memories.to_vec())?;
        self.write(change).await.map(drop)
    }

    async fn update_content(&self, agent: AgentId, id: MemoryId, content: &Content) -> Result<bool> {
        let mut change = self.change();
        change.scrub = true;
        change.push_answered("update_content", &Updated { id: hex(id), agent: hex(agent), content })?;
        Ok(self.write(change).await?.iter().any(|hits| *hits > 0))
    }

    async fn delete_memories(&self, agent: AgentId, ids: &[MemoryId]) -> Result<u64> {
        let mut verdict = galatea_core::Verdict::default();
        verdict.step("deleted", "skip", "the message was deleted before it was answered");
        let mut change = self.change();
        change.scrub = true;
        for id in ids {
            change.push_answered("delete_memory", &Deleted { id: hex(*id), agent: hex(agent), at: self.now().0, verdict: &verdict })?;
        }
        Ok(self.write(change).await?.iter().sum())
    }
}

//! Memories.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Content, Memory, MemoryId, MemoryScope, Result, Timestamp, Verdict,
    store::{MemoryQuery, MemoryStore},
};
use std::sync::Arc;
use uuid::Uuid;

use crate::{
    Backend, Database, backlog,
    change::{Change, Write},
    convert::to_json,
    deleted,
    derived::{REINDEX_ONE, UNINDEX_ONE},
    dialect::{Dialects, Statement, Text, Value, storable_json, values},
    doomed,
    index::{keep, place},
    neighbour,
    rows::{MemoryRow, StoredMemory},
    terms, trace, verdict,
};

pub(crate) const UPDATE: Dialects = Dialects {
    sqlite: "UPDATE memories SET content = $3 WHERE id = $1 AND agent_id = $2",
    postgres: concat!(
        "UPDATE memories SET content = $3, words = to_tsvector('simple', ",
        place!("valid_until"),
        " || ' ' || $4::text) WHERE id = $1 AND agent_id = $2"
    ),
};
/// An embedding is gone with the text it was made of.
pub(crate) const FORGET_EMBEDDING: Dialects = Dialects::same(
    "DELETE FROM embeddings WHERE seq = (SELECT seq FROM memories WHERE id = $1 AND agent_id = $2)",
);
/// A message that is taken back before its turn is not answered; what was typed goes from its inbox
/// row too, and the row itself stays: it distinguishes a replayed message from a new one, and no
/// message drops out of the count.
pub(crate) const SKIP_DELETED: Dialects = Dialects {
    sqlite: "UPDATE inbox SET envelope = json_remove(envelope, '$.command', '$.pressed'), finished_at = coalesce(finished_at, $3), \
             verdict = CASE state WHEN 'new' THEN $4 ELSE verdict END, state = CASE state WHEN 'new' THEN 'skipped' ELSE state END \
             WHERE id = $1 AND agent_id = $2 AND EXISTS (SELECT 1 FROM memories WHERE id = $1 AND agent_id = $2)",
    postgres: "UPDATE inbox SET envelope = envelope - 'command' - 'pressed', finished_at = coalesce(finished_at, $3), \
               verdict = CASE state WHEN 'new' THEN $4 ELSE verdict END, state = CASE state WHEN 'new' THEN 'skipped' ELSE state END \
               WHERE id = $1 AND agent_id = $2 AND EXISTS (SELECT 1 FROM memories WHERE id = $1 AND agent_id = $2)",
};
pub(crate) const BLANK_DELIVERIES: Dialects = Dialects::same(
    "UPDATE outbox SET body = 'null' WHERE memory_id = $1 AND agent_id = $2 AND state NOT IN ('pending', 'sending')",
);
pub(crate) const DELETE: Dialects =
    Dialects::same("DELETE FROM memories WHERE id = $1 AND agent_id = $2");
pub(crate) const MEMORY: Dialects = Dialects::same(
    "SELECT id, type AS kind, agent_id, entity_id, room_id, world_id, created_at, CAST(metadata AS text) AS metadata, CAST(content AS text) AS content \
     FROM memories WHERE id = $1",
);
/// Ids that begin alike, by the primary key.
pub(crate) const IDS: Dialects =
    Dialects::same("SELECT id FROM memories WHERE id BETWEEN $1 AND $2 ORDER BY id LIMIT +$3");

/// Adds a new content of a memory to a change: one write that returns whether the memory exists.
pub(crate) fn push_update(
    change: &mut Change,
    agent: AgentId,
    id: MemoryId,
    content: &Content,
) -> Result<()> {
    let which = || values![id.0, agent.0];
    let mut set = which();
    set.push(Value::Json(Some(to_json(content)?)));
    set.push(terms::of_text(&content.text).into());
    change.scrub = true;
    change.changed = true;
    let mut statements: Vec<Statement> = doomed::rewrite(id.0, agent.0, &content.text).collect();
    statements.push(UNINDEX_ONE.with(which()));
    let counted = Some(statements.len());
    statements.push(UPDATE.with(set));
    statements.extend([FORGET_EMBEDDING, REINDEX_ONE, backlog::AGAIN].map(|s| s.with(which())));
    change.push(Write::Other { statements, counted }).map(drop)
}

/// Adds the removal of memories to a change: for each a write that returns whether it existed.
pub(crate) fn push_delete(
    change: &mut Change,
    agent: AgentId,
    ids: &[MemoryId],
    at: Timestamp,
) -> Result<()> {
    push_removal(change, agent, ids, at, (doomed::ONE, true))
}

/// The same; `doom` says what goes with each, and `noted` whether an import must not bring it back.
fn push_removal(
    change: &mut Change,
    agent: AgentId,
    ids: &[MemoryId],
    at: Timestamp,
    (doom, noted): (Dialects, bool),
) -> Result<()> {
    let mut verdict = Verdict::default();
    verdict.step(
        "deleted",
        galatea_core::StepOutcome::Skip,
        "the message was deleted before it was answered",
    );
    let verdict = verdict::encode(&verdict)?;
    change.scrub = true;
    change.changed = true;
    for id in ids {
        let which = || values![id.0, agent.0];
        let mut skip = values![id.0, agent.0, at.0];
        skip.push(Value::Json(Some(verdict.clone())));
        let mut statements: Vec<Statement> = trace::forget_memory(*id, agent, at, !noted).into();
        statements.push(doom.with(which()));
        statements.extend(noted.then(|| deleted::NOTE.with(values![])));
        statements.extend(neighbour::forget_words());
        statements.extend(doomed::unindex());
        statements.extend([SKIP_DELETED.with(skip), BLANK_DELIVERIES.with(which())]);
        let counted = Some(statements.len());
        statements.push(DELETE.with(which()));
        statements.extend(doomed::remove(Some(id.0)));
        statements.extend(keep());
        change.push(Write::Other { statements, counted })?;
    }
    Ok(())
}

impl Database {
    pub(crate) fn memory_row(&self, memory: &Memory) -> Result<MemoryRow> {
        let words = match &self.0.backend {
            Backend::Sqlite(_) => String::new(),
            Backend::Postgres(_) => {
                let place = terms::place(memory.kind, false, MemoryScope::Room, memory.room_id.0);
                terms::of_row(&place, &memory.content.text)
            }
        };
        Ok(MemoryRow {
            id: memory.id.0,
            kind: memory.kind.as_str().into(),
            agent: memory.agent_id.0,
            entity: memory.entity_id.0,
            room: memory.room_id.0,
            world: memory.world_id.map(|id| id.0),
            at: memory.created_at.0,
            metadata: Text(to_json(&memory.metadata)?),
            content: Text(to_json(&memory.content)?),
            words: Text(words),
        })
    }

    /// A document that statements look into: PostgreSQL's cannot hold U+0000.
    pub(crate) fn jsonb(&self, text: String) -> String {
        match &self.0.backend {
            Backend::Sqlite(_) => text,
            Backend::Postgres(_) => storable_json(text),
        }
    }

    /// Adds memories to a change; those that exist are left as they are.
    pub(crate) fn push_memories(&self, change: &mut Change, memories: Vec<Memory>) -> Result<()> {
        for memory in memories {
            change.push(Write::Memory(Box::new(self.memory_row(&memory)?)))?;
            change.stores(memory);
        }
        Ok(())
    }
}

#[async_trait]
impl MemoryStore for Database {
    async fn memory(&self, id: MemoryId) -> Result<Option<Memory>> {
        self.fetch_one(MEMORY.with(values![id.0])).await?.map(StoredMemory::decode).transpose()
    }

    async fn memory_ids(
        &self,
        first: MemoryId,
        last: MemoryId,
        limit: u32,
    ) -> Result<Vec<MemoryId>> {
        let rows = self.all::<(Uuid,)>(IDS.with(values![first.0, last.0, limit])).await?;
        Ok(rows.into_iter().map(|(id,)| MemoryId(id)).collect())
    }

    async fn memories(&self, query: &MemoryQuery) -> Result<Vec<Memory>> {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => {
                let shared = sqlite.shared_memories(query).await?;
                Ok(shared.into_iter().map(Arc::unwrap_or_clone).collect())
            }
            Backend::Postgres(postgres) => postgres.memories(query).await,
        }
    }

    async fn shared_memories(&self, query: &MemoryQuery) -> Result<Vec<Arc<Memory>>> {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.shared_memories(query).await,
            Backend::Postgres(postgres) => {
                Ok(postgres.memories(query).await?.into_iter().map(Arc::new).collect())
            }
        }
    }

    async fn count_memories(&self, query: &MemoryQuery) -> Result<u64> {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.count_memories(query).await,
            Backend::Postgres(postgres) => postgres.count_memories(query).await,
        }
    }

    async fn save_memories(&self, memories: &[Memory]) -> Result<()> {
        let mut change = Change::default();
        self.push_memories(&mut change, memories.to_vec())?;
        self.write(change).await.map(drop)
    }

    async fn update_content(
        &self,
        agent: AgentId,
        id: MemoryId,
        content: &Content,
    ) -> Result<bool> {
        let mut change = Change::default();
        push_update(&mut change, agent, id, content)?;
        Ok(self.write(change).await?.iter().any(|hits| *hits > 0))
    }

    async fn delete_memories(&self, agent: AgentId, ids: &[MemoryId]) -> Result<u64> {
        let mut change = Change::default();
        push_delete(&mut change, agent, ids, self.now())?;
        Ok(self.write(change).await?.iter().sum())
    }

    async fn expire_memories(&self, agent: AgentId, ids: &[MemoryId]) -> Result<u64> {
        let mut change = Change::default();
        push_removal(&mut change, agent, ids, self.now(), (doomed::EXPIRED, false))?;
        Ok(self.write(change).await?.iter().sum())
    }
}

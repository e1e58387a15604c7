//! Embeddings of memories.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Embedding, Memory, MemoryId, Result,
    store::{EmbeddingClaim, EmbeddingStore, MemoryQuery, Unembedded, UsageRow},
};

use crate::{
    Backend, Database, backlog,
    change::{Change, Write},
    convert,
    dialect::{Dialects, Value, bits, values},
};

/// The id of the owner of a memory: the Room, World, agent or person that its scope names.
macro_rules! owner {
    () => {
        "CASE scope WHEN 'room' THEN room_id WHEN 'world' THEN world_id WHEN 'agent' THEN agent_id ELSE entity_id END"
    };
}
/// Saves an embedding if the memory still has the text that was embedded. PostgreSQL locks the
/// memory, so that a process that replaces the text or deletes the memory does so before or after.
/// It cannot compare text with U+0000; an embedding of such text is always saved.
pub(crate) const SAVE: Dialects = Dialects {
    sqlite: concat!(
        "INSERT INTO embeddings (seq, model, width, vector, bits, owner, type) SELECT seq, $4, $5, $6, $7, ",
        owner!(),
        ", type FROM memories WHERE id = $1 AND agent_id = $2 AND coalesce(content ->> '$.text', '') = $3 \
         ON CONFLICT (seq) DO UPDATE SET model = excluded.model, width = excluded.width, vector = excluded.vector, \
            bits = excluded.bits, owner = excluded.owner, type = excluded.type"
    ),
    postgres: concat!(
        "INSERT INTO embeddings (seq, model, width, vector, numbers, bits, owner, type) SELECT seq, $4::text, $5::bigint, '{}', $6::bytea, $7::text::bit varying, ",
        owner!(),
        ", type FROM memories WHERE id = $1 AND agent_id = $2 \
         AND CASE WHEN content::text LIKE '%\\u0000%' THEN true ELSE coalesce(content ->> 'text', '') = $3 END FOR SHARE \
         ON CONFLICT (seq) DO UPDATE SET model = excluded.model, width = excluded.width, vector = '{}', numbers = excluded.numbers, \
            bits = excluded.bits, owner = excluded.owner, type = excluded.type"
    ),
};

#[async_trait]
impl EmbeddingStore for Database {
    async fn save_embeddings_with_usage(
        &self,
        agent: AgentId,
        model: &str,
        embeddings: &[(&Memory, Embedding)],
        usage: &[UsageRow],
    ) -> Result<u64> {
        let mut change = Change::default();
        for (memory, embedding) in embeddings {
            let text = memory.content.text.as_str();
            let mut values =
                values![memory.id.0, agent.0, text, model, convert::width(embedding.width())];
            values.push(Value::Vector(embedding.numbers().to_vec()));
            values.push(bits(embedding.numbers()));
            let statements = vec![SAVE.with(values), backlog::done(memory.id, agent, model)];
            change.push(Write::Other { statements, counted: Some(0) })?;
        }
        crate::usage::push(&mut change, usage)?;
        let touched = self.write(change).await?;
        Ok(touched.iter().take(embeddings.len()).sum())
    }

    async fn without_embedding(
        &self,
        query: &MemoryQuery,
        model: &str,
        width: Option<usize>,
    ) -> Result<Vec<Memory>> {
        let width = width.map(convert::width);
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.without_embedding(query, model, width).await,
            Backend::Postgres(postgres) => postgres.without_embedding(query, model, width).await,
        }
    }

    async fn claim_unembedded(&self, claim: &EmbeddingClaim) -> Result<Vec<Unembedded>> {
        self.claim_waiting(claim).await
    }

    async fn give_up_embedding(&self, agent: AgentId, ids: &[MemoryId]) -> Result<()> {
        self.give_up(agent, ids).await
    }
}

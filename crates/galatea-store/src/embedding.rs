//! Embeddings of memories.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Memory, MemoryId, MemoryKind, Result,
    store::{
        EmbeddingClaim, EmbeddingStore, MemoryQuery, NewEmbedding, OlderEmbeddings, Unembedded,
        UsageRow,
    },
};

use crate::{
    Backend, Database, backlog,
    change::{Change, Write},
    convert,
    dialect::{Dialects, Statement, Value, bits, values},
};

/// The id of the owner of a memory: the Room, World, agent or person that its scope names.
macro_rules! owner {
    () => {
        "CASE scope WHEN 'room' THEN room_id WHEN 'world' THEN world_id WHEN 'agent' THEN agent_id ELSE entity_id END"
    };
}
/// Saves an embedding if the memory still has the text that was embedded, and so has the message
/// before it ($8, $9), if words of that were embedded, too. PostgreSQL locks both, so that a process
/// that replaces a text or deletes a memory does so before or after. It cannot compare text with
/// U+0000; an embedding of such text is always saved.
pub(crate) const SAVE: Dialects = Dialects {
    sqlite: concat!(
        "INSERT INTO embeddings (seq, model, width, vector, bits, owner, type, before_seq) SELECT seq, $4, $5, $6, $7, ",
        owner!(),
        ", type, (SELECT b.seq FROM memories b WHERE b.id = $8) FROM memories \
         WHERE id = $1 AND agent_id = $2 AND coalesce(content ->> '$.text', '') = $3 \
         AND ($8 IS NULL OR EXISTS (SELECT 1 FROM memories b WHERE b.id = $8 AND b.agent_id = $2 AND coalesce(b.content ->> '$.text', '') = $9)) \
         ON CONFLICT (seq) DO UPDATE SET model = excluded.model, width = excluded.width, vector = excluded.vector, \
            bits = excluded.bits, owner = excluded.owner, type = excluded.type, before_seq = excluded.before_seq"
    ),
    postgres: concat!(
        "WITH b AS MATERIALIZED (SELECT seq FROM memories WHERE id = $8::uuid AND agent_id = $2 \
            AND CASE WHEN content::text LIKE '%\\u0000%' THEN true ELSE coalesce(content ->> 'text', '') = $9::text END FOR SHARE) \
         INSERT INTO embeddings (seq, model, width, vector, bits, owner, type, before_seq) \
         SELECT seq, $4::text, $5::bigint, $6::bytea, $7::text::bit varying, ",
        owner!(),
        ", type, (SELECT b.seq FROM b) FROM memories WHERE id = $1 AND agent_id = $2 \
         AND CASE WHEN content::text LIKE '%\\u0000%' THEN true ELSE coalesce(content ->> 'text', '') = $3 END \
         AND ($8::uuid IS NULL OR EXISTS (SELECT 1 FROM b)) FOR SHARE \
         ON CONFLICT (seq) DO UPDATE SET model = excluded.model, width = excluded.width, vector = excluded.vector, \
            bits = excluded.bits, owner = excluded.owner, type = excluded.type, before_seq = excluded.before_seq"
    ),
};

/// Stores an embedding, and takes its memory off the queue.
pub(crate) fn save(agent: AgentId, model: &str, new: &NewEmbedding<'_>) -> Vec<Statement> {
    let NewEmbedding { memory, before, embedding } = new;
    let text = memory.content.text.as_str();
    let mut values = values![memory.id.0, agent.0, text, model, convert::width(embedding.width())];
    values.push(Value::Vector(embedding.numbers().to_vec()));
    values.push(bits(embedding.numbers()));
    let said = before.map(|before| before.content.text.clone());
    values.extend(values![before.map(|before| before.id.0), said]);
    vec![SAVE.with(values), backlog::done(memory.id, agent, model)]
}

#[async_trait]
impl EmbeddingStore for Database {
    async fn save_new_embeddings(
        &self,
        agent: AgentId,
        model: &str,
        embeddings: &[NewEmbedding<'_>],
        usage: &[UsageRow],
    ) -> Result<u64> {
        let mut change = Change::default();
        for new in embeddings {
            let statements = save(agent, model, new);
            change.push(Write::Other { statements, counted: Some(0) })?;
        }
        if !embeddings.is_empty() {
            change.push(Write::statement(backlog::FORGET_MARKS.with(values![agent.0, model])))?;
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

    async fn older_embeddings(
        &self,
        agent: AgentId,
        kinds: &[MemoryKind],
        model: &str,
    ) -> Result<Vec<OlderEmbeddings>> {
        self.older(agent, kinds, model).await
    }

    async fn give_up_embedding(&self, agent: AgentId, ids: &[MemoryId]) -> Result<()> {
        self.give_up(agent, ids).await
    }
}

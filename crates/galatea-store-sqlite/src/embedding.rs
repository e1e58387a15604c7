//! Embeddings of memories.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Embedding, Memory, Result,
    store::{EmbeddingStore, LikenessQuery, MemoryQuery},
};
use serde::Serialize;
use std::fmt::Write;

use crate::{
    SqliteStore,
    apply::Trigger,
    change::{Hex, hex},
    memory::{Filter, read_page, read_page_with},
    read::{Select, select_built},
};

pub(crate) const TRIGGERS: &[Trigger] = &[(
    "embedding",
    "INSERT INTO embeddings (seq, model, width, vector)
        SELECT seq, NEW.body ->> 'model', NEW.body ->> 'width', unhex(NEW.body ->> 'vector') FROM memories
            WHERE id = unhex(NEW.body ->> 'id') AND agent_id = unhex(NEW.body ->> 'agent')
            AND coalesce(content ->> '$.text', '') = NEW.body ->> 'text'
     ON CONFLICT (seq) DO UPDATE SET model = excluded.model, width = excluded.width, vector = excluded.vector;
     UPDATE answer SET hits = changes();",
)];

#[derive(Serialize)]
struct Row<'a> {
    id: Hex,
    agent: Hex,
    text: &'a str,
    model: &'a str,
    width: usize,
    vector: String,
}

/// Little-endian 32-bit numbers, as sqlite-vec reads them.
fn bytes(embedding: &Embedding) -> Vec<u8> {
    embedding.numbers().iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn width(width: usize) -> i64 {
    i64::try_from(width).unwrap_or(i64::MAX)
}

fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut out, byte| {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

impl SqliteStore {
    async fn page_of<'a>(&self, query: &'a MemoryQuery, bind: impl FnOnce(&Filter<'a>) -> Select<(Option<String>,)>) -> Result<String> {
        let filter = Filter::new(query);
        if filter.searches() {
            self.index_text().await?;
        }
        Ok(self.one(bind(&filter)).await?.and_then(|(page,)| page).unwrap_or_default())
    }
}

#[async_trait]
impl EmbeddingStore for SqliteStore {
    async fn save_embeddings(&self, agent: AgentId, model: &str, embeddings: &[(&Memory, Embedding)]) -> Result<u64> {
        let mut change = self.change();
        for (memory, embedding) in embeddings {
            let (id, text, width) = (hex(memory.id), memory.content.text.as_str(), embedding.width());
            change.push_answered("embedding", &Row { id, agent: hex(agent), text, model, width, vector: in_hex(&bytes(embedding)) })?;
        }
        Ok(self.write(change).await?.iter().sum())
    }

    async fn alike(&self, query: &LikenessQuery) -> Result<Vec<(Memory, f32)>> {
        let page = self.page_of(&query.of, |filter| {
            let select = filter.bind(select_built(filter.alike())).bind(i64::from(query.of.limit));
            select.bind(query.model.clone()).bind(width(query.embedding.width())).bind(bytes(&query.embedding)).bind(f64::from(query.at_least))
        });
        read_page_with(&page.await?)
    }

    async fn without_embedding(&self, query: &MemoryQuery, model: &str, width: Option<usize>) -> Result<Vec<Memory>> {
        let page = self.page_of(query, |filter| {
            let select = filter.bind(select_built(filter.without_embedding())).bind(i64::from(query.limit));
            select.bind(model.to_owned()).bind(width.map(self::width))
        });
        read_page(&page.await?)
    }
}

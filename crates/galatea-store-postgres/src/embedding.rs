//! Embeddings of memories. Where pgvector is installed in the database the server compares them; elsewhere they come here for it. Both look at
//! every one, so both find the same.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Embedding, Memory, Result,
    store::{EmbeddingStore, LikenessQuery, MemoryQuery},
};
use serde::Serialize;
use sqlx::FromRow;
use std::{collections::HashMap, fmt::Write};
use uuid::Uuid;

use crate::{
    PostgresStore,
    apply::Step,
    change::uuid,
    memory::{COLUMNS, Filter, Stored},
    read::{select, select_built},
};

pub(crate) const STEPS: &[Step] = &[(
    "embedding",
    // Locked, so that whoever replaces the text or deletes the memory in another process comes before or after. Text with U+0000, which
    // cannot be compared here, is taken as it is.
    "INSERT INTO embeddings (seq, model, width, vector)
        SELECT seq, b ->> 'model', (b ->> 'width')::integer, (b ->> 'vector')::real[] FROM memories
            WHERE id = (b ->> 'id')::uuid AND agent_id = (b ->> 'agent')::uuid
            AND CASE WHEN content::text LIKE '%\\\\u0000%' THEN true ELSE coalesce(content ->> 'text', '') = b ->> 'text' END
            FOR SHARE
     ON CONFLICT (seq) DO UPDATE SET model = excluded.model, width = excluded.width, vector = excluded.vector;
     GET DIAGNOSTICS touched = ROW_COUNT;",
)];

/// Schema and version of pgvector, ready to stand in a statement, if we may use it. Asked for with every search: it may be installed or removed
/// while we run.
pub(crate) const PGVECTOR: &str = "SELECT quote_ident(n.nspname), e.extversion FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace \
     WHERE e.extname = 'vector' AND has_schema_privilege(n.oid, 'USAGE')";

pub(crate) const VECTORS: &str = "SELECT seq, vector FROM embeddings WHERE seq = ANY($1) AND model = $2 AND width = $3";

/// Vectors read in one answer: a few MB of those with 1,536 numbers.
const PAGE: usize = 256;

fn found() -> String {
    format!("SELECT m.seq AS number, {COLUMNS} FROM memories m WHERE m.seq = ANY($1)")
}

#[derive(Serialize)]
struct Row<'a> {
    id: Uuid,
    agent: Uuid,
    text: &'a str,
    model: &'a str,
    width: usize,
    vector: String,
}

/// As PostgreSQL writes an array.
fn array(embedding: &Embedding) -> String {
    let mut out = String::from("{");
    for n in embedding.numbers() {
        // Writing to a String cannot fail.
        let _ = write!(out, "{}{n}", if out.len() > 1 { "," } else { "" });
    }
    out.push('}');
    out
}

#[derive(FromRow)]
struct Alike {
    likeness: f32,
    #[sqlx(flatten)]
    memory: Stored,
}

#[derive(FromRow)]
struct Numbered {
    number: i64,
    #[sqlx(flatten)]
    memory: Stored,
}

/// A memory that may be among the likest.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    likeness: f32,
    created_at: i64,
    seq: i64,
}

/// The likest first, the newest first of equals, no more than wanted.
fn likest(candidates: &mut Vec<Candidate>, most: usize) {
    candidates.sort_by(|a, b| b.likeness.total_cmp(&a.likeness).then(b.created_at.cmp(&a.created_at)).then(b.seq.cmp(&a.seq)));
    candidates.truncate(most);
}

impl PostgresStore {
    /// By the server.
    async fn alike_there(&self, query: &LikenessQuery, filter: &Filter<'_>, schema: &str) -> Result<Vec<(Memory, f32)>> {
        let select = filter.bind(select_built::<Alike>(filter.alike(schema))).text(&query.model).bind(width(query));
        let select = select.bind(query.embedding.numbers().to_vec()).bind(f64::from(query.at_least)).bind(i64::from(query.of.limit));
        self.all(select).await?.into_iter().map(|row| Ok((row.memory.decode()?, row.likeness))).collect()
    }

    /// By us.
    async fn alike_here(&self, query: &LikenessQuery, filter: &Filter<'_>) -> Result<Vec<(Memory, f32)>> {
        let embedded = filter.bind(select_built::<(i64, i64)>(filter.embedded())).text(&query.model).bind(width(query));
        let most = usize::try_from(query.of.limit).unwrap_or(usize::MAX);
        let mut best: Vec<Candidate> = Vec::new();
        for page in self.all(embedded).await?.chunks(PAGE) {
            let times: HashMap<i64, i64> = page.iter().copied().collect();
            let rows: Vec<i64> = page.iter().map(|(seq, _)| *seq).collect();
            let vectors = select::<(i64, Vec<f32>)>(VECTORS).bind(rows).text(&query.model).bind(width(query));
            for (seq, vector) in self.all(vectors).await? {
                if let (Some(likeness), Some(created_at)) = (query.embedding.likeness(&vector), times.get(&seq))
                    && likeness >= query.at_least
                {
                    best.push(Candidate { likeness, created_at: *created_at, seq });
                }
            }
            likest(&mut best, most);
        }
        let rows: Vec<i64> = best.iter().map(|candidate| candidate.seq).collect();
        let mut memories = HashMap::new();
        for row in self.all(select_built::<Numbered>(found()).bind(rows)).await? {
            memories.insert(row.number, row.memory.decode()?);
        }
        // One that was deleted meanwhile is left out.
        Ok(best.into_iter().filter_map(|candidate| Some((memories.remove(&candidate.seq)?, candidate.likeness))).collect())
    }
}

fn width(query: &LikenessQuery) -> i32 {
    i32::try_from(query.embedding.width()).unwrap_or(i32::MAX)
}

#[async_trait]
impl EmbeddingStore for PostgresStore {
    async fn save_embeddings(&self, agent: AgentId, model: &str, embeddings: &[(&Memory, Embedding)]) -> Result<u64> {
        let mut change = self.change();
        for (memory, embedding) in embeddings {
            let (id, text, width) = (uuid(memory.id), memory.content.text.as_str(), embedding.width());
            change.push_answered("embedding", id, &Row { id, agent: uuid(agent), text, model, width, vector: array(embedding) })?;
        }
        Ok(self.write(change).await?.iter().sum())
    }

    async fn alike(&self, query: &LikenessQuery) -> Result<Vec<(Memory, f32)>> {
        let filter = Filter::new(&query.of);
        if let Some((schema, _)) = self.one(select::<(String, String)>(PGVECTOR)).await? {
            match self.alike_there(query, &filter, &schema).await {
                Ok(found) => return Ok(found),
                // Removed in between, or of a version that does not understand us.
                Err(error) => tracing::debug!(error = %error.report(), "pgvector could not be used, so embeddings are compared here"),
            }
        }
        self.alike_here(query, &filter).await
    }

    async fn without_embedding(&self, query: &MemoryQuery, model: &str, width: Option<usize>) -> Result<Vec<Memory>> {
        let filter = Filter::new(query);
        let select = filter.bind(select_built::<Stored>(filter.without_embedding())).bind(i64::from(query.limit));
        let select = select.text(model).bind(width.map(|width| i32::try_from(width).unwrap_or(i32::MAX)));
        self.all(select).await?.into_iter().map(Stored::decode).collect()
    }
}

#[cfg(test)]
pub(crate) fn statements() -> [String; 3] {
    [PGVECTOR.to_owned(), VECTORS.to_owned(), found()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_written_as_the_server_reads_it() {
        assert_eq!(array(&Embedding::new(vec![3.0, -4.0]).unwrap()), "{0.6,-0.8}");
        assert_eq!(array(&Embedding::new(vec![1.0, 1e-20]).unwrap()), "{1,0.00000000000000000001}");
    }

    #[test]
    fn the_likest_come_first_and_the_newest_of_equals() {
        let of = |likeness, created_at, seq| Candidate { likeness, created_at, seq };
        let mut all = vec![of(0.1, 9, 9), of(0.5, 1, 1), of(0.5, 2, 2), of(0.5, 2, 3), of(0.9, 0, 4)];
        likest(&mut all, 4);
        assert_eq!(all.iter().map(|c| c.seq).collect::<Vec<_>>(), [4, 3, 2, 1]);
    }
}

//! Pages of memories, by time, by words or by meaning. Where pgvector is installed in the database
//! the server compares embeddings; elsewhere they come here for it. Both look at every one, so both
//! find the same.

use galatea_core::{
    Memory, Result,
    store::{MemoryQuery, SimilarityQuery},
};
use sqlx::FromRow;
use std::collections::HashMap;

use super::{
    Postgres,
    filter::{COLUMNS, Filter},
    open::PGVECTOR,
};
use crate::{
    convert,
    dialect::{Statement, Value, values},
    rows::StoredMemory,
};

pub(crate) const VECTORS: &str =
    "SELECT seq, vector FROM embeddings WHERE seq = ANY($1) AND model = $2 AND width = $3";

/// Vectors read in one answer: a few MB of those with 1,536 numbers.
const PAGE: usize = 256;

fn found() -> String {
    format!("SELECT m.seq AS number, {COLUMNS} FROM memories m WHERE m.seq = ANY($1)")
}

#[derive(FromRow)]
struct Alike {
    similarity: f32,
    #[sqlx(flatten)]
    memory: StoredMemory,
}

#[derive(FromRow)]
struct Numbered {
    number: i64,
    #[sqlx(flatten)]
    memory: StoredMemory,
}

/// A memory that may be among the most similar.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    similarity: f32,
    created_at: i64,
    seq: i64,
}

/// The most similar first, the newest first of equals, no more than wanted.
fn most_similar(candidates: &mut Vec<Candidate>, most: usize) {
    candidates.sort_by(|a, b| {
        b.similarity
            .total_cmp(&a.similarity)
            .then(b.created_at.cmp(&a.created_at))
            .then(b.seq.cmp(&a.seq))
    });
    candidates.truncate(most);
}

impl Postgres {
    pub(crate) async fn memories(&self, query: &MemoryQuery) -> Result<Vec<Memory>> {
        let filter = Filter::new(query);
        let mut values = filter.values();
        values.push(query.limit.into());
        let rows: Vec<StoredMemory> =
            self.all(Statement::for_postgres(filter.page(), values)).await?;
        rows.into_iter().map(StoredMemory::decode).collect()
    }

    pub(crate) async fn count_memories(&self, query: &MemoryQuery) -> Result<u64> {
        let filter = Filter::new(query);
        let statement = Statement::for_postgres(filter.count(), filter.values());
        let row = self.one::<(i64,)>(statement).await?;
        Ok(row.map_or(0, |(n,)| convert::count(n)))
    }

    pub(crate) async fn without_embedding(
        &self,
        query: &MemoryQuery,
        model: &str,
        width: Option<i64>,
    ) -> Result<Vec<Memory>> {
        let filter = Filter::new(query);
        let mut values = filter.values();
        values.extend([query.limit.into(), model.into(), width.into()]);
        let statement = Statement::for_postgres(filter.without_embedding(), values);
        let rows: Vec<StoredMemory> = self.all(statement).await?;
        rows.into_iter().map(StoredMemory::decode).collect()
    }

    pub(crate) async fn search_similar(
        &self,
        query: &SimilarityQuery,
    ) -> Result<Vec<(Memory, f32)>> {
        let filter = Filter::new(&query.of);
        let pgvector = Statement::for_postgres(PGVECTOR, values![]);
        if let Some((schema, _)) = self.one::<(String, String)>(pgvector).await? {
            match self.alike_there(query, &filter, &schema).await {
                Ok(found) => return Ok(found),
                // Removed in between, or of a version that does not understand us.
                Err(error) => {
                    tracing::debug!(error = %error.report(), "pgvector could not be used, so embeddings are compared here")
                }
            }
        }
        self.alike_here(query, &filter).await
    }

    /// By the server.
    async fn alike_there(
        &self,
        query: &SimilarityQuery,
        filter: &Filter<'_>,
        schema: &str,
    ) -> Result<Vec<(Memory, f32)>> {
        let mut values = filter.values();
        values.extend([
            query.model.as_str().into(),
            width(query),
            Value::Vector(query.embedding.numbers().to_vec()),
            Value::Float(f64::from(query.at_least)),
            query.of.limit.into(),
        ]);
        let statement = Statement::for_postgres(filter.search_similar(schema), values);
        let rows: Vec<Alike> = self.all(statement).await?;
        rows.into_iter().map(|row| Ok((row.memory.decode()?, row.similarity))).collect()
    }

    /// By us.
    async fn alike_here(
        &self,
        query: &SimilarityQuery,
        filter: &Filter<'_>,
    ) -> Result<Vec<(Memory, f32)>> {
        let mut values = filter.values();
        values.extend([query.model.as_str().into(), width(query)]);
        let embedded = Statement::for_postgres(filter.embedded(), values);
        let most = usize::try_from(query.of.limit).unwrap_or(usize::MAX);
        let mut best: Vec<Candidate> = Vec::new();
        for page in self.all::<(i64, i64)>(embedded).await?.chunks(PAGE) {
            let times: HashMap<i64, i64> = page.iter().copied().collect();
            let rows = Value::Ints(page.iter().map(|(seq, _)| *seq).collect());
            let values = vec![rows, query.model.as_str().into(), width(query)];
            let vectors = Statement::for_postgres(VECTORS, values);
            for (seq, vector) in self.all::<(i64, Vec<f32>)>(vectors).await? {
                if let (Some(similarity), Some(created_at)) =
                    (query.embedding.similarity(&vector), times.get(&seq))
                    && similarity >= query.at_least
                {
                    best.push(Candidate { similarity, created_at: *created_at, seq });
                }
            }
            most_similar(&mut best, most);
        }
        let rows = Value::Ints(best.iter().map(|candidate| candidate.seq).collect());
        let mut memories = HashMap::new();
        let found: Vec<Numbered> = self.all(Statement::for_postgres(found(), vec![rows])).await?;
        for row in found {
            memories.insert(row.number, row.memory.decode()?);
        }
        // One that was deleted meanwhile is left out.
        Ok(best
            .into_iter()
            .filter_map(|candidate| Some((memories.remove(&candidate.seq)?, candidate.similarity)))
            .collect())
    }
}

fn width(query: &SimilarityQuery) -> Value {
    convert::width(query.embedding.width()).into()
}

#[cfg(test)]
pub(crate) fn statements() -> [String; 3] {
    [PGVECTOR.to_owned(), VECTORS.to_owned(), found()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_come_first_and_the_newest_of_equals() {
        let of = |similarity, created_at, seq| Candidate { similarity, created_at, seq };
        let mut all =
            vec![of(0.1, 9, 9), of(0.5, 1, 1), of(0.5, 2, 2), of(0.5, 2, 3), of(0.9, 0, 4)];
        most_similar(&mut all, 4);
        assert_eq!(all.iter().map(|c| c.seq).collect::<Vec<_>>(), [4, 3, 2, 1]);
    }
}

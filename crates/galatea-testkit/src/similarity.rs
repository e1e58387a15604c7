//! Measures a search by similarity, for the stores' examples named `similarity`.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use galatea_core::{
    Embedding, Memory, MemoryKind, Result, Store, Timestamp,
    store::{MemoryQuery, SimilarityQuery},
};
use std::{sync::Arc, time::Instant};

use crate::store_suite::fixtures::Scene;

/// Facts saved per commit.
const BATCH: i64 = 500;
/// Number of times the search is measured.
const TIMES: usize = 11;

/// A pseudo-random sequence that is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn embedding(&mut self, width: usize) -> Result<Embedding> {
        let number = |_| {
            // A linear congruential generator (Knuth, MMIX).
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            f32::from(u16::try_from(self.0 >> 48).unwrap_or(u16::MAX)) - 32_768.0
        };
        Embedding::new((0..width).map(number).collect())
    }
}

/// Fills an empty store with facts of one room, and prints how long a search for the ten most
/// similar ones takes.
///
/// Errors of the store.
pub async fn measure(store: Arc<dyn Store>, facts: i64, width: usize) -> Result<()> {
    let scene = Scene::new();
    let mut numbers = Numbers(1);
    let begun = Instant::now();
    for batch in 0..(facts + BATCH - 1) / BATCH {
        let times = batch * BATCH..facts.min((batch + 1) * BATCH);
        let memories: Vec<Memory> = times
            .map(|at| Memory {
                kind: MemoryKind::Facts,
                created_at: Timestamp(at),
                ..scene.memory("Ada drinks tea", at)
            })
            .collect();
        let embeddings = memories
            .iter()
            .map(|memory| Ok((memory, numbers.embedding(width)?)))
            .collect::<Result<Vec<(&Memory, Embedding)>>>()?;
        store.save_memories(&memories).await?;
        store.save_embeddings(scene.agent, "measured", &embeddings).await?;
    }
    println!(
        "{facts} facts with {width} numbers each stored in {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    let mut took = Vec::new();
    for _ in 0..TIMES {
        let of = MemoryQuery::new(scene.agent, 10).room(scene.room).kind(MemoryKind::Facts);
        let query = SimilarityQuery {
            of,
            model: "measured".to_owned(),
            embedding: numbers.embedding(width)?,
            at_least: -1.0,
        };
        let begun = Instant::now();
        let found = store.search_similar(&query).await?;
        took.push(begun.elapsed());
        assert_eq!(found.len(), 10.min(usize::try_from(facts).unwrap_or(0)), "all are found");
    }
    took.sort_unstable();
    println!(
        "the ten most similar of them: median {:.1} ms, longest {:.1} ms",
        took[TIMES / 2].as_secs_f64() * 1e3,
        took[TIMES - 1].as_secs_f64() * 1e3
    );
    Ok(())
}

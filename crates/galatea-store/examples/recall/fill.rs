//! Fills the store: messages as a connector hands them over, then their embeddings.

use futures::future::try_join_all;
use galatea_core::{
    Embedding, Error, Memory, Result,
    store::{EmbeddingStore, InboxEntry, InboxStore, Ingest},
};
use galatea_store::Database;
use std::time::{Duration, Instant};

use crate::talk::{MODEL, Talk};

/// Messages of one hand-over: as many as Telegram gives in one poll.
const BATCH: usize = 100;
/// Hand-overs at once, as of several accounts.
const AT_ONCE: usize = 8;

/// What filling took.
#[derive(Default)]
pub(crate) struct Filled {
    pub(crate) ingest: Duration,
    pub(crate) embeddings: Duration,
    pub(crate) embedded: usize,
}

/// Stores all messages, and the embeddings of the first `embedded`.
pub(crate) async fn fill(store: &Database, talk: &Talk, embedded: usize) -> Result<Filled> {
    let mut filled = Filled::default();
    let (begun, step) = (Instant::now(), BATCH * AT_ONCE);
    for first in (0..talk.len()).step_by(step) {
        let messages = (first..talk.len().min(first + step))
            .map(|number| talk.message(number))
            .collect::<Result<Vec<(InboxEntry, Embedding)>>>()?;
        let clock = Instant::now();
        try_join_all(messages.chunks(BATCH).map(|batch| {
            let messages = batch.iter().map(|(entry, _)| entry.clone()).collect();
            store.ingest(Ingest { messages, ..Ingest::default() })
        }))
        .await?;
        filled.ingest += clock.elapsed();
        if first < embedded {
            let clock = Instant::now();
            let pairs: Vec<(&Memory, Embedding)> =
                messages.iter().map(|(entry, meaning)| (&entry.memory, meaning.clone())).collect();
            let stored = try_join_all(
                pairs.chunks(BATCH).map(|batch| store.save_embeddings(talk.agent(), MODEL, batch)),
            )
            .await?;
            filled.embeddings += clock.elapsed();
            let stored: u64 = stored.iter().sum();
            if stored != pairs.len() as u64 {
                return Err(Error::unexpected("an embedding was not stored")
                    .with("stored", stored)
                    .with("given", pairs.len()));
            }
            filled.embedded += pairs.len();
        }
        if (first / step) % 50 == 49 {
            eprintln!("{} messages after {:.0} s", first + step, begun.elapsed().as_secs_f64());
        }
    }
    Ok(filled)
}

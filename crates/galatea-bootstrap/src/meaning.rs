//! Embeds learnt facts and current messages, and finds the facts most similar to a message.

use galatea_core::{
    Embedding, EmbeddingModel, EntityId, Error, ErrorKind, Memory, MemoryKind, Result, Turn,
    Variable,
    store::{MemoryQuery, SimilarityQuery},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::Semaphore, time::timeout};

use crate::words;

/// The runtime's time limit of a turn.
const TURN: Variable = Variable::new("TURN_TIMEOUT_SECONDS", "The runtime's.").or("120");
/// The share of a turn's time limit for embedding the message, as a divisor: six seconds of two
/// minutes. The answer itself takes about as long.
const PART: u32 = 20;
/// Longest wait for an embedding, however long a turn may take, because a person is waiting.
pub(crate) const LONGEST: Duration = Duration::from_secs(20);
/// Concurrent requests for the embedding of a message. A turn stops waiting after [`patience`], but
/// each request runs to its end, so that a service that hangs is detected.
const ASKED_AT_ONCE: usize = 4;
/// Maximum number of facts embedded after one reflection, including those left over from an outage
/// or another model.
const AT_ONCE: u32 = 100;
/// After this many refused calls the rest is postponed, because the fault is not a single text.
const REFUSED: usize = 10;

/// Limits and cached properties of embedding models.
pub(crate) struct Meaning {
    asking: Arc<Semaphore>,
    /// Dimensions of a model's last embedding, by the model's name.
    widths: Mutex<HashMap<String, usize>>,
}

impl Default for Meaning {
    fn default() -> Self {
        Self { asking: Arc::new(Semaphore::new(ASKED_AT_ONCE)), widths: Mutex::default() }
    }
}

/// The embedding of a turn's messages, to compare facts with.
pub(crate) struct Said {
    model: String,
    embedding: Embedding,
}

impl Meaning {
    /// Embeds the messages of a turn. `None` without an embedding model or text.
    ///
    /// # Errors
    /// If the model does not answer in time. Facts are then ordered by age, and the verdict says
    /// so.
    pub(crate) async fn said(&self, turn: &Turn<'_>) -> Result<Option<Said>> {
        let Some(model) = turn.models.embedding.clone() else { return Ok(None) };
        let name = model.info().full_name();
        // The newest message first, because the text is cut at the end.
        let said: Vec<&str> = std::iter::once(turn.message)
            .chain(turn.merged.iter().rev())
            .map(|message| message.content.text.as_str())
            .collect();
        let text = words::line(&said.join(" "), words::LONGEST);
        if text.is_empty() {
            return Ok(None);
        }
        let limit = patience(turn);
        // Other turns may hold all permits while they wait for a service that hangs.
        let permit = match timeout(limit, Arc::clone(&self.asking).acquire_owned()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) | Err(_) => {
                return Err(Error::new(
                    ErrorKind::Timeout,
                    "too many wait for the embedding model",
                ));
            }
        };
        let asked = tokio::spawn(async move {
            let answer = embed(&model, vec![text]).await;
            drop(permit);
            answer
        });
        let answer = match timeout(limit, asked).await {
            Ok(Ok(answer)) => answer.map(|mut embeddings| embeddings.pop().flatten()),
            Ok(Err(panicked)) => {
                Err(Error::unexpected("the embedding model crashed").with_source(panicked))
            }
            Err(_) => Err(Error::new(ErrorKind::Timeout, "the embedding model took too long")),
        };
        let embedding = answer.inspect_err(|error| by_age(turn, error))?;
        Ok(embedding.map(|embedding| {
            self.note(&name, &embedding);
            Said { model: name, embedding }
        }))
    }

    /// Embeds the facts of this room that have no embedding, if there is an embedding model: new
    /// facts, and after a change of the model all of them.
    pub(crate) async fn embed_facts(&self, turn: &Turn<'_>) -> Result<()> {
        let Some(model) = &turn.models.embedding else { return Ok(()) };
        let (agent, name) = (turn.agent.identity.id(), model.info().full_name());
        let facts = MemoryQuery::new(agent, AT_ONCE).room(turn.room.id).kind(MemoryKind::Facts);
        let width = self.widths.lock().unwrap_or_else(PoisonError::into_inner).get(&name).copied();
        let missing = turn.store.without_embedding(&facts, &name, width).await?;
        let mut batches = vec![missing.as_slice()];
        let mut refused = 0;
        while let Some(batch) = batches.pop().filter(|batch| !batch.is_empty()) {
            match embed(model, batch.iter().map(|fact| fact.content.text.clone()).collect()).await {
                Ok(embeddings) => {
                    let embeddings: Vec<(&Memory, Embedding)> = batch
                        .iter()
                        .zip(embeddings)
                        .filter_map(|(fact, embedding)| Some((fact, embedding?)))
                        .collect();
                    embeddings.iter().for_each(|(_, embedding)| self.note(&name, embedding));
                    turn.store.save_embeddings(agent, &name, &embeddings).await?;
                }
                // If the service rejects one text, the others must still be embedded.
                Err(error) if error.kind() == ErrorKind::Invalid && refused < REFUSED => {
                    refused += 1;
                    let (first, second) = batch.split_at(batch.len() / 2);
                    batches.extend(
                        [second, first]
                            .into_iter()
                            .filter(|half| !half.is_empty() && half.len() < batch.len()),
                    );
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn note(&self, model: &str, embedding: &Embedding) {
        self.widths
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(model.to_owned(), embedding.width());
    }
}

impl Said {
    /// Facts of this room about `entity`, most similar first. Empty if the search fails.
    pub(crate) async fn facts_about(
        &self,
        turn: &Turn<'_>,
        entity: EntityId,
        most: u32,
    ) -> Vec<Memory> {
        let of = MemoryQuery {
            entity: Some(entity),
            ..MemoryQuery::new(turn.agent.identity.id(), most)
                .room(turn.room.id)
                .kind(MemoryKind::Facts)
        };
        // No minimum similarity. Otherwise the newest facts would be shown instead.
        let query = SimilarityQuery {
            of,
            model: self.model.clone(),
            embedding: self.embedding.clone(),
            at_least: -1.0,
        };
        let found = turn.store.search_similar(&query).await.unwrap_or_else(|error| {
            by_age(turn, &error);
            Vec::new()
        });
        found.into_iter().map(|(fact, _)| fact).collect()
    }
}

/// How long a turn waits for the embedding of its messages.
pub(crate) fn patience(turn: &Turn<'_>) -> Duration {
    let seconds =
        turn.agent.settings.parse::<u64>(&TURN, "a whole number").ok().flatten().unwrap_or(120);
    (Duration::from_secs(seconds) / PART).min(LONGEST)
}

fn by_age(turn: &Turn<'_>, error: &Error) {
    tracing::debug!(turn = %turn.id, error = %error.report(), "failed to compare facts by meaning; they are ordered by age");
}

/// One embedding per text. `None` for a text whose vector cannot be compared.
async fn embed(
    model: &Arc<dyn EmbeddingModel>,
    texts: Vec<String>,
) -> Result<Vec<Option<Embedding>>> {
    let vectors = model.embed(&texts).await?;
    let comparable = |vector| {
        let embedding = Embedding::new(vector);
        if let Err(error) = &embedding {
            tracing::warn!(model = model.info().full_name(), error = %error.report(), "unusable vector from the embedding model; its text gets no embedding");
        }
        embedding.ok()
    };
    Ok(vectors.into_iter().map(comparable).collect())
}

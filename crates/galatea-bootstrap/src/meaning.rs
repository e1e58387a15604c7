//! Meaning: embeddings of what was learnt, and which of it is like what is being said.

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

/// The runtime's limit of a turn.
const TURN: Variable = Variable::new("TURN_TIMEOUT_SECONDS", "The runtime's.").or("120");
/// Part of a turn's time in which what is being said may be embedded: six seconds of two minutes.
/// The model that answers takes as long.
const PART: u32 = 20;
/// However long a turn may take, a person waits for it.
pub(crate) const LONGEST: Duration = Duration::from_secs(20);
/// Embeddings of what is being said that are asked for at once. Nobody waits long for one, but each
/// is waited for to its end, so that a service that hangs is found out.
const ASKED_AT_ONCE: usize = 4;
/// Facts embedded after one reflection at most, with what an outage or another model left.
const AT_ONCE: u32 = 100;
/// Calls refused until the rest is left for later: it is not one text that is wrong.
const REFUSED: usize = 10;

/// What is known of embedding models.
pub(crate) struct Meaning {
    asking: Arc<Semaphore>,
    /// Numbers of a model's last embedding, by its name.
    widths: Mutex<HashMap<String, usize>>,
}

impl Default for Meaning {
    fn default() -> Self {
        Self { asking: Arc::new(Semaphore::new(ASKED_AT_ONCE)), widths: Mutex::default() }
    }
}

/// What is being said in a turn, to be compared.
pub(crate) struct Said {
    model: String,
    embedding: Embedding,
}

impl Meaning {
    /// Asks the embedding model what is being said; nothing without one.
    ///
    /// # Errors
    /// When it does not answer in time: then things are ordered by age, and that is told.
    pub(crate) async fn said(&self, turn: &Turn<'_>) -> Result<Option<Said>> {
        let Some(model) = turn.models.embedding.clone() else { return Ok(None) };
        let name = model.info().full_name();
        // The newest first: it is cut at the end.
        let said: Vec<&str> = std::iter::once(turn.message)
            .chain(turn.merged.iter().rev())
            .map(|message| message.content.text.as_str())
            .collect();
        let text = words::line(&said.join(" "), words::LONGEST);
        if text.is_empty() {
            return Ok(None);
        }
        let limit = patience(turn);
        // Others that wait for a service that hangs take this turn's place until then.
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

    /// Embeds facts of this room that have no embedding, if there is a model for it: those just
    /// learnt, and after a change of the model all.
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
                // One text that the service does not take must not keep back the others.
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
    /// Facts of this room about somebody, the most similar first; none when they cannot be had.
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
        // However little alike: the newest would be shown in their place.
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

/// How long a turn waits for the embedding of what is being said.
pub(crate) fn patience(turn: &Turn<'_>) -> Duration {
    let seconds =
        turn.agent.settings.parse::<u64>(&TURN, "a whole number").ok().flatten().unwrap_or(120);
    (Duration::from_secs(seconds) / PART).min(LONGEST)
}

fn by_age(turn: &Turn<'_>, error: &Error) {
    tracing::debug!(turn = %turn.id, error = %error.report(), "what is known is shown by age, not by meaning");
}

/// One for each text; none for a text whose vector cannot be compared.
async fn embed(
    model: &Arc<dyn EmbeddingModel>,
    texts: Vec<String>,
) -> Result<Vec<Option<Embedding>>> {
    let vectors = model.embed(&texts).await?;
    let comparable = |vector| {
        let embedding = Embedding::new(vector);
        if let Err(error) = &embedding {
            tracing::warn!(model = model.info().full_name(), error = %error.report(), "an embedding is left out");
        }
        embedding.ok()
    };
    Ok(vectors.into_iter().map(comparable).collect())
}

//! Meaning: embeddings of what was learnt, and which of it is like what is being said.

use galatea_core::{
    Embedding, EmbeddingModel, EntityId, Error, Memory, MemoryId, MemoryKind, Result, Turn,
    store::{LikenessQuery, MemoryQuery},
};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

use crate::words;

/// For the embedding of what is being said: half of what a provider has (elizaOS `PROVIDERS_TOTAL_TIMEOUT_MS`), so that facts are shown by age
/// rather than not at all.
const PATIENCE: Duration = Duration::from_millis(500);
/// Facts embedded after one reflection at most, with what an outage or another model left.
const AT_ONCE: u32 = 100;

/// What is being said in this turn, to be compared.
pub(crate) struct Said {
    model: String,
    embedding: Embedding,
}

impl Said {
    /// Asks the embedding model; none without one, or when it does not answer in time: then things are ordered by age.
    pub(crate) async fn in_turn(turn: &Turn<'_>) -> Option<Self> {
        let model = turn.models.embedding.as_ref()?;
        let lines: Vec<String> =
            turn.merged.iter().chain(std::iter::once(turn.message)).map(|message| words::line(&message.content.text, words::LONGEST)).collect();
        let text = lines.join("\n");
        if text.trim().is_empty() {
            return None;
        }
        let asked = timeout(PATIENCE, embed(model, vec![text])).await.unwrap_or_else(|_| Err(Error::unexpected("the embedding model took too long")));
        match asked.map(|mut embeddings| embeddings.pop().flatten()) {
            Ok(embedding) => Some(Self { model: model.info().full_name(), embedding: embedding? }),
            Err(error) => {
                tracing::debug!(turn = %turn.id, error = %error.report(), "what is known is shown by age, not by meaning");
                None
            }
        }
    }

    /// Facts of this room about somebody, the likest first.
    pub(crate) async fn facts_about(&self, turn: &Turn<'_>, entity: EntityId, most: u32) -> Result<Vec<Memory>> {
        let of = MemoryQuery { entity: Some(entity), ..MemoryQuery::new(turn.agent.identity.id(), most).room(turn.room.id).kind(MemoryKind::Facts) };
        // However little alike: the newest would be shown in their place.
        let query = LikenessQuery { of, model: self.model.clone(), embedding: self.embedding.clone(), at_least: -1.0 };
        Ok(turn.store.alike(&query).await?.into_iter().map(|(fact, _)| fact).collect())
    }
}

/// Embeds the facts of this room that have no embedding, if there is a model for it: those just learnt, and after a change of the model all.
pub(crate) async fn embed_facts(turn: &Turn<'_>) -> Result<()> {
    let Some(model) = &turn.models.embedding else { return Ok(()) };
    let (agent, name) = (turn.agent.identity.id(), model.info().full_name());
    let facts = MemoryQuery::new(agent, AT_ONCE).room(turn.room.id).kind(MemoryKind::Facts);
    // The model's width is known only once it has answered.
    let mut width = None;
    for _ in 0..2 {
        let missing = turn.store.without_embedding(&facts, &name, width).await?;
        if missing.is_empty() {
            break;
        }
        let embeddings = embed(model, missing.iter().map(|fact| fact.content.text.clone()).collect()).await?;
        let embeddings: Vec<(MemoryId, Embedding)> = missing.iter().zip(embeddings).filter_map(|(fact, embedding)| Some((fact.id, embedding?))).collect();
        let Some((_, first)) = embeddings.first() else { break };
        width = Some(first.width());
        turn.store.save_embeddings(agent, &name, &embeddings).await?;
    }
    Ok(())
}

/// One for each text; none for a text whose vector cannot be compared.
async fn embed(model: &Arc<dyn EmbeddingModel>, texts: Vec<String>) -> Result<Vec<Option<Embedding>>> {
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

//! Embeds memories and stores each call's embeddings with its cost.

use galatea_core::{
    Embedding, EmbeddingModel, Error, ErrorKind, Memory, MemoryId, Result, Sent, ServiceContext,
    kill_point, model::LIMIT_CODE, store::NewEmbedding,
};
use std::sync::Arc;

use crate::meaning::{PromptMeaning, embed as ask};

/// After this many refused calls in a row the rest is postponed, because the fault is not a single text.
const REFUSED: usize = 10;
/// A text that every model can embed. Asked for where a model gave no usable vector, to learn
/// whether the texts or the service are to blame.
const PLAIN: &str = "A cat sleeps between twelve and sixteen hours a day.";

/// A memory to embed.
#[derive(Debug, Clone)]
pub(super) struct Embeddable {
    pub(super) memory: Memory,
    /// The message before it, if `text` has words of it.
    pub(super) before: Option<Memory>,
    /// The texts.
    pub(super) text: String,
}

/// Embeds memories. Returns those that the model refuses for their text.
///
/// # Errors
/// If the model fails, if it refuses so many texts that they are not to blame, or if the agent may
/// use no more today ([`LIMIT_CODE`]). What was embedded until then is stored.
pub(super) async fn embed(
    context: &ServiceContext,
    meaning: &PromptMeaning,
    model: &Arc<dyn EmbeddingModel>,
    items: &[Embeddable],
) -> Result<Vec<MemoryId>> {
    let name = model.info().full_name();
    let mut batches = vec![items];
    let (mut refusals, mut accepted) = (0, false);
    let mut refused = Vec::new();
    let mut failure = None;
    while let Some(batch) = batches.pop().filter(|batch| !batch.is_empty()) {
        match ask(model, batch.iter().map(|item| item.text.clone()).collect()).await {
            Ok(embeddings) => {
                // The model takes texts, so those that it refuses are to blame.
                if embeddings.iter().any(Option::is_some) {
                    (refusals, accepted) = (0, true);
                } else if !accepted {
                    match is_working(model).await {
                        Ok(true) => accepted = true,
                        Ok(false) => {
                            failure = Some(Error::unexpected(
                                "the embedding model gives no usable vector, not even of a plain sentence",
                            ));
                            break;
                        }
                        Err(error) => {
                            failure = Some(error);
                            break;
                        }
                    }
                }
                let both = || batch.iter().zip(&embeddings);
                refused.extend(
                    both()
                        .filter(|(_, embedding)| embedding.is_none())
                        .map(|(item, _)| item.memory.id),
                );
                let embeddings: Vec<(Embeddable, Embedding)> = both()
                    .filter_map(|(item, embedding)| Some((item.clone(), embedding.clone()?)))
                    .collect();
                embeddings.iter().for_each(|(_, embedding)| meaning.note(&name, embedding));
                kill_point("embedding.before");
                save(context, &name, embeddings).await?;
                kill_point("embedding.after");
            }
            // Fewer texts may still fit into what is left of the day.
            Err(error) if error.code() == Some(LIMIT_CODE) => {
                let (first, _) = batch.split_at(batch.len() / 2);
                batches = vec![first];
                failure = Some(error);
            }
            // If the service rejects one text, the others must still be embedded.
            Err(error)
                if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::TooLong)
                    && refusals < REFUSED =>
            {
                refusals += 1;
                let (first, second) = batch.split_at(batch.len() / 2);
                if first.is_empty() {
                    refused.extend(second.iter().map(|item| item.memory.id));
                } else {
                    batches.extend([second, first]);
                }
            }
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    let Some(error) = failure else { return Ok(refused) };
    // Otherwise they would stand at the beginning of the next batch, and of each after it.
    if accepted && !refused.is_empty() {
        context.store.give_up_embedding(context.agent.identity.id(), &refused).await?;
    }
    Err(error)
}

/// True if the model gives a usable vector of [`PLAIN`].
async fn is_working(model: &Arc<dyn EmbeddingModel>) -> Result<bool> {
    Ok(ask(model, vec![PLAIN.to_owned()]).await?.iter().any(Option::is_some))
}

/// Stores embeddings in one change with what calls used. The change runs to its end even if the
/// caller is cancelled, so its rows of usage are neither lost nor stored twice.
pub(super) async fn save(
    context: &ServiceContext,
    model: &str,
    embeddings: Vec<(Embeddable, Embedding)>,
) -> Result<()> {
    let (agent, rows) = (context.agent.identity.id(), context.usage.take());
    if embeddings.is_empty() && rows.is_empty() {
        return Ok(());
    }
    let (store, usage) = (Arc::clone(&context.store), Arc::clone(&context.usage));
    let model = model.to_owned();
    let stored = tokio::spawn(async move {
        let new = embeddings.iter().map(|(item, embedding)| NewEmbedding {
            memory: &item.memory,
            before: item.before.as_ref(),
            embedding: embedding.clone(),
        });
        let new: Vec<_> = new.collect();
        let stored = store.save_new_embeddings(agent, &model, &new, &rows).await;
        // After an unknown outcome the rows may be stored, and would count twice.
        if stored.as_ref().is_err_and(|error| error.sent() == Sent::No) {
            usage.put_back(rows);
        }
        stored
    });
    match stored.await {
        Ok(outcome) => outcome.map(drop),
        Err(ended) => {
            Err(Error::unexpected("the task that stores embeddings ended").with_source(ended))
        }
    }
}

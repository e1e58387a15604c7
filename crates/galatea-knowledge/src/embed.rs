//! Embed: pieces without an embedding get one, in batches.

use galatea_core::{
    AgentIdentity, Embedding, ErrorKind, Memory, MemoryKind, ModelInfo, Result, Sent, Source,
    WorldId,
    model::{LIMIT_CODE, Usage},
    question_models::{LONGEST, Searched},
    store::{Amount, Day, MemoryQuery, UsageRow},
    tokens::Family,
};
use std::sync::Arc;
use tokio::time::Instant;

use crate::{
    library::Library,
    question::{Meanings, Questions},
    rows::{Piece, shared_agent},
    synced::{Progress, Step, Synced},
};

/// Pieces embedded by one call: about 25,000 tokens.
const BATCH: u32 = 64;
/// Most pieces embedded in one run, so that one collection cannot cost without bound: 50,000 pieces
/// are about 20 million tokens.
const MOST: usize = 50_000;
/// Source of what documents cost in the ledger, where platforms stand otherwise.
const SOURCE: Source = Source::new("knowledge");

impl Library {
    /// Embeds pieces of this agent's documents that have no embedding of the present model. The
    /// model's client retries; when it gives up, the next run goes on. At a limit of the agent the rest
    /// waits, too.
    pub(crate) async fn embed(&self, progress: Progress<'_>, synced: &mut Synced) -> Result<()> {
        let Some(model) = self.parts.embedding.clone() else { return Ok(()) };
        let (own, name) = (self.parts.identity.id(), model.info().full_name());
        for under in [own, shared_agent()] {
            loop {
                let refused = self.refused.lock().len();
                let limit = BATCH + u32::try_from(refused).unwrap_or(u32::MAX).min(1_000);
                let query = MemoryQuery::new(under, limit).kind(MemoryKind::Fragments);
                let mut missing = self.parts.store.without_embedding(&query, &name, None).await?;
                missing.retain(|piece| self.is_mine(piece) && !self.is_refused(piece));
                if missing.is_empty() || synced.embedded >= MOST {
                    break;
                }
                let mut batches = vec![missing.as_slice()];
                while let Some(batch) = batches.pop().filter(|batch| !batch.is_empty()) {
                    match self.embed_batch(&model, &name, under, batch).await {
                        Ok(()) => {
                            synced.embedded += batch.len();
                            progress(Step::Embedded(batch.len()));
                        }
                        // Fewer pieces may still fit into what is left of the day.
                        Err(error) if error.code() == Some(LIMIT_CODE) => {
                            batches = vec![&batch[..batch.len() / 2]];
                            synced.postponed = Some(error);
                        }
                        Err(error)
                            if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::TooLong) =>
                        {
                            match batch {
                                [one] => {
                                    tracing::warn!(piece = %one.id, error = %error.report(), "the embedding model refuses a piece of a document; it is found by words only");
                                    self.refuse(one);
                                }
                                batch => {
                                    let (first, second) = batch.split_at(batch.len() / 2);
                                    batches.extend([second, first]);
                                }
                            }
                        }
                        Err(error) => return Err(error),
                    }
                }
                if synced.postponed.is_some() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    async fn embed_batch(
        &self,
        model: &Arc<dyn galatea_core::EmbeddingModel>,
        name: &str,
        under: galatea_core::AgentId,
        batch: &[Memory],
    ) -> Result<()> {
        let texts: Vec<String> = batch.iter().map(|piece| piece.content.text.clone()).collect();
        let vectors = model.embed(&texts).await?;
        let embeddings: Vec<(&Memory, Embedding)> = batch
            .iter()
            .zip(vectors)
            .filter_map(|(piece, vector)| {
                let embedding = Embedding::new(vector).ok();
                if embedding.is_none() {
                    self.refuse(piece);
                }
                Some((piece, embedding?))
            })
            .collect();
        let usage = match &self.metered {
            Some(metered) => metered.take(),
            None => vec![self.cost(model.info(), &texts)],
        };
        let stored =
            self.parts.store.save_embeddings_with_usage(under, name, &embeddings, &usage).await;
        // After an unknown outcome the rows may be stored, and would count twice.
        if let (Err(error), Some(metered)) = (&stored, &self.metered)
            && error.sent() == Sent::No
        {
            metered.put_back(usage);
        }
        stored.map(drop)
    }

    /// The meanings of a question that the operator asks, outside of a turn. What the models cost
    /// goes into the ledger. Empty without an embedding model.
    ///
    /// # Errors
    /// Those of the present model if no older one answered either, and those of the store.
    pub async fn meanings(&self, questions: &Questions, question: &str) -> Result<Meanings> {
        let parts = &self.parts;
        let Some(model) = &parts.embedding else { return Ok(Meanings::default()) };
        let agents = [self.agent(), shared_agent()];
        let searched = Searched { store: &*parts.store, agents: &agents, now: parts.clock.now() };
        let answers = questions.ask(searched, model, question, Instant::now() + LONGEST).await?;
        let rows: Vec<UsageRow> =
            answers.calls.iter().map(|(info, texts)| self.cost(info, texts)).collect();
        parts.usage.add_usage(&rows).await?;
        Ok(questions.compare(answers))
    }

    /// Cost of a call.
    fn cost(&self, model: &ModelInfo, texts: &[String]) -> UsageRow {
        let day = Day::of(self.parts.clock.now());
        embedding_cost(&self.parts.identity, SOURCE, day, model, texts)
    }

    /// Shared pieces of other agents are embedded by their own agent.
    fn is_mine(&self, piece: &Memory) -> bool {
        let owner = piece.metadata.get("ownerId").and_then(serde_json::Value::as_str);
        owner == Some(self.parts.identity.id().to_string().as_str()) && Piece::read(piece).is_some()
    }

    fn is_refused(&self, piece: &Memory) -> bool {
        self.refused.lock().contains(&piece.id)
    }

    fn refuse(&self, piece: &Memory) {
        self.refused.lock().insert(piece.id);
    }
}

/// Cost of an embedding model's call that no person asked for, as a row of the ledger under the
/// agent's own entity. `source` says what it was for.
pub fn embedding_cost(
    identity: &AgentIdentity,
    source: Source,
    day: Day,
    model: &ModelInfo,
    texts: &[String],
) -> UsageRow {
    let family = Family::of(&model.model);
    let input = texts.iter().map(|text| family.text(text)).sum();
    let used = Usage { input, ..Usage::default() };
    let price = model.known_price();
    UsageRow {
        agent: identity.id(),
        day,
        world: WorldId(identity.id().0),
        room: UsageRow::background_room(identity, &source),
        source,
        person: identity.entity(),
        model: model.full_name(),
        amount: Amount {
            calls: 1,
            input,
            unpriced: if price.is_none() { input } else { 0 },
            micros: price.map_or(0, |price| price.of(used)),
            ..Amount::default()
        },
    }
}

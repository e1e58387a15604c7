//! The service that embeds what an agent remembers, beside the turns. It needs no message
//! to begin: what an import or a new model leaves without an embedding is found at the next look.

mod batch;
mod wait;

use async_trait::async_trait;
use galatea_core::{
    Backoff, EmbeddingModel, Error, ErrorKind, MemoryKind, Result, Retry, Service, ServiceContext,
    Variable, fusion,
    model::LIMIT_CODE,
    store::{EmbeddingClaim, MemoryQuery, Unembedded},
};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

use crate::{meaning::PromptMeaning, words};
use batch::Embeddable;
use wait::{Due, Wait};

/// The runtime's pause before work that calls a model.
const PAUSE: Variable = Variable::new("EVALUATION_PAUSE_SECONDS", "The runtime's.").or("5");
/// Texts per request: services take 96 to 2,048 at once (Cohere, OpenAI), and some 20,000 tokens of
/// messages of the usual length.
const BATCH: u32 = 64;
/// Requests of one pass. The rest waits until the agent is quiet again.
const REQUESTS: usize = 16;
/// Longest time for one batch: the model's client retries within it.
const DEADLINE: Duration = Duration::from_secs(120);
/// Time that a process keeps a claim: longer than [`DEADLINE`].
const CLAIM: Duration = Duration::from_secs(300);
/// The pause after the first failure, and the longest after further ones.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);
/// Longest text that is embedded, in graphemes.
const LONGEST: usize = 4_000;
/// Memories that evaluators make. Prompts look for it by meaning in the next turn, so it goes
/// first.
const DERIVED: &[MemoryKind] = &[MemoryKind::Facts, MemoryKind::Summaries, MemoryKind::Profiles];
const MESSAGES: &[MemoryKind] = &[MemoryKind::Messages];

/// Embeds what waits. Does nothing without an embedding model.
pub(crate) struct EmbeddingService {
    meaning: Arc<PromptMeaning>,
}

impl EmbeddingService {
    pub(crate) fn new(meaning: Arc<PromptMeaning>) -> Self {
        Self { meaning }
    }
}

#[async_trait]
impl Service for EmbeddingService {
    /// The name under which the ledger shows searches of `galatea memory`, too.
    fn name(&self) -> &'static str {
        "memory"
    }

    async fn run(self: Arc<Self>, context: ServiceContext, stop: CancellationToken) -> Result<()> {
        let Some(model) = context.embedding.clone() else {
            stop.cancelled().await;
            return Ok(());
        };
        let pause = context.agent.settings.parse(&PAUSE, "a whole number")?.unwrap_or(5);
        let wait = Wait::new(&context, Duration::from_secs(pause));
        let mut work =
            Work { meaning: &self.meaning, context: &context, model, failures: 0, compared: None };
        stop.run_until_cancelled(work.run(wait)).await;
        Ok(())
    }
}

/// A run of the service.
struct Work<'a> {
    meaning: &'a PromptMeaning,
    context: &'a ServiceContext,
    model: Arc<dyn EmbeddingModel>,
    /// Failures in a row.
    failures: u32,
    /// The width of vectors for which facts of another width were looked for.
    compared: Option<usize>,
}

impl Work<'_> {
    async fn run(&mut self, mut wait: Wait) {
        loop {
            let due = wait.due().await;
            match self.pass(due).await {
                Ok(more) => {
                    self.failures = 0;
                    if due == Due::All {
                        wait.looked(more);
                    }
                }
                Err(error) => {
                    self.store_cost().await;
                    wait.pause(self.pause(&error));
                }
            }
        }
    }

    /// Embeds what waits, up to [`REQUESTS`] requests. True if more waits.
    async fn pass(&mut self, due: Due) -> Result<bool> {
        let mut requests = REQUESTS;
        self.queue(DERIVED, &mut requests).await?;
        self.other_widths(&mut requests).await?;
        if due == Due::All {
            self.queue(MESSAGES, &mut requests).await?;
        }
        Ok(requests == 0)
    }

    async fn queue(&self, kinds: &[MemoryKind], requests: &mut usize) -> Result<()> {
        let ServiceContext { agent, store, clock, .. } = self.context;
        while *requests > 0 {
            let now = clock.now();
            let claim = EmbeddingClaim {
                agent: agent.identity.id(),
                model: self.model.info().full_name(),
                kinds: kinds.to_vec(),
                limit: BATCH,
                now,
                until: now.plus(CLAIM),
            };
            let waiting = store.claim_unembedded(&claim).await?;
            let is_last = waiting.len() < BATCH as usize;
            let items: Vec<Embeddable> = waiting
                .into_iter()
                .map(|Unembedded { memory, before }| {
                    let said = before.as_ref().map(|before| before.content.text.as_str());
                    let text = fusion::embedded_text(said, &memory.content.text);
                    Embeddable { memory, before, text: words::line(&text, LONGEST) }
                })
                .collect();
            self.embed(&items, requests).await?;
            if is_last {
                break;
            }
        }
        Ok(())
    }

    /// Embeds facts again whose vectors have another width than those that the model makes now. The
    /// width is known after one request.
    async fn other_widths(&mut self, requests: &mut usize) -> Result<()> {
        let (agent, name) = (self.context.agent.identity.id(), self.model.info().full_name());
        let width = self.meaning.width(&name).filter(|width| self.compared != Some(*width));
        let Some(width) = width else { return Ok(()) };
        let facts = MemoryQuery::new(agent, BATCH).kind(MemoryKind::Facts);
        while *requests > 0 {
            let found = self.context.store.without_embedding(&facts, &name, Some(width)).await?;
            let is_last = found.len() < BATCH as usize;
            let items: Vec<Embeddable> = found
                .into_iter()
                .map(|memory| {
                    let text = words::line(&memory.content.text, LONGEST);
                    Embeddable { memory, before: None, text }
                })
                .collect();
            self.embed(&items, requests).await?;
            if is_last {
                self.compared = Some(width);
                break;
            }
        }
        Ok(())
    }

    async fn embed(&self, items: &[Embeddable], requests: &mut usize) -> Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        *requests -= 1;
        let batch = batch::embed(self.context, self.meaning, &self.model, items);
        let refused = tokio::time::timeout(DEADLINE, batch)
            .await
            .map_err(|_| Error::new(ErrorKind::Timeout, "the embedding model took too long"))??;
        if refused.is_empty() {
            return Ok(());
        }
        let agent = self.context.agent.identity.id();
        self.context.store.give_up_embedding(agent, &refused).await
    }

    /// Stores what failed calls cost; successful calls store it with their embeddings.
    async fn store_cost(&self) {
        let name = self.model.info().full_name();
        if let Err(error) = batch::save(self.context, &name, Vec::new()).await {
            tracing::debug!(error = %error.report(), "failed to store what calls of the embedding model cost; trying again with the next batch");
        }
    }

    /// Pause of the service after a failure.
    fn pause(&mut self, error: &Error) -> Duration {
        let agent = self.context.agent.identity.id();
        if let (Some(LIMIT_CODE), Retry::After(pause)) = (error.code(), error.retry()) {
            tracing::info!(agent = %agent, reason = %error, seconds = pause.as_secs(), "a budget is used up or reserved; memories wait for their embeddings for the pause and are found by words only");
            return pause;
        }
        let pause = Backoff::pause_after(FIRST_PAUSE, LONGEST_PAUSE, self.failures);
        self.failures = self.failures.saturating_add(1);
        tracing::warn!(agent = %agent, code = error.code(), error = %error.report(), seconds = pause.as_secs(), "failed to embed memories; trying again after the pause");
        pause
    }
}

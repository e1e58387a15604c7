//! EMBEDDING: embeds messages and other memories in the background, so that they are found by their
//! meaning. Off without an embedding model.

use async_trait::async_trait;
use galatea_core::{
    Backoff, Evaluator, EvaluatorUse, FinishedTurn, MemoryKind, Result, Timestamp, fusion,
    store::{EmbeddingClaim, Unembedded},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use crate::{
    meaning::{Embeddable, Meaning},
    words,
};

/// Embeds what waits, facts first.
pub(crate) struct EmbeddingQueue {
    meaning: Arc<Meaning>,
    /// Failures in a row.
    failures: AtomicU32,
    /// After a failure: not before this time, in milliseconds.
    paused_until: AtomicI64,
}

/// Texts per request: services take 96 to 2,048 at once (Cohere, OpenAI), and some 20,000 tokens of
/// messages of the usual length.
const BATCH: u32 = 64;
/// Requests of one run. The rest waits for the next turn of the agent.
const REQUESTS: usize = 16;
/// How long a process keeps a claim. Longer than an evaluator may run.
const CLAIM: Duration = Duration::from_secs(300);
/// The pause after the first failure, and the longest after further ones.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);
/// Longest text that is embedded, in graphemes.
const LONGEST: usize = 4_000;
/// What is embedded, in this order.
const KINDS: [&[MemoryKind]; 2] =
    [&[MemoryKind::Facts, MemoryKind::Summaries, MemoryKind::Profiles], &[MemoryKind::Messages]];

impl EmbeddingQueue {
    pub(crate) fn new(meaning: Arc<Meaning>) -> Self {
        Self { meaning, failures: AtomicU32::default(), paused_until: AtomicI64::default() }
    }

    fn pause(&self, now: Timestamp) -> Duration {
        let failures = self.failures.fetch_add(1, Relaxed);
        let pause = Backoff::pause_after(FIRST_PAUSE, LONGEST_PAUSE, failures);
        self.paused_until.store(now.plus(pause).0, Relaxed);
        pause
    }
}

#[async_trait]
impl Evaluator for EmbeddingQueue {
    fn name(&self) -> &'static str {
        "EMBEDDING"
    }
    fn description(&self) -> &'static str {
        "Embeds messages, so that they are found by their meaning"
    }
    fn when(&self) -> EvaluatorUse {
        EvaluatorUse::WhenQuiet
    }
    async fn validate(&self, finished: &FinishedTurn<'_>) -> Result<bool> {
        let turn = finished.turn;
        let paused = turn.now().0 < self.paused_until.load(Relaxed);
        Ok(turn.models.embedding.is_some() && !paused)
    }
    async fn evaluate(&self, finished: &FinishedTurn<'_>) -> Result<()> {
        let turn = finished.turn;
        let Some(model) = &turn.models.embedding else { return Ok(()) };
        let agent = turn.agent.identity.id();
        let mut requests = 0;
        for kinds in KINDS {
            while requests < REQUESTS {
                let claim = EmbeddingClaim {
                    agent,
                    model: model.info().full_name(),
                    kinds: kinds.to_vec(),
                    limit: BATCH,
                    now: turn.now(),
                    until: turn.now().plus(CLAIM),
                };
                let waiting = turn.store.claim_unembedded(&claim).await?;
                let last = waiting.len() < BATCH as usize;
                let items: Vec<Embeddable> = waiting
                    .into_iter()
                    .map(|Unembedded { memory, before }| {
                        let said = before.as_ref().map(|before| before.content.text.as_str());
                        let text = fusion::embedded_text(said, &memory.content.text);
                        Embeddable { memory, before, text: words::line(&text, LONGEST) }
                    })
                    .collect();
                if items.is_empty() {
                    break;
                }
                requests += 1;
                match self.meaning.embed(turn, model, &items).await {
                    Ok(refused) if refused.is_empty() => {}
                    Ok(refused) => turn.store.give_up_embedding(agent, &refused).await?,
                    Err(error) => {
                        let pause = self.pause(turn.now());
                        return Err(error.with("retry_in_seconds", pause.as_secs()));
                    }
                }
                self.failures.store(0, Relaxed);
                if last {
                    break;
                }
            }
        }
        Ok(())
    }
}

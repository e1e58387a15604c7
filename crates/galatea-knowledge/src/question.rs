//! The meaning of what is being said, within a bounded part of a turn's time.

use galatea_core::{Embedding, EmbeddingModel, Error, ErrorKind, Result, Turn, Variable};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::Semaphore, time::timeout};

use crate::{relevance::UNRELATED, search::Meaning};

/// The runtime's time limit of a turn.
const TURN: Variable = Variable::new("TURN_TIMEOUT_SECONDS", "The runtime's.").or("120");
/// The share of a turn's time limit for embedding the question, as a divisor, as for facts.
const PART: u32 = 20;
/// Longest wait, because a person is waiting.
pub(crate) const LONGEST: Duration = Duration::from_secs(20);
/// Requests at once. A turn stops waiting after its part, but each request runs to its end.
const AT_ONCE: usize = 4;

/// Embeds questions.
pub struct Questions {
    asking: Arc<Semaphore>,
    /// Vectors of [`UNRELATED`] by model.
    unrelated: Mutex<HashMap<String, Arc<Vec<Embedding>>>>,
}

impl Default for Questions {
    fn default() -> Self {
        Self { asking: Arc::new(Semaphore::new(AT_ONCE)), unrelated: Mutex::default() }
    }
}

impl Questions {
    /// The meaning of a question. The first call of a model also embeds texts to compare with.
    ///
    /// # Errors
    /// Those of the model, and a vector that cannot be compared.
    pub async fn meaning(
        &self,
        model: &Arc<dyn EmbeddingModel>,
        question: &str,
    ) -> Result<Meaning> {
        self.embed(model, question).await?.0
    }

    /// The same, with the texts that were embedded, which cost something also if the answer cannot
    /// be used.
    pub(crate) async fn embed(
        &self,
        model: &Arc<dyn EmbeddingModel>,
        question: &str,
    ) -> Result<(Result<Meaning>, Vec<String>)> {
        let name = model.info().full_name();
        let known = self.known(&name);
        let mut texts = vec![question.to_owned()];
        if known.is_none() {
            texts.extend(UNRELATED.map(str::to_owned));
        }
        let vectors = model.embed(&texts).await?;
        Ok((self.compare(name, known, vectors), texts))
    }

    fn compare(
        &self,
        name: String,
        known: Option<Arc<Vec<Embedding>>>,
        vectors: Vec<Vec<f32>>,
    ) -> Result<Meaning> {
        let mut vectors = vectors.into_iter();
        let embedding = Embedding::new(vectors.next().unwrap_or_default())?;
        let unrelated = match known {
            Some(known) => known,
            None => {
                let made: Result<Vec<Embedding>> = vectors.map(Embedding::new).collect();
                let made = Arc::new(made?);
                self.unrelated
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(name.clone(), Arc::clone(&made));
                made
            }
        };
        let similar = unrelated.iter().filter_map(|text| embedding.similarity(text.numbers()));
        let (count, sum) = similar.fold((0.0_f32, 0.0), |(n, sum), s| (n + 1.0, sum + s));
        let unrelated = if count > 0.0 { sum / count } else { 0.0 };
        Ok(Meaning { model: name, embedding, unrelated })
    }

    fn known(&self, model: &str) -> Option<Arc<Vec<Embedding>>> {
        self.unrelated.lock().unwrap_or_else(PoisonError::into_inner).get(model).cloned()
    }

    /// The same within a turn's time. `None` without an embedding model.
    ///
    /// # Errors
    /// `Timeout` when the model takes too long, and those of the model. Pieces are then found by
    /// words alone.
    pub(crate) async fn in_turn(
        self: &Arc<Self>,
        turn: &Turn<'_>,
        question: &str,
    ) -> Result<Option<Meaning>> {
        let Some(model) = turn.models.embedding.clone() else { return Ok(None) };
        let limit = patience(turn);
        let permit = timeout(limit, Arc::clone(&self.asking).acquire_owned()).await;
        let Ok(Ok(permit)) = permit else {
            return Err(Error::new(ErrorKind::Timeout, "too many wait for the embedding model"));
        };
        let (questions, question) = (Arc::clone(self), question.to_owned());
        let asked = tokio::spawn(async move {
            let meaning = questions.meaning(&model, &question).await;
            drop(permit);
            meaning
        });
        match timeout(limit, asked).await {
            Ok(Ok(meaning)) => meaning.map(Some),
            Ok(Err(crash)) => {
                Err(Error::unexpected("the embedding model crashed").with_source(crash))
            }
            Err(_) => Err(Error::new(ErrorKind::Timeout, "the embedding model took too long")),
        }
    }
}

/// How long a turn waits for the meaning of its question.
fn patience(turn: &Turn<'_>) -> Duration {
    let seconds =
        turn.agent.settings.parse::<u64>(&TURN, "a whole number").ok().flatten().unwrap_or(120);
    (Duration::from_secs(seconds) / PART).min(LONGEST)
}

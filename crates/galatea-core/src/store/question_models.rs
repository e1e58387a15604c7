//! Embeds a question by the present embedding model and, as long as the store has embeddings of
//! them, by the models before it: the old index answers until everything is embedded again.

mod answers;
mod older;

use parking_lot::{Mutex, MutexGuard};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

use crate::{
    embedding::Embedding,
    error::{Error, ErrorKind, Result},
    memory::MemoryKind,
    model::{EmbeddingModel, ModelInfo},
    settings::{Settings, variable::Variable},
};
pub use answers::{Answered, Answers, Searched};
use older::Older;

/// The runtime's time limit of a turn.
const TURN: Variable = Variable::new("TURN_TIMEOUT_SECONDS", "The runtime's.").or("120");
/// The share of a turn's time limit for embedding its question, as a divisor: six seconds of two
/// minutes. The answer itself takes about as long.
const PART: u32 = 20;
/// Longest wait for an embedding, however long a turn may take, because a person is waiting.
pub const LONGEST: Duration = Duration::from_secs(20);
/// Number of further questions to a model that took too long, behind an answer that does not wait
/// for it.
const PROBED: Duration = Duration::from_secs(30);
/// Concurrent requests to the present model. A caller stops waiting at its deadline, but each
/// request runs to its end, so that a service that hangs is detected.
const ASKED_AT_ONCE: usize = 4;

/// Time that a turn waits for the embedding of its question.
pub fn patience(settings: &Settings) -> Duration {
    let seconds = settings.parse::<u64>(&TURN, "a whole number").ok().flatten().unwrap_or(120);
    (Duration::from_secs(seconds) / PART).min(LONGEST)
}

/// Asks embedding models for questions. One for each kind of search of one agent, since it caches
/// which older models that search needs.
pub struct QuestionModels {
    asking: Arc<Semaphore>,
    older: Older,
    slow: Arc<Mutex<Option<Slow>>>,
}

/// A present model that took too long. One answer waited for it; the next ones compare by words until
/// it answers in time.
struct Slow {
    model: String,
    probed: Instant,
}

/// Further texts that a model embeds in the same call: those that a question is compared with. It
/// gets the model's [`ModelInfo::full_name`], and of an older model the width of its embeddings.
pub type Beside<'a> = &'a (dyn Fn(&str, Option<usize>) -> Vec<String> + Sync);

impl QuestionModels {
    /// For searches of memories of these kinds.
    pub fn of(kinds: &[MemoryKind]) -> Self {
        Self {
            asking: Arc::new(Semaphore::new(ASKED_AT_ONCE)),
            older: Older::of(kinds),
            slow: Arc::default(),
        }
    }

    /// Embeds a question by all models at once, and waits for them until the deadline.
    ///
    /// # Errors
    /// Those of the present model, and `Timeout`, if no older model answered either. The question is
    /// then compared by words.
    pub async fn embed(
        &self,
        searched: Searched<'_>,
        model: &Arc<dyn EmbeddingModel>,
        question: &str,
        beside: Beside<'_>,
        deadline: Instant,
    ) -> Result<Answers> {
        let texts = |model: &str, width: Option<usize>| {
            let mut texts = vec![question.to_owned()];
            texts.extend(beside(model, width));
            texts
        };
        let older = self.older.ask(searched, model, &texts).await;
        let asked = texts(&model.info().full_name(), None);
        let present = self.ask_present(model, asked.clone(), deadline).await;
        let read = present.map(|vectors| read(model.info(), vectors));
        let known = match &read {
            Ok(Ok(answered)) => Some(&answered.question),
            _ => None,
        };
        let mut answers = self.older.answers(searched.now, older, known, deadline).await;
        match read {
            Ok(answer) => {
                answers.calls.insert(0, (model.info().clone(), asked));
                match answer {
                    Ok(answered) => answers.answered.insert(0, answered),
                    Err(unusable) => {
                        tracing::warn!(model = model.info().full_name(), error = %unusable.report(), "unusable vector from the embedding model; its question is compared by words");
                        answers.answered.clear();
                        answers.note = Some(unusable.to_string());
                    }
                }
            }
            Err(error) if answers.answered.is_empty() => return Err(error),
            Err(error) => {
                answers.note = Some(format!(
                    "only what an older embedding model embedded is found by meaning: {error}"
                ));
            }
        }
        Ok(answers)
    }

    async fn ask_present(
        &self,
        model: &Arc<dyn EmbeddingModel>,
        texts: Vec<String>,
        deadline: Instant,
    ) -> Result<Vec<Vec<f32>>> {
        let name = model.info().full_name();
        let waits = deadline.saturating_duration_since(Instant::now());
        match self.state_of(&name) {
            QuestionState::Answers => {}
            QuestionState::Probe => {
                self.probe(model, texts, waits);
                return Err(left_alone());
            }
            QuestionState::LeftAlone => return Err(left_alone()),
        }
        let answer = self.wait_for_present(model, texts, deadline).await;
        if answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::Timeout)
            && Instant::now() >= deadline
        {
            tracing::warn!(model = name, waited = ?waits, "the embedding model took too long; questions are compared by words until it answers in time");
            *self.lock() = Some(Slow { model: name, probed: Instant::now() });
        }
        answer
    }

    /// State of the present model for a question.
    fn state_of(&self, model: &str) -> QuestionState {
        let mut slow = self.lock();
        let Some(of) = slow.as_mut().filter(|of| of.model == model) else {
            return QuestionState::Answers;
        };
        if of.probed.elapsed() < PROBED {
            return QuestionState::LeftAlone;
        }
        of.probed = Instant::now();
        QuestionState::Probe
    }

    /// Asks a model that took too long without waiting for it. If it answers within the time that an
    /// answer would wait, the next ones do.
    fn probe(&self, model: &Arc<dyn EmbeddingModel>, texts: Vec<String>, waits: Duration) {
        let Ok(permit) = Arc::clone(&self.asking).try_acquire_owned() else { return };
        let (model, slow) = (Arc::clone(model), Arc::clone(&self.slow));
        tokio::spawn(async move {
            let begun = Instant::now();
            let answer = model.embed(&texts).await;
            drop(permit);
            if answer.is_ok() && begun.elapsed() <= waits {
                let mut slow = slow.lock();
                slow.take_if(|of| of.model == model.info().full_name());
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, Option<Slow>> {
        self.slow.lock()
    }

    async fn wait_for_present(
        &self,
        model: &Arc<dyn EmbeddingModel>,
        texts: Vec<String>,
        deadline: Instant,
    ) -> Result<Vec<Vec<f32>>> {
        // Other questions may hold all permits while they wait for a service that hangs.
        let permit = match timeout_at(deadline, Arc::clone(&self.asking).acquire_owned()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) | Err(_) => {
                return Err(Error::new(
                    ErrorKind::Timeout,
                    "too many wait for the embedding model",
                ));
            }
        };
        let model = Arc::clone(model);
        let asked = tokio::spawn(async move {
            let answer = model.embed(&texts).await;
            drop(permit);
            answer
        });
        match timeout_at(deadline, asked).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(panicked)) => {
                Err(Error::unexpected("the embedding model crashed").with_source(panicked))
            }
            Err(_) => Err(Error::new(ErrorKind::Timeout, "the embedding model took too long")),
        }
    }
}

/// Fate of a question.
enum QuestionState {
    /// The model is asked and waited for.
    Answers,
    /// It is asked, and nothing waits for it.
    Probe,
    LeftAlone,
}

fn left_alone() -> Error {
    Error::new(ErrorKind::Timeout, "the embedding model took too long a while ago")
}

/// The present model's vectors, as they are.
fn read(info: &ModelInfo, vectors: Vec<Vec<f32>>) -> Result<Answered> {
    let mut vectors = vectors.into_iter();
    Ok(Answered {
        model: info.full_name(),
        question: Embedding::new(vectors.next().unwrap_or_default())?,
        beside: vectors.map(Embedding::new).collect::<Result<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A model that answers unless it hangs.
    #[derive(Default)]
    struct Hanging {
        info: ModelInfo,
        hangs: AtomicBool,
    }

    #[async_trait]
    impl EmbeddingModel for Hanging {
        fn info(&self) -> &ModelInfo {
            &self.info
        }
        async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
            if self.hangs.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            Ok(vec![vec![1.0, 0.0]; texts.len()])
        }
    }

    #[tokio::test]
    async fn a_model_that_took_too_long_is_asked_behind_answers_until_it_answers_in_time() {
        let models = QuestionModels::of(&[MemoryKind::Messages]);
        let hanging = Arc::new(Hanging::default());
        hanging.hangs.store(true, Ordering::Relaxed);
        let model: Arc<dyn EmbeddingModel> = hanging.clone();
        let ask = async |wait: u64| {
            let deadline = Instant::now() + Duration::from_millis(wait);
            models.ask_present(&model, vec!["tea".to_owned()], deadline).await
        };
        assert_eq!(ask(20).await.unwrap_err().message(), "the embedding model took too long");
        // A wait of a minute would be noticed.
        assert_eq!(ask(60_000).await.unwrap_err().message(), left_alone().message());

        hanging.hangs.store(false, Ordering::Relaxed);
        assert!(ask(60_000).await.is_err(), "it is left alone");
        let past = Instant::now().checked_sub(PROBED).unwrap();
        models.lock().as_mut().unwrap().probed = past;
        assert!(ask(60_000).await.is_err(), "nothing waits for the attempt");
        while models.lock().is_some() {
            tokio::task::yield_now().await;
        }
        assert_eq!(ask(60_000).await.unwrap().len(), 1);
    }
}

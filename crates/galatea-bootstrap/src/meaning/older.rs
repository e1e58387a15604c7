//! Older: embeds a question by the models before the present one, as long as the store has
//! embeddings of them. The old index answers until everything is embedded again.

use galatea_core::{
    Embedding, EmbeddingModel, Error, Result, Timestamp, Turn,
    model::LIMIT_CODE,
    store::{self, OlderEmbeddings},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::Semaphore,
    task::JoinHandle,
    time::{Instant, timeout_at},
};

/// How long the list of older models is used while there are some. The store reads some thousand
/// rows for it.
const FRESH: Duration = Duration::from_secs(30);
/// The same while there are none. The store looks at some thousand rows, which may be those of other
/// agents and of documents until the queue has passed them.
const FRESH_EMPTY: Duration = Duration::from_secs(60);
/// How long an older model is left alone after it failed. Words and the present model answer
/// meanwhile.
const PAUSE: Duration = Duration::from_secs(600);
/// Concurrent requests. They have permits of their own, so that an old model that hangs does not
/// hold up the present one.
const ASKED_AT_ONCE: usize = 4;
/// Two models never agree so closely: a service that ignores the name answered with one of them.
const SAME: f32 = 0.9999;

/// The older models of one agent.
pub(super) struct Older {
    asking: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By the present model: when the list was read, and the models before it.
    lists: HashMap<String, (Timestamp, Arc<[OlderEmbeddings]>)>,
    /// Models that failed, with the time until which they are left alone, and why.
    paused: HashMap<String, (Timestamp, String)>,
}

impl Default for Older {
    fn default() -> Self {
        Self { asking: Arc::new(Semaphore::new(ASKED_AT_ONCE)), state: Mutex::default() }
    }
}

/// A question that an older model is embedding.
pub(super) struct Asked {
    of: OlderEmbeddings,
    asked: std::result::Result<JoinHandle<Result<Vec<Vec<f32>>>>, String>,
}

/// What the older models answered.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) meanings: Vec<store::Meaning>,
    /// Why some of them did not, for the verdict.
    pub(super) note: Option<String>,
}

impl Older {
    /// Asks the models whose embeddings wait to be replaced. Does not wait for them.
    pub(super) async fn ask(
        &self,
        turn: &Turn<'_>,
        model: &Arc<dyn EmbeddingModel>,
        text: &str,
    ) -> Vec<Asked> {
        let list = match self.list(turn, &model.info().full_name()).await {
            Ok(list) => list,
            Err(error) => {
                tracing::debug!(turn = %turn.id, error = %error.report(), "failed to read which older embedding models are in use; the present one answers alone");
                return Vec::new();
            }
        };
        list.iter()
            .map(|of| {
                let asked = self.begin(turn, model, &of.model, text);
                Asked { of: of.clone(), asked }
            })
            .collect()
    }

    fn begin(
        &self,
        turn: &Turn<'_>,
        model: &Arc<dyn EmbeddingModel>,
        older: &str,
        text: &str,
    ) -> std::result::Result<JoinHandle<Result<Vec<Vec<f32>>>>, String> {
        let now = turn.now();
        if let Some((until, reason)) = self.lock().paused.get(older)
            && now < *until
        {
            return Err(reason.clone());
        }
        let Some(sibling) = model.sibling(older) else {
            return Err("the configured service cannot have this model".to_owned());
        };
        let Ok(permit) = Arc::clone(&self.asking).try_acquire_owned() else {
            return Err("too many wait for it".to_owned());
        };
        let texts = vec![text.to_owned()];
        Ok(tokio::spawn(async move {
            let answer = sibling.embed(&texts).await;
            drop(permit);
            answer
        }))
    }

    /// Waits for their answers until the deadline of the turn. `present` is what the present model
    /// answered.
    pub(super) async fn answers(
        &self,
        turn: &Turn<'_>,
        asked: Vec<Asked>,
        present: Option<&Embedding>,
        deadline: Instant,
    ) -> Answers {
        let mut answers = Answers::default();
        for Asked { of, asked } in asked {
            let answer = match asked {
                Ok(task) => {
                    let answer = match timeout_at(deadline, task).await {
                        Ok(Ok(answer)) => {
                            answer.and_then(|vectors| read(vectors, of.width, present))
                        }
                        Ok(Err(ended)) => {
                            Err(Error::unexpected("its task ended").with_source(ended))
                        }
                        Err(_) => Err(Error::unexpected("it took too long")),
                    };
                    answer.map_err(|error| self.pause(turn, &of.model, &error))
                }
                Err(reason) => Err(reason),
            };
            match answer {
                Ok(embedding) => {
                    answers.meanings.push(store::Meaning { model: of.model, embedding });
                }
                Err(reason) => {
                    answers.note = Some(format!(
                        "memories with embeddings of {} are found by words only until they are embedded again: {reason}",
                        of.model
                    ));
                }
            }
        }
        answers
    }

    /// Leaves a model that failed alone for a while. Returns why.
    fn pause(&self, turn: &Turn<'_>, model: &str, error: &Error) -> String {
        let reason = error.to_string();
        // A limit of one person says nothing about the model.
        if error.code() != Some(LIMIT_CODE) {
            tracing::info!(turn = %turn.id, model, error = %error.report(), seconds = PAUSE.as_secs(), "failed to embed a message by an older model; it is left alone for the pause");
            let until = turn.now().plus(PAUSE);
            self.lock().paused.insert(model.to_owned(), (until, reason.clone()));
        }
        reason
    }

    async fn list(&self, turn: &Turn<'_>, model: &str) -> Result<Arc<[OlderEmbeddings]>> {
        let now = turn.now();
        let known = self.lock().lists.get(model).cloned();
        if let Some((at, list)) = known {
            let fresh = if list.is_empty() { FRESH_EMPTY } else { FRESH };
            if now.since(at) < fresh {
                return Ok(list);
            }
            // Other turns use the old list while this one reads.
            self.lock().lists.insert(model.to_owned(), (now, list));
        }
        let agent = turn.agent.identity.id();
        let mut list = turn.store.older_embeddings(agent, model).await?;
        // Of a model that was used with two widths the rows of one are compared.
        list.dedup_by(|next, first| next.model == first.model);
        let list: Arc<[OlderEmbeddings]> = list.into();
        let mut state = self.lock();
        state.paused.retain(|older, _| list.iter().any(|of| of.model == *older));
        state.lists.insert(model.to_owned(), (now, Arc::clone(&list)));
        Ok(list)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An older model's vector as its rows have it. Rows with fewer numbers were made with a setting for
/// the width: such models put what matters first, and their service cuts vectors in the same way.
fn read(vectors: Vec<Vec<f32>>, width: usize, present: Option<&Embedding>) -> Result<Embedding> {
    let mut vector = vectors.into_iter().next().unwrap_or_default();
    if vector.len() < width {
        return Err(Error::unexpected("its vectors are shorter than those stored"));
    }
    if present.is_some_and(|present| begin_alike(present.numbers(), &vector)) {
        return Err(Error::unexpected("the service answers with the present model in its place"));
    }
    vector.truncate(width);
    Embedding::new(vector)
}

/// Whether two vectors are of the same model, one of them perhaps cut to fewer numbers.
fn begin_alike(one: &[f32], other: &[f32]) -> bool {
    let both = one.len().min(other.len());
    let beginning = |of: &[f32]| Embedding::new(of[..both].to_vec()).ok();
    let (Some(one), Some(other)) = (beginning(one), beginning(other)) else { return false };
    one.similarity(other.numbers()).is_some_and(|similarity| similarity > SAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_present_model_is_recognised_whatever_its_width() {
        let present = Embedding::new(vec![0.5, -0.2, 0.7, 0.1]).unwrap();
        let answers = |vector: Vec<f32>| read(vec![vector], 2, Some(&present)).is_ok();
        assert!(!answers(vec![0.5, -0.2, 0.7, 0.1]), "wider than what is stored");
        assert!(!answers(vec![1.0, -0.4]), "cut, and of another length");
        assert!(answers(vec![0.5, 0.2]) && answers(vec![0.5, 0.2, 0.7, 0.1]));
        assert!(!answers(vec![0.5]), "shorter than what is stored");
    }
}

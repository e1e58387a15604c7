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
/// The same while there are none. New ones appear only if another process still uses another model,
/// since a change of this agent's model begins with a new list.
const FRESH_EMPTY: Duration = Duration::from_secs(600);
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
        let list: Arc<[OlderEmbeddings]> = turn.store.older_embeddings(agent, model).await?.into();
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
    vector.truncate(width);
    let embedding = Embedding::new(vector)?;
    let is_present = present
        .and_then(|present| present.similarity(embedding.numbers()))
        .is_some_and(|similarity| similarity > SAME);
    if is_present {
        return Err(Error::unexpected("the service answers with the present model in its place"));
    }
    Ok(embedding)
}

//! Older: the models before the present one, as long as the store has embeddings of them.

use parking_lot::{Mutex, MutexGuard};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::{
    sync::Semaphore,
    task::JoinHandle,
    time::{Instant, timeout_at},
};

use super::answers::{Answered, Answers, Searched};
use crate::{
    clock::Timestamp,
    embedding::Embedding,
    error::{Error, Result},
    ids::AgentId,
    memory::MemoryKind,
    model::{EmbeddingModel, LIMIT_CODE, ModelInfo},
    store::OlderEmbeddings,
};

/// Time that the list of older models is used while there are some. The store reads some thousand
/// rows for it.
const FRESH: Duration = Duration::from_secs(30);
/// Time that an empty list is used. The store looks at some thousand rows, which may be those of
/// other agents until the queue has passed them.
const FRESH_EMPTY: Duration = Duration::from_secs(60);
/// Time that an older model is left alone after it failed. Words and the present model answer
/// meanwhile.
const PAUSE: Duration = Duration::from_secs(600);
/// Concurrent requests. They have permits of their own, so that an old model that hangs does not
/// hold up the present one.
const ASKED_AT_ONCE: usize = 4;
/// Older models asked for one question, each of which is a call.
const MOST: usize = 2;
/// Two models never agree so closely: a service that ignores the name answered with one of them.
const SAME: f32 = 0.9999;

/// The older models of one search.
pub(super) struct Older {
    kinds: Vec<MemoryKind>,
    asking: Arc<Semaphore>,
    state: Mutex<OlderState>,
}

/// Time a list was read, and the models on it.
type List = (Timestamp, Arc<[OlderEmbeddings]>);

#[derive(Default)]
struct OlderState {
    /// The models before the present one, by agent and present model.
    lists: HashMap<(AgentId, String), List>,
    /// Models that failed, with the time until which they are left alone, and why.
    paused: HashMap<String, (Timestamp, String)>,
}

/// A question that an older model is embedding.
pub(super) struct OlderQuestion {
    of: OlderEmbeddings,
    call: std::result::Result<EmbedCall, String>,
}

struct EmbedCall {
    info: ModelInfo,
    texts: Vec<String>,
    answer: JoinHandle<Result<Vec<Vec<f32>>>>,
}

/// The texts for a model, the question first.
type Texts<'a> = &'a (dyn Fn(&str, Option<usize>) -> Vec<String> + Sync);

impl Older {
    pub(super) fn of(kinds: &[MemoryKind]) -> Self {
        Self {
            kinds: kinds.to_vec(),
            asking: Arc::new(Semaphore::new(ASKED_AT_ONCE)),
            state: Mutex::default(),
        }
    }

    /// Asks the models whose embeddings wait to be replaced. Does not wait for them.
    pub(super) async fn ask(
        &self,
        searched: Searched<'_>,
        model: &Arc<dyn EmbeddingModel>,
        texts: Texts<'_>,
    ) -> Vec<OlderQuestion> {
        let name = model.info().full_name();
        let mut all: Vec<OlderEmbeddings> = Vec::new();
        for agent in searched.agents {
            match self.list(searched, *agent, &name).await {
                // Of a model that was used with two widths the rows of one are compared.
                Ok(list) => {
                    for of in list.iter() {
                        if !all.iter().any(|known| known.model == of.model) {
                            all.push(of.clone());
                        }
                    }
                }
                Err(error) => {
                    tracing::debug!(%agent, error = %error.report(), "failed to read which older embedding models are in use; the present one answers alone");
                }
            }
        }
        all.truncate(MOST);
        let ask = |of: OlderEmbeddings| {
            let call = self.begin(searched.now, model, &of, texts);
            OlderQuestion { of, call }
        };
        all.into_iter().map(ask).collect()
    }

    fn begin(
        &self,
        now: Timestamp,
        model: &Arc<dyn EmbeddingModel>,
        of: &OlderEmbeddings,
        texts: Texts<'_>,
    ) -> std::result::Result<EmbedCall, String> {
        if let Some((until, reason)) = self.lock().paused.get(&of.model)
            && now < *until
        {
            return Err(reason.clone());
        }
        let Some(sibling) = model.sibling(&of.model) else {
            return Err("the configured service cannot have this model".to_owned());
        };
        let Ok(permit) = Arc::clone(&self.asking).try_acquire_owned() else {
            return Err("too many wait for it".to_owned());
        };
        let (info, texts) = (sibling.info().clone(), texts(&of.model, Some(of.width)));
        let asked = texts.clone();
        let answer = tokio::spawn(async move {
            let answer = sibling.embed(&asked).await;
            drop(permit);
            answer
        });
        Ok(EmbedCall { info, texts, answer })
    }

    /// Waits for their answers until the deadline. `present` is what the present model answered.
    pub(super) async fn answers(
        &self,
        now: Timestamp,
        asked: Vec<OlderQuestion>,
        present: Option<&Embedding>,
        deadline: Instant,
    ) -> Answers {
        let mut answers = Answers::default();
        for OlderQuestion { of, call } in asked {
            let answer = match call {
                Ok(EmbedCall { info, texts, answer }) => {
                    let answer = match timeout_at(deadline, answer).await {
                        Ok(Ok(answer)) => answer.and_then(|vectors| {
                            answers.calls.push((info, texts));
                            read(&of, vectors, present)
                        }),
                        Ok(Err(ended)) => {
                            Err(Error::unexpected("its task ended").with_source(ended))
                        }
                        Err(_) => Err(Error::unexpected("it took too long")),
                    };
                    answer.map_err(|error| self.pause(now, &of.model, &error))
                }
                Err(reason) => Err(reason),
            };
            match answer {
                Ok(answered) => answers.answered.push(answered),
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
    fn pause(&self, now: Timestamp, model: &str, error: &Error) -> String {
        let reason = error.to_string();
        // A limit of one person says nothing about the model.
        if error.code() != Some(LIMIT_CODE) {
            tracing::info!(model, error = %error.report(), seconds = PAUSE.as_secs(), "failed to embed a question by an older model; it is left alone for the pause");
            let until = now.plus(PAUSE);
            self.lock().paused.insert(model.to_owned(), (until, reason.clone()));
        }
        reason
    }

    async fn list(
        &self,
        searched: Searched<'_>,
        agent: AgentId,
        model: &str,
    ) -> Result<Arc<[OlderEmbeddings]>> {
        let (now, key) = (searched.now, (agent, model.to_owned()));
        let known = self.lock().lists.get(&key).cloned();
        if let Some((at, list)) = known {
            let fresh = if list.is_empty() { FRESH_EMPTY } else { FRESH };
            if now.since(at) < fresh {
                return Ok(list);
            }
            // Other questions use the old list while this one reads.
            self.lock().lists.insert(key.clone(), (now, list));
        }
        let list = searched.store.older_embeddings(agent, &self.kinds, model).await?;
        let list: Arc<[OlderEmbeddings]> = list.into();
        let mut state = self.lock();
        state.paused.retain(|_, (until, _)| now < *until);
        state.lists.insert(key, (now, Arc::clone(&list)));
        Ok(list)
    }

    fn lock(&self) -> MutexGuard<'_, OlderState> {
        self.state.lock()
    }
}

/// An older model's vectors as its rows have them.
fn read(
    of: &OlderEmbeddings,
    vectors: Vec<Vec<f32>>,
    present: Option<&Embedding>,
) -> Result<Answered> {
    let mut vectors = vectors.into_iter();
    let question = vectors.next().unwrap_or_default();
    if present.is_some_and(|present| begin_alike(present.numbers(), &question)) {
        return Err(Error::unexpected("the service answers with the present model in its place"));
    }
    let beside = vectors.map(|vector| cut(vector, of.width)).collect::<Result<_>>()?;
    Ok(Answered { model: of.model.clone(), question: cut(question, of.width)?, beside })
}

/// Rows with fewer numbers were made with a setting for the width: such models put what matters
/// first, and their service cuts vectors in the same way.
fn cut(mut vector: Vec<f32>, width: usize) -> Result<Embedding> {
    if vector.len() < width {
        return Err(Error::unexpected("its vectors are shorter than those stored"));
    }
    vector.truncate(width);
    Embedding::new(vector)
}

/// True if two vectors are of the same model, one of them perhaps cut to fewer numbers.
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
        let of = OlderEmbeddings { model: "m".into(), width: 2 };
        let answers = |vector: Vec<f32>| read(&of, vec![vector], Some(&present)).is_ok();
        assert!(!answers(vec![0.5, -0.2, 0.7, 0.1]), "wider than what is stored");
        assert!(!answers(vec![1.0, -0.4]), "cut, and of another length");
        assert!(answers(vec![0.5, 0.2]) && answers(vec![0.5, 0.2, 0.7, 0.1]));
        assert!(!answers(vec![0.5]), "shorter than what is stored");
    }
}

//! Embeds current messages to compare memories with, and knows what the models' vectors are like.

mod older;

use galatea_core::{
    Embedding, EmbeddingModel, Error, ErrorKind, Result, Turn, TurnId, Variable, fusion, store,
};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{OnceCell, Semaphore},
    time::{Instant, timeout_at},
};

use crate::{room_people::RoomPeople, words};
use older::Older;

/// The runtime's time limit of a turn.
const TURN: Variable = Variable::new("TURN_TIMEOUT_SECONDS", "The runtime's.").or("120");
/// The share of a turn's time limit for embedding the message, as a divisor: six seconds of two
/// minutes. The answer itself takes about as long.
const PART: u32 = 20;
/// Longest wait for an embedding, however long a turn may take, because a person is waiting.
pub(crate) const LONGEST: Duration = Duration::from_secs(20);
/// Concurrent requests for the embedding of a message. A turn stops waiting after [`patience`], but
/// each request runs to its end, so that a service that hangs is detected.
const ASKED_AT_ONCE: usize = 4;
/// Turns whose embedding is kept for the providers that come later in the same turn.
const TURNS: usize = 64;

/// Limits and cached properties of embedding models.
pub(crate) struct Meaning {
    asking: Arc<Semaphore>,
    /// Dimensions of a model's last embedding, by the model's name.
    widths: Mutex<HashMap<String, usize>>,
    /// Embeddings of the latest turns: several providers of a turn need the same one.
    turns: Mutex<VecDeque<(TurnId, Arc<OnceCell<Answer>>)>>,
    /// Models before the present one, while memories wait for their new embeddings.
    older: Older,
    /// Whose names are left out of questions.
    pub(crate) people: Arc<RoomPeople>,
}

/// What the embedding models answered for a turn. An error is kept in parts, since it is returned to
/// each provider.
type Answer = Result<Option<Said>, (ErrorKind, String)>;

impl Default for Meaning {
    fn default() -> Self {
        Self {
            asking: Arc::new(Semaphore::new(ASKED_AT_ONCE)),
            widths: Mutex::default(),
            turns: Mutex::default(),
            older: Older::default(),
            people: Arc::default(),
        }
    }
}

/// The embeddings of a turn's messages, to compare memories with: that of the present model, and
/// during a change of the model those of the models before.
#[derive(Clone)]
pub(crate) struct Said {
    meanings: Vec<store::Meaning>,
    /// How long the models took, in milliseconds.
    pub(crate) millis: u64,
    /// Which of them did not answer, and why, for the verdict.
    pub(crate) note: Option<String>,
}

impl Meaning {
    /// Embeds the messages of a turn, once however many providers ask. `None` without an embedding
    /// model or text.
    ///
    /// # Errors
    /// If the model does not answer in time. Memories are then compared by words, and the verdict
    /// says so.
    pub(crate) async fn embed_question(&self, turn: &Turn<'_>) -> Result<Option<Said>> {
        if turn.models.embedding.is_none() {
            return Ok(None);
        }
        let answer = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            if !turns.iter().any(|(id, _)| *id == turn.id) {
                turns.push_back((turn.id, Arc::default()));
                let over = turns.len().saturating_sub(TURNS);
                turns.drain(..over);
            }
            turns
                .iter()
                .find(|(id, _)| *id == turn.id)
                .map(|(_, answer)| Arc::clone(answer))
                .unwrap_or_default()
        };
        let ask = async || self.ask(turn).await.map_err(|error| (error.kind(), error.to_string()));
        answer.get_or_init(ask).await.clone().map_err(|(kind, text)| Error::new(kind, text))
    }

    async fn ask(&self, turn: &Turn<'_>) -> Result<Option<Said>> {
        let Some(model) = turn.models.embedding.clone() else { return Ok(None) };
        let name = model.info().full_name();
        let question = question(turn);
        let named = self.people.named(turn, &question, &[]).await?;
        let names: Vec<&str> = named.names.iter().map(String::as_str).collect();
        let text = fusion::embedded_question(&question, &names);
        if text.is_empty() {
            return Ok(None);
        }
        // One deadline for the permit and all answers: a person is waiting.
        let (deadline, begun) = (Instant::now() + patience(turn), turn.now());
        let older = self.older.ask(turn, &model, &text).await;
        let present = self.ask_present(model, text, deadline).await;
        let present = present.inspect_err(|error| by_age(turn, error));
        let embedding = present.as_ref().ok().and_then(Option::as_ref);
        let answers = self.older.answers(turn, older, embedding, deadline).await;
        let mut meanings = answers.meanings;
        let note = match present {
            Ok(None) => return Ok(None),
            Ok(Some(embedding)) => {
                self.note(&name, &embedding);
                meanings.insert(0, store::Meaning { model: name, embedding });
                answers.note
            }
            Err(error) if meanings.is_empty() => return Err(error),
            Err(error) => Some(format!(
                "only what an older embedding model embedded is found by meaning: {error}"
            )),
        };
        let millis = u64::try_from(turn.now().since(begun).as_millis()).unwrap_or(u64::MAX);
        Ok(Some(Said { meanings, millis, note }))
    }

    /// The present model's embedding. `None` if its vector cannot be compared.
    async fn ask_present(
        &self,
        model: Arc<dyn EmbeddingModel>,
        text: String,
        deadline: Instant,
    ) -> Result<Option<Embedding>> {
        // Other turns may hold all permits while they wait for a service that hangs.
        let permit = match timeout_at(deadline, Arc::clone(&self.asking).acquire_owned()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) | Err(_) => {
                return Err(Error::new(
                    ErrorKind::Timeout,
                    "too many wait for the embedding model",
                ));
            }
        };
        let asked = tokio::spawn(async move {
            let answer = embed(&model, vec![text]).await;
            drop(permit);
            answer
        });
        match timeout_at(deadline, asked).await {
            Ok(Ok(answer)) => answer.map(|mut embeddings| embeddings.pop().flatten()),
            Ok(Err(panicked)) => {
                Err(Error::unexpected("the embedding model crashed").with_source(panicked))
            }
            Err(_) => Err(Error::new(ErrorKind::Timeout, "the embedding model took too long")),
        }
    }

    /// Dimensions of the model's last embedding in this process; `None` before the first.
    pub(crate) fn width(&self, model: &str) -> Option<usize> {
        self.widths.lock().unwrap_or_else(PoisonError::into_inner).get(model).copied()
    }

    /// Notes the dimensions of an embedding of the model.
    pub(crate) fn note(&self, model: &str, embedding: &Embedding) {
        self.widths
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(model.to_owned(), embedding.width());
    }
}

impl Said {
    /// As a search takes it.
    pub(crate) fn into_meanings(self) -> Vec<store::Meaning> {
        self.meanings
    }
}

/// What a turn is about: its messages, the newest first, because the text is cut at the end.
pub(crate) fn question(turn: &Turn<'_>) -> String {
    let said: Vec<&str> = std::iter::once(turn.message)
        .chain(turn.merged.iter().rev())
        .map(|message| message.content.text.as_str())
        .collect();
    words::line(&said.join(" "), words::LONGEST)
}

/// How long a turn waits for the embedding of its messages.
pub(crate) fn patience(turn: &Turn<'_>) -> Duration {
    let seconds =
        turn.agent.settings.parse::<u64>(&TURN, "a whole number").ok().flatten().unwrap_or(120);
    (Duration::from_secs(seconds) / PART).min(LONGEST)
}

fn by_age(turn: &Turn<'_>, error: &Error) {
    tracing::debug!(turn = %turn.id, error = %error.report(), "failed to embed a message; memories are compared by words");
}

/// One embedding per text. `None` for a text whose vector cannot be compared.
pub(crate) async fn embed(
    model: &Arc<dyn EmbeddingModel>,
    texts: Vec<String>,
) -> Result<Vec<Option<Embedding>>> {
    let vectors = model.embed(&texts).await?;
    let comparable = |vector| {
        let embedding = Embedding::new(vector);
        if let Err(error) = &embedding {
            tracing::warn!(model = model.info().full_name(), error = %error.report(), "unusable vector from the embedding model; its text gets no embedding");
        }
        embedding.ok()
    };
    Ok(vectors.into_iter().map(comparable).collect())
}

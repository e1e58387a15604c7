//! Embeds current messages to compare memories with, and knows what the models' vectors are like.

pub(crate) use galatea_core::question_models::LONGEST;
use galatea_core::{
    Embedding, EmbeddingModel, Error, ErrorKind, MemoryKind, Result, Turn, TurnId, fusion,
    question_models::{QuestionModels, Searched, patience},
    store,
};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};
use tokio::{sync::OnceCell, time::Instant};

use crate::{asked_people, words};

/// Memories that questions are compared with. Pieces of documents are asked elsewhere.
const ASKED: [MemoryKind; 4] =
    [MemoryKind::Messages, MemoryKind::Facts, MemoryKind::Summaries, MemoryKind::Profiles];
/// Turns whose embedding is kept for the providers that come later in the same turn.
const TURNS: usize = 64;

/// Limits and cached properties of embedding models.
pub(crate) struct PromptMeaning {
    models: QuestionModels,
    /// Dimensions of a model's last embedding, by the model's name.
    widths: Mutex<HashMap<String, usize>>,
    /// Embeddings of the latest turns: several providers of a turn need the same one.
    turns: Mutex<VecDeque<(TurnId, Arc<OnceCell<Answer>>)>>,
}

/// Answers of the embedding models for a turn. An error is kept in parts, since it is returned to
/// each provider.
type Answer = Result<Option<QuestionMeaning>, (ErrorKind, String)>;

impl Default for PromptMeaning {
    fn default() -> Self {
        Self {
            models: QuestionModels::of(&ASKED),
            widths: Mutex::default(),
            turns: Mutex::default(),
        }
    }
}

/// The embeddings of a turn's messages, to compare memories with: that of the present model, and
/// during a change of the model those of the models before.
#[derive(Clone)]
pub(crate) struct QuestionMeaning {
    meanings: Vec<store::Meaning>,
    /// Time that the models took, in milliseconds.
    pub(crate) millis: u64,
    /// Models that did not answer, and the reason, for the verdict.
    pub(crate) note: Option<String>,
}

impl PromptMeaning {
    /// Embeds the messages of a turn, once however many providers ask. `None` without an embedding
    /// model or text.
    ///
    /// # Errors
    /// If the model does not answer in time. Memories are then compared by words, and the verdict
    /// says so.
    pub(crate) async fn embed_question(&self, turn: &Turn<'_>) -> Result<Option<QuestionMeaning>> {
        if turn.models.embedding.is_none() {
            return Ok(None);
        }
        let answer = {
            let mut turns = self.turns.lock();
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

    async fn ask(&self, turn: &Turn<'_>) -> Result<Option<QuestionMeaning>> {
        let Some(model) = turn.models.embedding.clone() else { return Ok(None) };
        let name = model.info().full_name();
        let question = question(turn);
        let named = asked_people::named(turn, &question, &[]);
        let names: Vec<&str> = named.names.iter().map(String::as_str).collect();
        let text = fusion::embedded_question(&question, &names);
        if text.is_empty() {
            return Ok(None);
        }
        // Set one deadline for the permit and all answers: a person is waiting.
        let begun = turn.now();
        let deadline = Instant::now() + patience(&turn.agent.settings);
        let agents = [turn.agent.identity.id()];
        let searched = Searched { store: &**turn.store, agents: &agents, now: begun };
        let answers =
            self.models.embed(searched, &model, &text, &|_, _| Vec::new(), deadline).await;
        let answers = answers.inspect_err(|error| by_age(turn, error))?;
        let present = answers.answered.iter().find(|answered| answered.model == name);
        present.into_iter().for_each(|answered| self.note(&name, &answered.question));
        if answers.answered.is_empty() {
            return Ok(None);
        }
        let millis = u64::try_from(turn.now().since(begun).as_millis()).unwrap_or(u64::MAX);
        Ok(Some(QuestionMeaning { meanings: answers.meanings(), millis, note: answers.note }))
    }

    /// Dimensions of the model's last embedding in this process; `None` before the first.
    pub(crate) fn width(&self, model: &str) -> Option<usize> {
        self.widths.lock().get(model).copied()
    }

    /// Notes the dimensions of an embedding of the model.
    pub(crate) fn note(&self, model: &str, embedding: &Embedding) {
        self.widths.lock().insert(model.to_owned(), embedding.width());
    }
}

impl QuestionMeaning {
    /// The meaning in the form that a search takes.
    pub(crate) fn into_meanings(self) -> Vec<store::Meaning> {
        self.meanings
    }
}

/// Subject of a turn: its messages, the newest first, because the text is cut at the end.
pub(crate) fn question(turn: &Turn<'_>) -> String {
    let said: Vec<&str> = std::iter::once(turn.message)
        .chain(turn.merged.iter().rev())
        .map(|message| message.content.text.as_str())
        .collect();
    words::line(&said.join(" "), words::LONGEST)
}

fn by_age(turn: &Turn<'_>, error: &Error) {
    tracing::debug!(turn = %turn.id, error = %error.report(), "failed to embed a message; memories are compared by words");
}

/// Returns one embedding per text. `None` for a text whose vector cannot be compared.
pub(crate) async fn embed(
    model: &Arc<dyn EmbeddingModel>,
    texts: Vec<String>,
) -> Result<Vec<Option<Embedding>>> {
    let vectors = model.embed(&texts).await?;
    let mut unusable = None;
    let mut comparable = |vector| match Embedding::new(vector) {
        Ok(embedding) => Some(embedding),
        Err(error) => {
            let (count, _) = unusable.get_or_insert((0_usize, error));
            *count += 1;
            None
        }
    };
    let embeddings = vectors.into_iter().map(&mut comparable).collect();
    if let Some((count, first)) = unusable {
        tracing::warn!(model = model.info().full_name(), count, of = texts.len(), error = %first.report(), "unusable vectors from the embedding model; their texts get no embedding");
    }
    Ok(embeddings)
}

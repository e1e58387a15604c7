//! The question, and the models' answers.

use crate::{
    clock::Timestamp,
    embedding::Embedding,
    ids::AgentId,
    model::ModelInfo,
    store::{self, EmbeddingStore},
};

/// Place in which a question is looked for.
#[derive(Clone, Copy)]
pub struct Searched<'a> {
    /// The store that has the embeddings.
    pub store: &'a dyn EmbeddingStore,
    /// Agent whose memories are searched.
    pub agents: &'a [AgentId],
    /// The current time.
    pub now: Timestamp,
}

/// Answers of the models.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers {
    /// An embedding for each model that answered, the present one first. Empty if the vector of the
    /// present model cannot be compared.
    pub answered: Vec<Answered>,
    /// Models that did not answer, and the reason.
    pub note: Option<String>,
    /// The calls that were answered, with their texts, for callers that count them themselves.
    pub calls: Vec<(ModelInfo, Vec<String>)>,
}

/// The answer of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The model, [`ModelInfo::full_name`].
    pub model: String,
    /// The question.
    pub question: Embedding,
    /// The texts beside it, in their order.
    pub beside: Vec<Embedding>,
}

impl Answers {
    /// The embeddings in the form that a search takes.
    pub fn meanings(&self) -> Vec<store::Meaning> {
        let meaning = |of: &Answered| store::Meaning {
            model: of.model.clone(),
            embedding: of.question.clone(),
        };
        self.answered.iter().map(meaning).collect()
    }
}

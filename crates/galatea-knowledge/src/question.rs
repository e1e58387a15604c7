//! The meanings of a question: that of the present embedding model, and those of the models before
//! it while pieces have embeddings of them.

use galatea_core::{
    Embedding, EmbeddingModel, MemoryKind, Result, Turn,
    question_models::{Answered, Answers, QuestionModels, Searched, patience},
    store::PluginStore,
};
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc};
use tokio::time::Instant;

use crate::{relevance::UNRELATED, search::Meaning};

/// Embeds questions.
pub struct Questions {
    models: QuestionModels,
    /// Vectors of [`UNRELATED`] by model.
    unrelated: Mutex<HashMap<String, Arc<Vec<Embedding>>>>,
}

/// Meaning of a question for each model that answered.
#[derive(Debug, Clone, Default)]
pub struct Meanings {
    /// Of each model, the present one first. Empty without an embedding model.
    pub meanings: Vec<Meaning>,
    /// Models that did not answer, and the reason.
    pub note: Option<String>,
}

impl Default for Questions {
    fn default() -> Self {
        Self { models: QuestionModels::of(&[MemoryKind::Fragments]), unrelated: Mutex::default() }
    }
}

impl Questions {
    /// Asks the models until the deadline. The first call of a model also embeds texts to compare
    /// with.
    ///
    /// # Errors
    /// Those of [`QuestionModels::embed`]. Pieces are then found by words alone.
    pub(crate) async fn ask(
        &self,
        searched: Searched<'_>,
        model: &Arc<dyn EmbeddingModel>,
        question: &str,
        deadline: Instant,
    ) -> Result<Answers> {
        let beside = |model: &str, width: Option<usize>| match self.known(model, width) {
            Some(_) => Vec::new(),
            None => UNRELATED.map(str::to_owned).to_vec(),
        };
        self.models.embed(searched, model, question, &beside, deadline).await
    }

    /// Answers of the models, with the similarity of the question to unrelated texts.
    pub(crate) fn compare(&self, answers: Answers) -> Meanings {
        let meanings = answers.answered.into_iter().map(|answered| self.meaning(answered));
        Meanings { meanings: meanings.collect(), note: answers.note }
    }

    fn meaning(&self, answered: Answered) -> Meaning {
        let Answered { model, question: embedding, beside } = answered;
        let unrelated = if beside.is_empty() {
            self.known(&model, None).unwrap_or_default()
        } else {
            let made = Arc::new(beside);
            self.unrelated.lock().insert(model.clone(), Arc::clone(&made));
            made
        };
        let similar = unrelated.iter().filter_map(|text| embedding.similarity(text.numbers()));
        let (count, sum) = similar.fold((0.0_f32, 0.0), |(n, sum), s| (n + 1.0, sum + s));
        let unrelated = if count > 0.0 { sum / count } else { 0.0 };
        Meaning { model, embedding, unrelated }
    }

    /// Vectors of a model, if they have this width.
    fn known(&self, model: &str, width: Option<usize>) -> Option<Arc<Vec<Embedding>>> {
        let unrelated = self.unrelated.lock();
        let fits = |of: &Embedding| width.is_none_or(|width| of.width() == width);
        unrelated.get(model).filter(|known| known.iter().all(fits)).cloned()
    }

    /// The meanings of a question of a turn, within a bounded part of its time. Empty without an
    /// embedding model.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub(crate) async fn in_turn(
        &self,
        turn: &Turn<'_>,
        store: &dyn PluginStore,
        agents: &[galatea_core::AgentId],
        question: &str,
    ) -> Result<Meanings> {
        let Some(model) = &turn.models.embedding else { return Ok(Meanings::default()) };
        let searched = Searched { store, agents, now: turn.now() };
        let deadline = Instant::now() + patience(&turn.agent.settings);
        Ok(self.compare(self.ask(searched, model, question, deadline).await?))
    }
}

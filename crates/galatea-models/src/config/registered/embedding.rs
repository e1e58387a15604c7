//! The embedding models of an agent whose plugins bring some: the first one embeds, the others answer
//! for what they embedded while they were the first.

use async_trait::async_trait;
use galatea_core::{EmbeddingModel, ModelInfo, Result};
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc};

use super::guard::Guard;
use crate::dependencies::PluginUse;

/// Older models that are kept. An agent asks for the two that its store still has vectors of.
const KEPT: usize = 8;

/// The models by priority, the highest first.
pub(super) struct EmbeddingModels {
    /// The first one, behind a breaker.
    first: Arc<dyn EmbeddingModel>,
    /// All of them. The configured one has a breaker of its own.
    ranked: Vec<(bool, Arc<dyn EmbeddingModel>)>,
    guard: Guard,
    older: Mutex<BTreeMap<String, Arc<dyn EmbeddingModel>>>,
}

impl EmbeddingModels {
    /// Joins models, each with whether it is the configured one. `None` without any.
    pub(super) fn join(
        ranked: Vec<(bool, Arc<dyn EmbeddingModel>)>,
        guard: Guard,
    ) -> Option<Arc<dyn EmbeddingModel>> {
        let (is_own, first) = ranked.first()?;
        let first = guarded(&guard, *is_own, first);
        Some(Arc::new(Self { first, ranked, guard, older: Mutex::default() }))
    }

    /// A model of that name: one of the others, or another one of the service of any of them.
    fn find(&self, full_name: &str) -> Option<Arc<dyn EmbeddingModel>> {
        let named =
            |(_, model): &&(bool, Arc<dyn EmbeddingModel>)| model.info().full_name() == full_name;
        if let Some((is_own, model)) = self.ranked.iter().find(named) {
            return Some(guarded(&self.guard, *is_own, model));
        }
        self.ranked.iter().find_map(|(is_own, model)| {
            model.sibling(full_name).map(|sibling| guarded(&self.guard, *is_own, &sibling))
        })
    }
}

/// A plugin's model with a breaker and a timeout; the configured one has both.
fn guarded(
    guard: &Guard,
    is_own: bool,
    model: &Arc<dyn EmbeddingModel>,
) -> Arc<dyn EmbeddingModel> {
    if is_own {
        return Arc::clone(model);
    }
    let info = model.info().clone();
    Arc::new(guard.of(PluginUse::Embedding, &info, Arc::clone(model)))
}

#[async_trait]
impl EmbeddingModel for EmbeddingModels {
    fn info(&self) -> &ModelInfo {
        self.first.info()
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        self.first.embed(texts).await
    }

    fn sibling(&self, full_name: &str) -> Option<Arc<dyn EmbeddingModel>> {
        if full_name == self.info().full_name() {
            return None;
        }
        let mut older = self.older.lock();
        if let Some(known) = older.get(full_name) {
            return Some(Arc::clone(known));
        }
        let found = self.find(full_name)?;
        if older.len() >= KEPT {
            older.clear();
        }
        older.insert(full_name.to_owned(), Arc::clone(&found));
        Some(found)
    }
}

//! Siblings: an embedding model that can also build other models of its service. After a change of
//! the model they embed questions for memories that the model before embedded.

use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use galatea_core::{EmbeddingModel, ModelInfo, Result};

/// Models that are kept. An agent asks for the two that its store still has vectors of.
const KEPT: usize = 8;

type Build = Box<dyn Fn(&str) -> Arc<dyn EmbeddingModel> + Send + Sync>;

/// The configured model with the builder of its siblings: same address, same key, another name.
pub(super) struct Siblings {
    model: Arc<dyn EmbeddingModel>,
    build: Build,
    built: Mutex<BTreeMap<String, Arc<dyn EmbeddingModel>>>,
}

impl Siblings {
    /// `build` gets the name of a model at the service.
    pub(super) fn new(
        model: Arc<dyn EmbeddingModel>,
        build: impl Fn(&str) -> Arc<dyn EmbeddingModel> + Send + Sync + 'static,
    ) -> Self {
        Self { model, build: Box::new(build), built: Mutex::default() }
    }
}

#[async_trait]
impl EmbeddingModel for Siblings {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        self.model.embed(texts).await
    }

    fn sibling(&self, full_name: &str) -> Option<Arc<dyn EmbeddingModel>> {
        let own = self.info();
        let name = full_name.strip_prefix(own.provider.as_str())?.strip_prefix(' ')?;
        if name.is_empty() || name == own.model {
            return None;
        }
        let mut built = self.built.lock();
        if built.len() >= KEPT && !built.contains_key(name) {
            built.clear();
        }
        let sibling = built.entry(name.to_owned()).or_insert_with(|| (self.build)(name));
        Some(Arc::clone(sibling))
    }
}

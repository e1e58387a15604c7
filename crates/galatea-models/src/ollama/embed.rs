//! Computes embeddings with `POST /api/embed`.

use async_trait::async_trait;
use galatea_core::{EmbeddingModel, ModelInfo, Result};
use serde::{Deserialize, Serialize};

use super::error;
use crate::wire::{Call, Endpoint, Fail, extend_vectors, not_empty};

/// Texts per call, few enough that a slow machine answers within the time limit.
const BATCH: usize = 32;

/// An embedding model behind `/embed`.
pub struct OllamaEmbedding {
    endpoint: Endpoint,
    info: ModelInfo,
}

#[derive(Serialize)]
struct OllamaEmbedBody<'a> {
    model: &'a str,
    input: Vec<&'a str>,
}

#[derive(Deserialize)]
struct Vectors {
    embeddings: Vec<Vec<f32>>,
}

impl OllamaEmbedding {
    /// Creates a model at an endpoint whose base address ends in `/api`.
    pub fn new(endpoint: Endpoint, info: ModelInfo) -> Self {
        Self { endpoint, info }
    }
}

#[async_trait]
impl EmbeddingModel for OllamaEmbedding {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let model = self.info.model.as_str();
        let call = Call { model, read: error::read };
        let mut all = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let body = OllamaEmbedBody {
                model,
                input: batch.iter().map(|text| not_empty(text)).collect(),
            };
            let response = self.endpoint.post("/embed", &body, false, &call).await?;
            let bytes = self.endpoint.body(response).await?;
            let vectors: Vectors = serde_json::from_slice(&bytes)
                .map_err(|_| self.endpoint.fail(Fail::Garbage("one vector per text"), model))?;
            extend_vectors(&mut all, vectors.embeddings, batch.len())
                .map_err(|fail| self.endpoint.fail(fail, model))?;
        }
        Ok(all)
    }
}

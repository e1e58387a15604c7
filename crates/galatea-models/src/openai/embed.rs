//! Computes embeddings with `POST /embeddings`.

use async_trait::async_trait;
use galatea_core::{EmbeddingModel, ModelInfo, Result};
use serde::{Deserialize, Serialize};

use super::error;
use crate::wire::{Call, Endpoint, Fail, extend_vectors, not_empty};

/// Texts per call. OpenAI accepts 2,048, but at most 300,000 tokens in total (API reference,
/// embeddings, `input`).
const BATCH: usize = 100;

/// An embedding model behind `/embeddings`.
pub struct OpenAiEmbedding {
    endpoint: Endpoint,
    info: ModelInfo,
    dimensions: Option<u32>,
}

#[derive(Serialize)]
struct OpenAiEmbedBody<'a> {
    model: &'a str,
    input: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u32>,
}

#[derive(Deserialize)]
struct Vectors {
    data: Vec<EmbedItem>,
}

#[derive(Deserialize)]
struct EmbedItem {
    index: usize,
    embedding: Vec<f32>,
}

impl OpenAiEmbedding {
    /// Creates a model at an endpoint. `dimensions` is sent only if set, since older models refuse
    /// it.
    pub fn new(endpoint: Endpoint, info: ModelInfo, dimensions: Option<u32>) -> Self {
        Self { endpoint, info, dimensions }
    }
}

#[async_trait]
impl EmbeddingModel for OpenAiEmbedding {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let model = self.info.model.as_str();
        let call = Call { model, read: error::read };
        let mut all = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let body = OpenAiEmbedBody {
                model,
                input: batch.iter().map(|text| not_empty(text)).collect(),
                dimensions: self.dimensions,
            };
            let response = self.endpoint.post("/embeddings", &body, false, &call).await?;
            let bytes = self.endpoint.body(response).await?;
            let garbage = || self.endpoint.fail(Fail::Garbage("one vector per text"), model);
            let mut vectors: Vectors = serde_json::from_slice(&bytes).map_err(|_| garbage())?;
            vectors.data.sort_by_key(|item| item.index);
            if vectors.data.iter().enumerate().any(|(i, item)| item.index != i) {
                return Err(garbage());
            }
            let is_as_asked = |item: &EmbedItem| {
                self.dimensions.is_none_or(|most| usize::try_from(most) == Ok(item.embedding.len()))
            };
            if !vectors.data.iter().all(is_as_asked) {
                return Err(self
                    .endpoint
                    .fail(Fail::Garbage("vectors as wide as asked for"), model));
            }
            let vectors = vectors.data.into_iter().map(|item| item.embedding).collect();
            extend_vectors(&mut all, vectors, batch.len())
                .map_err(|fail| self.endpoint.fail(fail, model))?;
        }
        Ok(all)
    }
}

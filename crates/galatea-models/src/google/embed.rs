//! Computes embeddings with `batchEmbedContents`.

use async_trait::async_trait;
use galatea_core::{EmbeddingModel, ModelInfo, Result};
use serde::{Deserialize, Serialize};

use super::{error, path};
use crate::wire::{Call, Endpoint, Fail, extend_vectors, not_empty};

/// Most texts per call; the API refuses more (error text of `batchEmbedContents`).
const BATCH: usize = 100;

/// An embedding model behind `batchEmbedContents`.
pub struct GoogleEmbedding {
    endpoint: Endpoint,
    info: ModelInfo,
}

#[derive(Serialize)]
struct GoogleEmbedBody<'a> {
    requests: Vec<GoogleEmbedItem<'a>>,
}

#[derive(Serialize)]
struct GoogleEmbedItem<'a> {
    model: &'a str,
    content: EmbedContent<'a>,
}

#[derive(Serialize)]
struct EmbedContent<'a> {
    parts: [EmbedPart<'a>; 1],
}

#[derive(Serialize)]
struct EmbedPart<'a> {
    text: &'a str,
}

#[derive(Deserialize)]
struct GoogleVectors {
    embeddings: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    values: Vec<f32>,
}

impl GoogleEmbedding {
    /// Creates a model at an endpoint whose base address ends in `/v1beta`.
    pub fn new(endpoint: Endpoint, info: ModelInfo) -> Self {
        Self { endpoint, info }
    }
}

#[async_trait]
impl EmbeddingModel for GoogleEmbedding {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let model = self.info.model.as_str();
        let full = format!("models/{}", model.trim_start_matches("models/"));
        let call = Call { model, read: error::read };
        let mut all = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let requests = batch
                .iter()
                .map(|text| GoogleEmbedItem {
                    model: &full,
                    content: EmbedContent { parts: [EmbedPart { text: not_empty(text) }] },
                })
                .collect();
            let body = GoogleEmbedBody { requests };
            let response = self
                .endpoint
                .post(&format!("{}:batchEmbedContents", path(model)), &body, false, &call)
                .await?;
            let bytes = self.endpoint.body(response).await?;
            let vectors: GoogleVectors = serde_json::from_slice(&bytes)
                .map_err(|_| self.endpoint.fail(Fail::Garbage("one vector per text"), model))?;
            let vectors = vectors.embeddings.into_iter().map(|vector| vector.values).collect();
            extend_vectors(&mut all, vectors, batch.len())
                .map_err(|fail| self.endpoint.fail(fail, model))?;
        }
        Ok(all)
    }
}

//! Chat Completions and embeddings: OpenAI, and everything that speaks its API (OpenRouter, Groq, LM Studio, vLLM, llama.cpp, …).

mod decode;
mod embed;
mod encode;
mod error;
mod stream;

pub use embed::OpenAiEmbedding;
pub(crate) use error::read as read_error;

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Result, TextModel,
    model::{TextAnswer, TextRequest},
};

use crate::wire::{Call, Endpoint, drive, event_frames, require_answer, require_messages, show};

/// Which members of the family understand what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI itself and Groq: unknown parameters are refused, reasoning models take fewer.
    Strict,
    /// OpenRouter, vLLM and other servers, which also take `top_k`, `min_p` and `repetition_penalty`.
    Extended,
}

/// A text model behind Chat Completions.
pub struct OpenAiText {
    endpoint: Endpoint,
    info: ModelInfo,
    dialect: Dialect,
}

impl OpenAiText {
    /// A model at an endpoint whose base address ends before `/chat/completions`.
    pub fn new(endpoint: Endpoint, info: ModelInfo, dialect: Dialect) -> Self {
        Self { endpoint, info, dialect }
    }
}

#[async_trait]
impl TextModel for OpenAiText {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn generate(&self, request: &TextRequest, on_text: &(dyn for<'t> Fn(&'t str) + Send + Sync)) -> Result<TextAnswer> {
        require_messages(request)?;
        let on_text = &|text: &str| show(on_text, text);
        let model = self.info.model.as_str();
        let body = encode::encode(request, model, self.dialect);
        let call = Call { model, read: error::read };
        let response = self.endpoint.post("/chat/completions", &body, request.stream, &call).await?;
        // Some servers cannot stream and answer whole.
        let answer = if request.stream && response.media_type() != "application/json" {
            drive(&self.endpoint, model, event_frames(response), stream::Pieces::default(), on_text).await?
        } else {
            let bytes = self.endpoint.body(response).await?;
            let answer = decode::decode(&bytes).map_err(|fail| self.endpoint.fail(fail, model))?;
            if request.stream && !answer.text.is_empty() {
                on_text(&answer.text);
            }
            answer
        };
        require_answer(&self.endpoint, model, answer)
    }
}

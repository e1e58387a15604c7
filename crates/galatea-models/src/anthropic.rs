//! Client for Anthropic's Messages API.

mod decode;
mod encode;
mod error;
mod opaque;
mod stream;

#[cfg(any(test, feature = "fuzz"))]
pub(crate) use decode::decode;
pub(crate) use error::read as read_error;
pub(crate) use stream::AnthropicPieces;

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Result, TextModel,
    model::{OnText, TextAnswer, TextRequest},
};

use crate::families::Rules;
use crate::wire::{Call, Endpoint, drive, event_frames, require_answer, require_messages};

/// API version sent with every call (API reference, "Versioning").
pub const VERSION: &str = "2023-06-01";

/// A text model behind `/messages`.
pub struct AnthropicText {
    endpoint: Endpoint,
    info: ModelInfo,
    rules: Rules,
}

impl AnthropicText {
    /// Creates a model at an endpoint whose base address ends in `/v1`. `rules` say which
    /// parameters the model accepts.
    pub fn new(endpoint: Endpoint, info: ModelInfo, rules: Rules) -> Self {
        Self { endpoint, info, rules }
    }
}

#[async_trait]
impl TextModel for AnthropicText {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        require_messages(request)?;
        let endpoint = &*self.endpoint.of(request);
        let model = self.info.model.as_str();
        let request = &*request.with_late_beside_people();
        let body = encode::encode(request, &self.info, &self.rules);
        let call = Call { model, read: error::read };
        let response = endpoint.post("/messages", &body, request.stream, &call).await?;
        let answer = if request.stream && response.media_type() != "application/json" {
            drive(
                endpoint,
                model,
                event_frames(response),
                stream::AnthropicPieces::default(),
                on_text,
            )
            .await?
        } else {
            let bytes = endpoint.body(response).await?;
            let answer = decode::decode(&bytes).map_err(|fail| endpoint.fail(fail, model))?;
            if request.stream && !answer.text.is_empty() {
                on_text(&answer.text);
            }
            answer
        };
        require_answer(endpoint, model, answer)
    }
}

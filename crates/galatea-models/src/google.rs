//! Client for Google's Gemini API.

mod decode;
mod embed;
mod encode;
mod error;
mod opaque;
mod transcribe;

#[cfg(any(test, feature = "fuzz"))]
pub(crate) use decode::GooglePieces;
pub use embed::GoogleEmbedding;
pub(crate) use error::read as read_error;
pub use transcribe::GoogleTranscription;

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Result, TextModel,
    model::{OnText, TextAnswer, TextRequest},
};

use crate::families::Rules;
use crate::wire::{Call, Endpoint, Gather, drive, event_frames, require_answer, require_messages};

/// A text model behind `generateContent`.
pub struct GoogleText {
    endpoint: Endpoint,
    info: ModelInfo,
    rules: Rules,
}

impl GoogleText {
    /// Creates a model at an endpoint whose base address ends in `/v1beta`. `rules` say which
    /// parameters the model accepts.
    pub fn new(endpoint: Endpoint, info: ModelInfo, rules: Rules) -> Self {
        Self { endpoint, info, rules }
    }
}

/// The path `/models/NAME`. Removes a `models/` from the name and escapes all other characters.
pub(crate) fn path(model: &str) -> String {
    let name: String = model
        .trim_start_matches("models/")
        .bytes()
        .map(|b| {
            if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.') {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect();
    format!("/models/{name}")
}

#[async_trait]
impl TextModel for GoogleText {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        require_messages(request)?;
        let endpoint = &*self.endpoint.of(request);
        let model = self.info.model.as_str();
        // `contents` has two roles, and instructions stand apart from them.
        let request = &*request.without_late_system();
        let body = encode::encode(request, model, &self.rules);
        let call = Call { model, read: error::read };
        let method =
            if request.stream { ":streamGenerateContent?alt=sse" } else { ":generateContent" };
        let response = endpoint
            .post(&format!("{}{method}", path(model)), &body, request.stream, &call)
            .await?;
        let answer = if request.stream && response.media_type() != "application/json" {
            drive(endpoint, model, event_frames(response), decode::GooglePieces::default(), on_text)
                .await?
        } else {
            let bytes = endpoint.body(response).await?;
            let mut pieces = decode::GooglePieces::default();
            let text = String::from_utf8_lossy(&bytes);
            let silent: &OnText<'_> = &|_| ();
            pieces
                .take(&text, if request.stream { on_text } else { silent })
                .map_err(|fail| endpoint.fail(fail, model))?;
            pieces.finish()
        };
        require_answer(endpoint, model, answer)
    }
}

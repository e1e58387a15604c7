//! Google's Gemini API.

mod decode;
mod embed;
mod encode;
mod error;

pub use embed::GoogleEmbedding;
pub(crate) use error::read as read_error;

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Result, TextModel,
    model::{TextAnswer, TextRequest},
};

use crate::wire::{Call, Endpoint, Gather, drive, event_frames, require_answer, require_messages, show};

/// A text model behind `generateContent`.
pub struct GoogleText {
    endpoint: Endpoint,
    info: ModelInfo,
}

impl GoogleText {
    /// A model at an endpoint whose base address ends in `/v1beta`.
    pub fn new(endpoint: Endpoint, info: ModelInfo) -> Self {
        Self { endpoint, info }
    }
}

/// `/models/NAME`, with the name's own `models/` left out and everything else made safe for a path.
pub(crate) fn path(model: &str) -> String {
    let name: String = model
        .trim_start_matches("models/")
        .bytes()
        .map(|b| if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.') { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect();
    format!("/models/{name}")
}

#[async_trait]
impl TextModel for GoogleText {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn generate(&self, request: &TextRequest, on_text: &(dyn for<'t> Fn(&'t str) + Send + Sync)) -> Result<TextAnswer> {
        require_messages(request)?;
        let on_text = &|text: &str| show(on_text, text);
        let model = self.info.model.as_str();
        let body = encode::encode(request);
        let call = Call { model, read: error::read };
        let method = if request.stream { ":streamGenerateContent?alt=sse" } else { ":generateContent" };
        let response = self.endpoint.post(&format!("{}{method}", path(model)), &body, request.stream, &call).await?;
        let answer = if request.stream && response.media_type() != "application/json" {
            drive(&self.endpoint, model, event_frames(response), decode::Pieces::default(), on_text).await?
        } else {
            let bytes = self.endpoint.body(response).await?;
            let mut pieces = decode::Pieces::default();
            let text = String::from_utf8_lossy(&bytes);
            let silent: &(dyn for<'t> Fn(&'t str) + Send + Sync) = &|_| ();
            pieces.take(&text, if request.stream { on_text } else { silent }).map_err(|fail| self.endpoint.fail(fail, model))?;
            pieces.finish()
        };
        require_answer(&self.endpoint, model, answer)
    }
}

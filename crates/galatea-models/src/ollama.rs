//! Client for Ollama's own API: `/api/chat`, `/api/embed`, and `/api/show` for context windows.

mod decode;
mod embed;
mod encode;
mod error;
mod opaque;
pub(crate) mod show;

#[cfg(any(test, feature = "fuzz"))]
pub(crate) use decode::OllamaPieces;
pub use embed::OllamaEmbedding;
pub(crate) use error::read as read_error;

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Result, TextModel,
    model::{OnText, TextAnswer, TextRequest},
};

use crate::wire::{
    Call, Endpoint, Gather, Progress, drive, line_frames, require_answer, require_messages,
    take_turns,
};

/// A text model behind `/chat`.
pub struct OllamaText {
    endpoint: Endpoint,
    info: ModelInfo,
}

impl OllamaText {
    /// Creates a model at an endpoint whose base address ends in `/api`; see [`base_url`].
    pub fn new(endpoint: Endpoint, info: ModelInfo) -> Self {
        Self { endpoint, info }
    }
}

/// Completes a base address: adds `http://` and `/api` if they are missing.
pub fn base_url(written: &str) -> String {
    let trimmed = written.trim().trim_end_matches('/');
    let with_scheme =
        if trimmed.contains("://") { trimmed.to_owned() } else { format!("http://{trimmed}") };
    if with_scheme.ends_with("/api") { with_scheme } else { format!("{with_scheme}/api") }
}

#[async_trait]
impl TextModel for OllamaText {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        require_messages(request)?;
        let endpoint = &*self.endpoint.of(request);
        let model = self.info.model.as_str();
        // Ollama puts all system messages in front, where one that changes with each request leaves
        // nothing of the prompt before to be reused (server/prompt.go, template.go `collate`).
        let request = &*request.without_late_system();
        let turns = take_turns(request);
        let body = encode::encode(&turns, model, self.info.limits.window);
        let call = Call { model, read: error::read };
        let response = endpoint.post("/chat", &body, request.stream, &call).await?;
        let answer = if request.stream {
            drive(endpoint, model, line_frames(response), decode::OllamaPieces::default(), on_text)
                .await?
        } else {
            let bytes = endpoint.body(response).await?;
            decode_whole(&bytes).map_err(|fail| endpoint.fail(fail, model))?
        };
        require_answer(endpoint, model, answer)
    }
}

/// Decodes an unstreamed answer, which is one line of a stream marked as the last.
pub(crate) fn decode_whole(bytes: &[u8]) -> Result<TextAnswer, crate::wire::Fail> {
    const SHAPE: &str = "a finished chat answer";
    let text = std::str::from_utf8(bytes).map_err(|_| crate::wire::Fail::Garbage(SHAPE))?;
    let mut pieces = decode::OllamaPieces::default();
    match pieces.take(text, &|_| ())? {
        Progress::Done => Ok(pieces.finish()),
        Progress::More | Progress::Nothing => Err(crate::wire::Fail::Garbage(SHAPE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_end_in_api_however_they_are_written() {
        for written in [
            "http://h:1",
            "http://h:1/",
            "http://h:1/api",
            "http://h:1/api/",
            " http://h:1/api ",
            "h:1",
        ] {
            assert_eq!(base_url(written), "http://h:1/api", "{written}");
        }
        assert_eq!(base_url("https://h/proxy/ollama"), "https://h/proxy/ollama/api");
    }
}

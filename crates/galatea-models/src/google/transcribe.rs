//! Makes sound readable with `generateContent`: Gemini reads sound inside the prompt.

use async_trait::async_trait;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use galatea_core::{
    ModelInfo, Result, Timestamp,
    model::{Finish, Made, MediaModel, MediaTask, MediaUsage, Sound, Transcription},
};

use super::{decode, encode, error, path};
use crate::wire::{Call, Endpoint, Gather, require_answer};

const PROMPT: &str = "Write down what is said in this recording, word for word, in its own \
language. Write nothing else. If nothing is said, write nothing.";

/// A Gemini model that transcribes.
pub struct GoogleTranscription {
    endpoint: Endpoint,
    info: ModelInfo,
}

impl GoogleTranscription {
    /// Creates a model at an endpoint whose base address ends in `/v1beta`.
    pub fn new(endpoint: Endpoint, info: ModelInfo) -> Self {
        Self { endpoint, info }
    }
}

#[async_trait]
impl MediaModel<Transcription> for GoogleTranscription {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn run(&self, sound: &Sound, _: Option<Timestamp>) -> Result<Made<String>> {
        let (endpoint, model) = (&self.endpoint, self.info.model.as_str());
        let data = BASE64_STANDARD.encode(&sound.bytes);
        let body = encode::with_file(PROMPT, sound.mime, &data);
        let call = Call { model, read: error::read };
        let response =
            endpoint.post(&format!("{}:generateContent", path(model)), &body, false, &call).await?;
        let bytes = endpoint.body(response).await?;
        let mut pieces = decode::GooglePieces::default();
        pieces
            .take(&String::from_utf8_lossy(&bytes), &|_| ())
            .map_err(|fail| endpoint.fail(fail, model))?;
        let answer = require_answer(endpoint, model, pieces.finish())?;
        if answer.finish == Finish::Filtered {
            return Err(galatea_core::Error::invalid("the service withheld the transcription"));
        }
        let used = MediaUsage { tokens: answer.usage, ..Transcription::expected(sound) };
        Ok(Made { output: answer.text.trim().to_owned(), used, micros: None, by: None })
    }
}

//! Makes speech with `POST /audio/speech`, which Groq and many servers of one's own support too.

use async_trait::async_trait;
use galatea_core::{
    Error, ModelInfo, Result, Timestamp,
    model::{Made, MediaFile, MediaModel, MediaTask, Sound, SpeechRequest, TextToSpeech},
};
use serde::Serialize;

use super::error;
use crate::wire::{Call, Endpoint, Fail};

/// Most characters of one call (API reference, "Create speech", `input`).
const LONGEST: usize = 4_096;

/// A speech model behind `/audio/speech`.
pub struct OpenAiSpeech {
    endpoint: Endpoint,
    info: ModelInfo,
    voice: String,
    format: &'static str,
}

#[derive(Serialize)]
struct SpeechBody<'a> {
    model: &'a str,
    input: &'a str,
    voice: &'a str,
    response_format: &'static str,
}

impl OpenAiSpeech {
    /// Creates a model at an endpoint whose base address ends before `/audio`. `format` is one that
    /// the service makes, such as `mp3`.
    pub fn new(endpoint: Endpoint, info: ModelInfo, voice: String, format: &'static str) -> Self {
        Self { endpoint, info, voice, format }
    }
}

#[async_trait]
impl MediaModel<TextToSpeech> for OpenAiSpeech {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn run(&self, request: &SpeechRequest, _: Option<Timestamp>) -> Result<Made<MediaFile>> {
        if request.text.chars().count() > LONGEST {
            return Err(Error::invalid("the text is too long to be spoken").with("limit", LONGEST));
        }
        let model = self.info.model.as_str();
        let body = SpeechBody {
            model,
            input: &request.text,
            voice: &self.voice,
            response_format: self.format,
        };
        let call = Call { model, read: error::read };
        let response = self.endpoint.post("/audio/speech", &body, false, &call).await?;
        let bytes = self.endpoint.body(response).await?;
        // A service may send another format than asked for, or a page instead of sound.
        let sound = Sound::read(bytes.to_vec())
            .ok_or_else(|| self.endpoint.fail(Fail::Garbage("a sound file"), model))?;
        let ending = match sound.mime {
            "audio/wav" => "wav",
            "audio/ogg" => "ogg",
            "audio/flac" => "flac",
            "audio/mp4" => "m4a",
            "audio/webm" => "webm",
            _ => "mp3",
        };
        let output = MediaFile { bytes: sound.bytes, mime: sound.mime, ending };
        Ok(Made { output, used: TextToSpeech::expected(request), micros: None, by: None })
    }
}

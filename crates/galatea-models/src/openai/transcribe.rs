//! Makes sound readable with `POST /audio/transcriptions`, which Groq and many servers of one's own
//! support too.

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Result, Timestamp,
    model::{Made, MediaModel, MediaTask, MediaUsage, Sound, Transcription, Usage},
};
use galatea_http::{Form, Part};
use serde::Deserialize;

use super::error;
use crate::wire::{Call, Endpoint, Fail};

/// A transcription model behind `/audio/transcriptions`.
pub struct OpenAiTranscription {
    endpoint: Endpoint,
    info: ModelInfo,
}

#[derive(Deserialize)]
struct TranscriptBody {
    text: Option<String>,
    usage: Option<Counted>,
    /// Seconds, from servers that give more than they are asked for.
    duration: Option<f64>,
}

#[derive(Deserialize)]
struct Counted {
    /// OpenAI counts its older models in tokens, and the others in seconds.
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    seconds: Option<f64>,
}

impl OpenAiTranscription {
    /// Creates a model at an endpoint whose base address ends before `/audio`. The model recognises
    /// the language.
    pub fn new(endpoint: Endpoint, info: ModelInfo) -> Self {
        Self { endpoint, info }
    }
}

#[async_trait]
impl MediaModel<Transcription> for OpenAiTranscription {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn run(&self, sound: &Sound, _: Option<Timestamp>) -> Result<Made<String>> {
        let model = self.info.model.as_str();
        let file = Part::bytes(sound.bytes.clone())
            .file_name(sound.name.clone())
            .mime_str(sound.mime)
            .map_err(|_| galatea_core::Error::unexpected("a sound has a malformed type"))?;
        // The only format that every model has.
        let form = Form::new()
            .text("model", model.to_owned())
            .text("response_format", "json")
            .part("file", file);
        let call = Call { model, read: error::read };
        let response = self.endpoint.post_form("/audio/transcriptions", form, &call).await?;
        let bytes = self.endpoint.body(response).await?;
        decode(&bytes, sound).map_err(|fail| self.endpoint.fail(fail, model))
    }
}

fn decode(bytes: &[u8], sound: &Sound) -> Result<Made<String>, Fail> {
    const SHAPE: &str = "a transcription";
    let body: TranscriptBody = serde_json::from_slice(bytes).map_err(|_| Fail::Garbage(SHAPE))?;
    let text = body.text.ok_or(Fail::Garbage(SHAPE))?;
    let mut used = Transcription::expected(sound);
    let counted = body.usage.as_ref();
    if let Some(seconds) = counted.and_then(|counted| counted.seconds).or(body.duration) {
        used.sound_ms = millis(seconds).unwrap_or(used.sound_ms);
    }
    if let Some(Counted { input_tokens, output_tokens, .. }) = counted {
        let tokens = Usage { input: *input_tokens, output: *output_tokens, ..Usage::default() };
        used = MediaUsage { tokens, ..used };
    }
    Ok(Made { output: text.trim().to_owned(), used, micros: None, by: None })
}

/// Milliseconds of a number of seconds; none for one that no file lasts.
fn millis(seconds: f64) -> Option<u64> {
    const DAY: f64 = 86_400.0;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to lie between 0 and a day"
    )]
    (0.0..=DAY).contains(&seconds).then_some((seconds * 1_000.0).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> Sound {
        Sound { bytes: Vec::new(), mime: "audio/ogg", name: "sound.ogg".into(), millis: 9_000 }
    }

    #[test]
    fn what_was_used_is_what_the_service_counts() {
        let of = |body: &str| decode(body.as_bytes(), &sound()).unwrap();
        let plain = of(r#"{"text": " hello there ", "x_groq": {"id": "r"}}"#);
        assert_eq!((plain.output.as_str(), plain.used.sound_ms), ("hello there", 9_000));
        let timed = of(r#"{"text": "a", "usage": {"type": "duration", "seconds": 12}}"#);
        assert_eq!(timed.used.sound_ms, 12_000);
        let counted = of(
            r#"{"text": "a", "usage": {"type": "tokens", "input_tokens": 30, "output_tokens": 4,
                "total_tokens": 34}}"#,
        );
        assert_eq!((counted.used.tokens.input, counted.used.tokens.output), (30, 4));
        let absurd = of(r#"{"text": "", "duration": 1e300}"#);
        assert_eq!((absurd.output.as_str(), absurd.used.sound_ms), ("", 9_000));
        assert!(decode(br#"{"words": []}"#, &sound()).is_err());
        assert!(decode(b"<html>", &sound()).is_err());
    }
}

//! Makes pictures with `POST /images/generations`.

use async_trait::async_trait;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use galatea_core::{
    ModelInfo, Result, Timestamp,
    model::{ImageGeneration, ImageRequest, Made, MediaFile, MediaModel, MediaUsage, Usage},
};
use serde::{Deserialize, Serialize};

use super::error;
use crate::wire::{Call, Endpoint, Fail};

/// A model behind `/images/generations`.
pub struct OpenAiImage {
    endpoint: Endpoint,
    info: ModelInfo,
}

#[derive(Serialize)]
struct ImageBody<'a> {
    model: &'a str,
    prompt: &'a str,
    n: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<&'static str>,
}

#[derive(Deserialize)]
struct ImageAnswer {
    data: Option<Vec<ImageItem>>,
    usage: Option<CountedImage>,
}

#[derive(Deserialize)]
struct ImageItem {
    b64_json: Option<String>,
}

#[derive(Deserialize)]
struct CountedImage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

impl OpenAiImage {
    /// Creates a model at an endpoint whose base address ends before `/images`.
    pub fn new(endpoint: Endpoint, info: ModelInfo) -> Self {
        Self { endpoint, info }
    }
}

#[async_trait]
impl MediaModel<ImageGeneration> for OpenAiImage {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn run(&self, request: &ImageRequest, _: Option<Timestamp>) -> Result<Made<MediaFile>> {
        let model = self.info.model.as_str();
        let body = ImageBody {
            model,
            prompt: &request.prompt,
            n: 1,
            response_format: (!always_bytes(model)).then_some("b64_json"),
        };
        let call = Call { model, read: error::read };
        let response = self.endpoint.post("/images/generations", &body, false, &call).await?;
        let bytes = self.endpoint.body(response).await?;
        decode(&bytes).map_err(|fail| self.endpoint.fail(fail, model))
    }
}

/// True if the model always answers with the picture itself; such a model refuses
/// `response_format` (API reference, "Create image").
fn always_bytes(model: &str) -> bool {
    model.rsplit('/').next().unwrap_or(model).contains("gpt-image")
}

fn decode(bytes: &[u8]) -> Result<Made<MediaFile>, Fail> {
    const SHAPE: &str = "a picture in base64";
    let garbage = || Fail::Garbage(SHAPE);
    let answer: ImageAnswer = serde_json::from_slice(bytes).map_err(|_| garbage())?;
    let item = answer.data.and_then(|items| items.into_iter().next()).ok_or_else(garbage)?;
    let data = item.b64_json.ok_or_else(garbage)?;
    let bytes = BASE64_STANDARD.decode(data.trim()).map_err(|_| garbage())?;
    let (mime, ending) = picture(&bytes).ok_or_else(garbage)?;
    let mut used = MediaUsage { images: 1, ..MediaUsage::default() };
    if let Some(CountedImage { input_tokens, output_tokens }) = answer.usage {
        used.tokens = Usage { input: input_tokens, output: output_tokens, ..Usage::default() };
    }
    Ok(Made { output: MediaFile { bytes, mime, ending }, used, micros: None, by: None })
}

/// Kind of the bytes, by their signature.
fn picture(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    Some(match bytes {
        [0x89, b'P', b'N', b'G', ..] => ("image/png", "png"),
        [0xff, 0xd8, 0xff, ..] => ("image/jpeg", "jpg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => ("image/webp", "webp"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_picture_is_a_picture() {
        let answer = |data: &str| {
            decode(
                format!(
                    r#"{{"data": [{{"b64_json": "{data}"}}], "usage": {{"output_tokens": 9}}}}"#
                )
                .as_bytes(),
            )
        };
        let made = answer(&BASE64_STANDARD.encode(b"\x89PNG\r\n")).unwrap();
        assert_eq!((made.output.mime, made.output.ending), ("image/png", "png"));
        assert_eq!((made.used.images, made.used.tokens.output), (1, 9));
        assert!(answer(&BASE64_STANDARD.encode("<svg onload=x>")).is_err());
        assert!(answer("***").is_err());
        assert!(decode(br#"{"data": [{"url": "https://x"}]}"#).is_err());
        assert!(decode(br#"{"data": []}"#).is_err());
    }

    #[test]
    fn response_format_goes_to_models_that_take_it() {
        for (model, always) in [
            ("gpt-image-1", true),
            ("openai/gpt-image-1.5", true),
            ("dall-e-3", false),
            ("flux", false),
        ] {
            assert_eq!(always_bytes(model), always, "{model}");
        }
    }
}

//! Transcription, pictures and speech of OpenAI's API.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::models::{reply::Answer, server::Route, shape::Shape};

/// The smallest picture: a PNG of one pixel.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xff\xff?\0\x05\xfe\x02\xfe\xa75\x81\x84\0\0\0\0IEND\xaeB`\x82";
/// The beginning of a sound file: a tag and one frame of MP3.
const SPEECH: &[u8] = b"ID3\x04\0\0\0\0\0\0\xff\xfb\x90\0\0\0\0\0";

pub(super) fn transcription(body: &Value, shape: &mut Shape<'_>) -> Route {
    let optional = ["language", "prompt", "response_format", "temperature"];
    let Some(fields) = shape.object("form", body, &["file", "model"], &optional) else {
        return Route::Unknown;
    };
    shape.text("model", fields.get("model"));
    let format = fields.get("response_format").and_then(Value::as_str).unwrap_or("json");
    // Models newer than Whisper have no other format.
    shape.require(format == "json", "response_format: unsupported");
    let file = &body["file"];
    let ending = file["name"].as_str().and_then(|name| name.rsplit('.').next()).unwrap_or_default();
    let endings = ["flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm"];
    shape.require(endings.contains(&ending), "file: unrecognized file format");
    let mime = file["type"].as_str().unwrap_or_default();
    shape.require(mime.starts_with("audio/"), "file: not a sound");
    let bytes = file["bytes"].as_u64().unwrap_or_default();
    shape.require((1..=25 << 20).contains(&bytes), "file: empty, or larger than 25 MB");
    Route::Transcribe { model: model(body) }
}

pub(super) fn image(body: &Value, shape: &mut Shape<'_>) -> Route {
    let optional =
        ["n", "size", "quality", "response_format", "output_format", "background", "user"];
    let Some(fields) = shape.object("body", body, &["model", "prompt"], &optional) else {
        return Route::Unknown;
    };
    shape.text("model", fields.get("model"));
    shape.text("prompt", fields.get("prompt"));
    shape.integer("n", fields.get("n"), 1);
    let model = model(body);
    let (bytes, most) =
        if model.starts_with("gpt-image") { (true, 32_000) } else { (false, 4_000) };
    shape.require(
        !bytes || !fields.contains_key("response_format"),
        "response_format: unknown parameter for this model",
    );
    shape.require(bytes || !fields.contains_key("output_format"), "output_format: unknown");
    let length = body["prompt"].as_str().unwrap_or_default().chars().count();
    shape.require(length <= most, "prompt: too long");
    Route::Draw { model }
}

pub(super) fn speech(body: &Value, shape: &mut Shape<'_>) -> Route {
    let optional = ["response_format", "speed", "instructions"];
    let Some(fields) = shape.object("body", body, &["model", "input", "voice"], &optional) else {
        return Route::Unknown;
    };
    for name in ["model", "input", "voice"] {
        shape.text(name, fields.get(name));
    }
    let length = body["input"].as_str().unwrap_or_default().chars().count();
    shape.require(length <= 4_096, "input: too long");
    let format = fields.get("response_format").and_then(Value::as_str).unwrap_or("mp3");
    let known = ["mp3", "opus", "aac", "flac", "wav", "pcm"].contains(&format);
    shape.require(known, "response_format: unknown");
    Route::Speak { model: model(body) }
}

fn model(body: &Value) -> String {
    body["model"].as_str().unwrap_or_default().to_owned()
}

pub(super) fn answer(route: &Route, answer: &Answer) -> Option<(Vec<u8>, &'static str)> {
    let json = |value: Value| Some((value.to_string().into_bytes(), "application/json"));
    match route {
        Route::Transcribe { .. } => json(json!({
            "text": answer.text,
            "usage": { "type": "duration", "seconds": 4 },
        })),
        Route::Draw { model } => {
            let mut body = json!({
                "created": 1_700_000_000,
                "data": [{ "b64_json": BASE64_STANDARD.encode(PICTURE) }],
            });
            if model.starts_with("gpt-image") {
                body["usage"] =
                    json!({ "input_tokens": 20, "output_tokens": 1_056, "total_tokens": 1_076 });
            }
            json(body)
        }
        Route::Speak { .. } => Some((SPEECH.to_vec(), "audio/mpeg")),
        _ => None,
    }
}

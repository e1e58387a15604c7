//! Uploads, `getFile`, and the objects that describe files.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::telegram::{
    answer::{Answer, Refusal},
    params::Params,
    state::State,
};

/// Largest photo upload in bytes (Bot API, "Sending files").
const MAX_PHOTO: usize = 10 * 1024 * 1024;
/// Largest other upload in bytes (Bot API, "Sending files").
const MAX_FILE: usize = 50 * 1024 * 1024;
/// Largest download in bytes (Bot API, getFile).
const MAX_DOWNLOAD: u64 = 20 * 1024 * 1024;

/// A file of a call, now stored.
pub(super) struct Taken {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) mime: String,
    pub(super) size: u64,
}

/// Stores the file that a parameter or an `InputMedia.media` names: an upload, `attach://`, a
/// `file_id`, or an HTTP URL.
pub(super) fn take(
    state: &mut State,
    params: &Params,
    kind: &str,
    part: Option<&str>,
    named: Option<&str>,
) -> Result<Taken, Refusal> {
    let upload =
        match (part, named) {
            (Some(part), None) => params.files().get(part),
            (_, Some(name)) => match name.strip_prefix("attach://") {
                Some(part) => Some(params.files().get(part).ok_or_else(|| {
                    Refusal::broken(format!("attached file \"{part}\" is missing"))
                })?),
                None => None,
            },
            (None, None) => None,
        };
    if let Some(upload) = upload {
        if upload.bytes.is_empty() {
            return Err(Refusal::broken("file must be non-empty"));
        }
        if upload.bytes.len() > if kind == "photo" { MAX_PHOTO } else { MAX_FILE } {
            return Err(Refusal::too_large());
        }
        let size = upload.bytes.len() as u64;
        let id = state.keep_file(folder(kind), &upload.name, upload.bytes.clone(), size);
        return Ok(Taken { id, name: upload.name.clone(), mime: upload.mime.clone(), size });
    }
    let named = named.unwrap_or_default();
    if let Some(file) = state.files.get(named) {
        return Ok(Taken {
            id: named.to_owned(),
            name: file.name.clone(),
            mime: "application/octet-stream".to_owned(),
            size: file.size,
        });
    }
    if named.starts_with("http://") || named.starts_with("https://") {
        let name = named.rsplit('/').next().unwrap_or("file").to_owned();
        let id = state.keep_file(folder(kind), &name, Bytes::new(), 0);
        return Ok(Taken { id, name, mime: "application/octet-stream".to_owned(), size: 0 });
    }
    Err(Refusal::broken("wrong file identifier/HTTP URL specified"))
}

fn folder(kind: &str) -> &'static str {
    match kind {
        "photo" => "photos",
        "voice" => "voice",
        "audio" => "music",
        "video" => "videos",
        "animation" => "animations",
        "sticker" => "stickers",
        _ => "documents",
    }
}

/// A `PhotoSize` list; the small and the full size share one file.
pub(crate) fn photo_sizes(id: &str, size: u64) -> Value {
    let one = |w: u32, size: u64| json!({ "file_id": id, "file_unique_id": unique(id), "file_size": size, "width": w, "height": w * 3 / 4 });
    json!([one(90, size.min(1_000)), one(800, size)])
}

fn unique(id: &str) -> String {
    format!("AQAD{}", &id[id.len().saturating_sub(8)..])
}

/// Content fields for a file that was sent.
pub(super) fn describe(kind: &str, file: &Taken, params: Option<&Params>) -> Map<String, Value> {
    let number = |name: &str| params.and_then(|p| p.int(name).ok().flatten()).unwrap_or(0);
    let mut object =
        json!({ "file_id": file.id, "file_unique_id": unique(&file.id), "file_size": file.size });
    match kind {
        "photo" => return Map::from_iter([("photo".to_owned(), photo_sizes(&file.id, file.size))]),
        "voice" => {
            object["duration"] = json!(number("duration"));
            object["mime_type"] = json!("audio/ogg");
        }
        "audio" => {
            object["duration"] = json!(number("duration"));
            object["file_name"] = json!(file.name);
            object["mime_type"] = json!(file.mime);
        }
        "video" | "animation" => {
            object["duration"] = json!(number("duration"));
            object["width"] = json!(number("width"));
            object["height"] = json!(number("height"));
            object["file_name"] = json!(file.name);
            object["mime_type"] = json!(file.mime);
        }
        "sticker" => {
            for (key, value) in [
                ("type", json!("regular")),
                ("width", json!(512)),
                ("height", json!(512)),
                ("is_animated", json!(false)),
                ("is_video", json!(false)),
            ] {
                object[key] = value;
            }
            object["emoji"] =
                json!(params.and_then(|p| p.text("emoji").ok().flatten()).unwrap_or("🙂"));
        }
        _ => {
            object["file_name"] = json!(file.name);
            object["mime_type"] = json!(file.mime);
        }
    }
    let mut fields = Map::from_iter([(kind.to_owned(), object.clone())]);
    if kind == "animation" {
        // "For backward compatibility, when this field is set, the document field will also be set"
        // (Bot API, Message.animation).
        fields.insert("document".to_owned(), object);
    }
    fields
}

pub(super) fn get(state: &mut State, params: &Params) -> Answer {
    let id = params.required_text("file_id")?;
    let file = state.files.get(id).ok_or_else(|| Refusal::bad("invalid file_id"))?;
    if file.size > MAX_DOWNLOAD {
        return Err(Refusal::bad("file is too big"));
    }
    Ok(
        json!({ "file_id": id, "file_unique_id": unique(id), "file_size": file.size, "file_path": file.path }),
    )
}

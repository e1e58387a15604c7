//! Encodes attachments as Bot API methods and files.

use galatea_core::{Error, Media, MediaKind, Result};
use serde_json::{Map, Value, json};

use super::call::{Method, Upload};

/// Largest file a bot may upload (Bot API, "Sending files").
pub(crate) const MAX_UPLOAD: usize = 50 * 1024 * 1024;

/// Way in which an attachment is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Photo or video; albums may mix them.
    Visual,
    /// Document; an album of documents contains nothing else.
    Document,
    /// Audio; an album of audio files contains nothing else.
    Audio,
    /// Cannot be part of an album.
    Alone,
}

/// Method, field name and album class of an attachment (Bot API, InputMedia).
pub(crate) fn form(media: &Media) -> (Method, &'static str, Class) {
    let mime = media.mime.as_deref().unwrap_or("");
    match media.content_type {
        MediaKind::Image if mime == "image/gif" => {
            (Method::SendAnimation, "animation", Class::Alone)
        }
        // Telegram re-encodes photos and accepts vector images only as documents.
        MediaKind::Image if mime == "image/svg+xml" => {
            (Method::SendDocument, "document", Class::Document)
        }
        MediaKind::Image => (Method::SendPhoto, "photo", Class::Visual),
        MediaKind::Video => (Method::SendVideo, "video", Class::Visual),
        MediaKind::Audio if mime == "audio/ogg" || media.source.eq_ignore_ascii_case("voice") => {
            (Method::SendVoice, "voice", Class::Alone)
        }
        MediaKind::Audio => (Method::SendAudio, "audio", Class::Audio),
        MediaKind::Document | MediaKind::Link => {
            (Method::SendDocument, "document", Class::Document)
        }
    }
}

/// Source from which Telegram gets the file: a web address, a file id, or an upload under `field`.
/// `position` is the attachment's index, for errors.
///
/// # Errors
/// `Invalid` for another kind of address, or for a `data:` address that is too large.
pub(crate) fn place(
    media: &Media,
    field: &str,
    position: usize,
) -> Result<(String, Option<Upload>)> {
    if let Some(file_id) = media.url.strip_prefix("telegram:") {
        return Ok((file_id.to_owned(), None));
    }
    let scheme = media.url.split(':').next().unwrap_or("").to_ascii_lowercase();
    match scheme.as_str() {
        "http" | "https" => Ok((media.url.clone(), None)),
        "data" | "file" => {
            if media.url.len() > MAX_UPLOAD / 3 * 4 + 1024 {
                return Err(Error::invalid(
                    "an attachment is larger than the 50 MB a Telegram bot may upload",
                )
                .with_code("GAL-TG-400")
                .with("attachment", position));
            }
            let name = if media.title.trim().is_empty() {
                default_name(media, field)
            } else {
                clean(&media.title)
            };
            Ok((
                format!("attach://{field}"),
                Some(Upload {
                    field: field.to_owned(),
                    url: media.url.clone(),
                    name,
                    mime: media.mime.clone(),
                    description: media.description.clone(),
                }),
            ))
        }
        _ => Err(Error::invalid("an attachment has an address that Telegram cannot be given")
            .with_code("GAL-TG-400")
            .with("attachment", position)
            .with("scheme", &scheme)
            .with_fix("use an https:, data: or file: address")),
    }
}

fn default_name(media: &Media, field: &str) -> String {
    let extension = match media.mime.as_deref() {
        Some("image/png") => "png",
        Some("image/jpeg") => "jpg",
        Some("image/gif") => "gif",
        Some("image/webp") => "webp",
        Some("video/mp4") => "mp4",
        Some("audio/ogg") => "ogg",
        Some("audio/mpeg") => "mp3",
        Some("application/pdf") => "pdf",
        Some("text/plain") => "txt",
        _ => match media.content_type {
            MediaKind::Image => "png",
            MediaKind::Video => "mp4",
            MediaKind::Audio => "mp3",
            MediaKind::Document | MediaKind::Link => "bin",
        },
    };
    format!("{field}.{extension}")
}

/// A file name without path separators and control characters, of at most 120 characters.
fn clean(name: &str) -> String {
    name.trim()
        .chars()
        .map(|c| if c.is_control() || matches!(c, '/' | '\\' | '"') { '_' } else { c })
        .take(120)
        .collect()
}

/// An item of an album (Bot API, InputMediaPhoto and the like).
pub(crate) fn album_item(method: Method, address: &str) -> Map<String, Value> {
    let kind = match method {
        Method::SendVideo => "video",
        Method::SendAudio => "audio",
        Method::SendDocument => "document",
        _ => "photo",
    };
    let mut item = Map::new();
    item.insert("type".into(), json!(kind));
    item.insert("media".into(), json!(address));
    item
}

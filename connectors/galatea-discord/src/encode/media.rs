//! Encodes attachments: local files are uploaded; web addresses become links in the text, for which
//! Discord shows a preview.

use galatea_core::{Error, Media, MediaKind, Result};
use serde::{Deserialize, Serialize};

use crate::error::codes;

/// Largest file a bot may upload to a server without boosts (Discord, "Uploading Files").
pub(crate) const MAX_UPLOAD: usize = 10 << 20;

/// A file that is uploaded with the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileUpload {
    /// `data:` or `file:` address of the file.
    pub(crate) url: String,
    /// File name shown in the channel.
    pub(crate) name: String,
    /// MIME type, where known.
    pub(crate) mime: Option<String>,
    /// Alternative text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
}

fn scheme(media: &Media) -> String {
    media.url.split(':').next().unwrap_or("").to_ascii_lowercase()
}

/// True if the attachment is uploaded, not linked.
pub(super) fn is_upload(media: &Media) -> bool {
    matches!(scheme(media).as_str(), "data" | "file")
}

/// # Errors
/// `Invalid` for an address Discord cannot be given, or a `data:` address over the limit.
pub(super) fn check(media: &Media, position: usize) -> Result<()> {
    match scheme(media).as_str() {
        // The address goes into the text and must not break its markup.
        "http" | "https"
            if media.url.chars().any(|c| c.is_whitespace() || matches!(c, '<' | '>' | '`')) =>
        {
            Err(Error::invalid("an attachment has a broken address")
                .with_code(codes::INVALID)
                .with("attachment", position))
        }
        "http" | "https" | "file" => Ok(()),
        "data" if media.url.len() > MAX_UPLOAD / 3 * 4 + 1024 => Err(Error::invalid(
            "an attachment is larger than the 10 MB a bot may upload to Discord",
        )
        .with_code(codes::INVALID)
        .with("attachment", position)),
        "data" => Ok(()),
        scheme => Err(Error::invalid("an attachment has an address that Discord cannot be given")
            .with_code(codes::INVALID)
            .with("attachment", position)
            .with("scheme", galatea_http::shorten(scheme, 20))
            .with_fix("use an https:, data: or file: address")),
    }
}

/// The file to upload. `position` is its index in the message, for a file name if it has none.
pub(super) fn upload(media: &Media, position: usize) -> FileUpload {
    let name = if media.title.trim().is_empty() {
        format!("file{position}.{}", extension(media))
    } else {
        clean(&media.title)
    };
    // Longest description: Discord, "Attachment Object".
    let description = media.description.trim().chars().take(1024).collect();
    FileUpload { url: media.url.clone(), name, mime: media.mime.clone(), description }
}

fn extension(media: &Media) -> &'static str {
    match (media.mime.as_deref(), media.content_type) {
        (Some("image/jpeg"), _) => "jpg",
        (Some("image/gif"), _) => "gif",
        (Some("image/webp"), _) => "webp",
        (Some("audio/ogg"), _) => "ogg",
        (Some("application/pdf"), _) => "pdf",
        (Some("text/plain"), _) => "txt",
        (_, MediaKind::Image) => "png",
        (_, MediaKind::Video) => "mp4",
        (_, MediaKind::Audio) => "mp3",
        _ => "bin",
    }
}

/// A file name without path separators and control characters, of at most 120 characters.
fn clean(name: &str) -> String {
    name.trim()
        .chars()
        .map(|c| if c.is_control() || matches!(c, '/' | '\\' | '"') { '_' } else { c })
        .take(120)
        .collect()
}

//! Files that come with a message.

use axum::http::StatusCode;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use galatea_core::{Media, MediaKind, MemoryId};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::error::Problem;

/// A file.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Upload {
    /// Its name.
    #[schema(max_length = 255)]
    name: String,
    /// Its media type, such as `image/png`.
    #[serde(rename = "type", default)]
    #[schema(max_length = 100)]
    mime: String,
    /// Its bytes in base64.
    data: String,
}

/// Files as they are stored with a message.
///
/// # Errors
/// 400 for what is not base64, or for a media type that is none.
pub(crate) fn media(files: Vec<Upload>) -> Result<Vec<Media>, Problem> {
    files.into_iter().map(one).collect()
}

/// A file of a `data:` address in base64; none for another address.
pub(crate) fn of_data(url: &str) -> Option<Media> {
    let (mime, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    let name = mime.replace('/', ".");
    one(Upload { name, mime: mime.to_owned(), data: data.to_owned() }).ok()
}

fn one(file: Upload) -> Result<Media, Problem> {
    let bad = |text: &str| Problem::input(StatusCode::BAD_REQUEST, text);
    let mime = if file.mime.is_empty() { "application/octet-stream" } else { &file.mime };
    if !is_media_type(mime) {
        return Err(bad("attachments: a type is a media type such as image/png"));
    }
    let bytes = BASE64_STANDARD.decode(&file.data);
    let bytes = bytes.map_err(|_| bad("attachments: data is base64 (RFC 4648 §4)"))?;
    let kind = match mime.split('/').next() {
        Some("image") => MediaKind::Image,
        Some("audio") => MediaKind::Audio,
        Some("video") => MediaKind::Video,
        _ => MediaKind::Document,
    };
    Ok(Media {
        id: MemoryId::fresh().to_string(),
        url: format!("data:{mime};base64,{}", file.data),
        title: file.name.chars().filter(|c| !c.is_control()).take(255).collect(),
        content_type: kind,
        mime: Some(mime.to_owned()),
        size: u64::try_from(bytes.len()).ok(),
        source: "Upload".to_owned(),
        ..Media::default()
    })
}

/// Whether a text is a media type without parameters (RFC 6838 §4.2).
fn is_media_type(text: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
    };
    text.len() <= 100 && text.split_once('/').is_some_and(|(kind, sub)| word(kind) && word(sub))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_an_address_with_its_bytes() {
        let file = |mime: &str, data: &str| {
            media(vec![Upload { name: "a\n.png".into(), mime: mime.into(), data: data.into() }])
        };
        let made = file("image/png", "aGVsbG8=").unwrap().remove(0);
        assert_eq!(made.url, "data:image/png;base64,aGVsbG8=");
        assert_eq!((made.title.as_str(), made.size), ("a.png", Some(5)));
        assert_eq!(made.content_type, MediaKind::Image);
        for (mime, data) in [
            ("image/png;x=1", "aGVsbG8="),
            ("image", "aGVsbG8="),
            ("image/png,evil", "aGVsbG8="),
            ("image/png", "not base64"),
        ] {
            assert_eq!(file(mime, data).unwrap_err().status, 400, "{mime} {data}");
        }
    }
}

//! Selects the attachments that X can carry (pictures, animations, videos) and groups them into
//! posts. Other files become text.

use galatea_core::{Error, Media, MediaKind, Result};
use serde::{Deserialize, Serialize};

use crate::error::codes;

/// Most pictures of one post (X API, POST /2/tweets, `media.media_ids`).
const PICTURES: usize = 4;
/// Longest description in characters (X API, POST /2/media/metadata, `alt_text`).
const ALT_TEXT: usize = 1000;

/// A file to be uploaded before its post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Upload {
    /// Source of the bytes: a `data:`, `file:` or public address.
    pub(crate) url: String,
    /// Media type.
    pub(crate) mime: String,
    /// X's category of the file.
    pub(crate) category: Category,
    /// Description for people who cannot see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) alt: Option<String>,
}

/// X's kinds of media (X API, media upload, `media_category`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Category {
    /// `tweet_image`: up to four in a post, 5 MB each.
    Image,
    /// `tweet_gif`: one in a post, 15 MB.
    Gif,
    /// `tweet_video`: one in a post, 512 MB; this connector reads at most 64 MiB.
    Video,
}

impl Category {
    /// The post as the API writes it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Image => "tweet_image",
            Self::Gif => "tweet_gif",
            Self::Video => "tweet_video",
        }
    }

    /// Most bytes (X, "Media best practices"). Videos are limited further, since they are held in
    /// memory.
    pub(crate) fn limit(self) -> usize {
        match self {
            Self::Image => 5 << 20,
            Self::Gif => 15 << 20,
            Self::Video => 64 << 20,
        }
    }
}

/// The upload of an attachment; `None` if X cannot carry its type.
///
/// # Errors
/// `Invalid` for an address that cannot be read and for a file that is too large.
pub(super) fn upload(media: &Media) -> Result<Option<Upload>> {
    let Some((mime, category)) = kind(media) else { return Ok(None) };
    let scheme = media.url.split(':').next().unwrap_or("").to_ascii_lowercase();
    if !matches!(scheme.as_str(), "data" | "file" | "http" | "https") {
        return Err(Error::invalid("an attachment has an address that cannot be read")
            .with_code(codes::MEDIA)
            .with("scheme", &scheme)
            .with_fix("use an https:, data: or file: address"));
    }
    if media.url.len() > category.limit() / 3 * 4 + 1024 {
        return Err(Error::invalid("an attachment is larger than X takes")
            .with_code(codes::MEDIA)
            .with("bytes", category.limit()));
    }
    let alt = Some(media.description.trim())
        .filter(|d| !d.is_empty())
        .map(|d| d.chars().take(ALT_TEXT).collect());
    Ok(Some(Upload { url: media.url.clone(), mime, category, alt }))
}

fn kind(media: &Media) -> Option<(String, Category)> {
    let named = media.mime.as_deref().map(str::to_ascii_lowercase);
    let inline = || {
        media
            .url
            .strip_prefix("data:")
            .and_then(|rest| rest.split([';', ',']).next())
            .map(str::to_ascii_lowercase)
    };
    let mime = named.or_else(inline).filter(|mime| !mime.is_empty());
    let mime = match (mime, media.content_type) {
        (Some(mime), _) => mime,
        (None, MediaKind::Image) => "image/jpeg".to_owned(),
        (None, MediaKind::Video) => "video/mp4".to_owned(),
        (None, _) => return None,
    };
    // X API, media upload, `media_type`.
    let category = match mime.as_str() {
        "image/gif" => Category::Gif,
        "image/jpeg" | "image/png" | "image/webp" | "image/bmp" | "image/tiff" => Category::Image,
        "video/mp4" | "video/quicktime" | "video/webm" | "video/mp2t" => Category::Video,
        _ => return None,
    };
    Some((mime, category))
}

/// Groups uploads into posts: up to four pictures each, videos and animations alone.
pub(super) fn groups(uploads: Vec<Upload>) -> Vec<Vec<Upload>> {
    let mut groups: Vec<Vec<Upload>> = Vec::new();
    for upload in uploads {
        match groups.last_mut() {
            Some(group)
                if upload.category == Category::Image
                    && group[0].category == Category::Image
                    && group.len() < PICTURES =>
            {
                group.push(upload)
            }
            _ => groups.push(vec![upload]),
        }
    }
    groups
}

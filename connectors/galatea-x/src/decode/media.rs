//! Decodes the pictures and videos of a post.

use galatea_core::{Media, MediaKind};
use twitter_v2::data::{Media as Theirs, MediaType};

use super::raw::{Includes, Post};

/// The attachments, in the post's order. Their addresses are public.
pub(super) fn attachments(post: &Post, includes: &Includes) -> Vec<Media> {
    let keys = post.tweet.attachments.iter().filter_map(|a| a.media_keys.as_ref()).flatten();
    keys.filter_map(|key| includes.media(key.as_str())).filter_map(attachment).collect()
}

fn attachment(media: &Theirs) -> Option<Media> {
    let (kind, source, mime) = match media.kind {
        MediaType::Photo => (MediaKind::Image, "Photo", None),
        MediaType::AnimatedGif => (MediaKind::Video, "GIF", Some("video/mp4")),
        MediaType::Video => (MediaKind::Video, "Video", Some("video/mp4")),
    };
    let film = media
        .variants
        .iter()
        .flatten()
        .filter(|v| v.content_type.as_deref() == Some("video/mp4"))
        .max_by_key(|v| v.bit_rate.unwrap_or(0));
    let (url, kind, mime) = match (&media.url, film.and_then(|v| v.url.as_ref())) {
        (Some(url), _) => (url, kind, mime),
        (None, Some(url)) => (url, kind, mime),
        // A video without an address is represented by its preview image.
        (None, None) => (media.preview_image_url.as_ref()?, MediaKind::Image, None),
    };
    Some(Media {
        id: media.media_key.to_string(),
        url: url.to_string(),
        title: String::new(),
        content_type: kind,
        mime: mime.map(str::to_owned),
        source: source.to_owned(),
        description: media.alt_text.clone().unwrap_or_default(),
        ..Media::default()
    })
}

//! Decodes the files and stickers of a message.

use galatea_core::{Media, MediaKind};
use serenity::all::{Attachment, Message, StickerFormatType, StickerItem};

pub(super) fn kind(mime: Option<&str>) -> MediaKind {
    match mime.and_then(|m| m.split('/').next()) {
        Some("image") => MediaKind::Image,
        Some("video") => MediaKind::Video,
        Some("audio") => MediaKind::Audio,
        _ => MediaKind::Document,
    }
}

fn file(attachment: &Attachment) -> Media {
    let mime = attachment
        .content_type
        .as_deref()
        .map(|m| m.split(';').next().unwrap_or(m).trim().to_ascii_lowercase());
    Media {
        id: attachment.id.to_string(),
        url: attachment.url.clone(),
        title: attachment.filename.clone(),
        content_type: kind(mime.as_deref()),
        // Voice messages are the only ones with a waveform (Discord, "Voice Messages").
        source: if attachment.waveform.is_some() { "Voice" } else { "Attachment" }.to_owned(),
        description: attachment.description.clone().unwrap_or_default(),
        size: Some(u64::from(attachment.size)),
        mime,
        ..Media::default()
    }
}

/// The stickers of a message, including those of forwarded messages.
fn stickers(message: &Message) -> impl Iterator<Item = &StickerItem> {
    let forwarded = message.message_snapshots.iter().flat_map(|s| &s.sticker_items);
    message.sticker_items.iter().chain(forwarded)
}

/// The files of a message, and its stickers as images, including those of forwarded messages.
/// Lottie stickers are left out.
pub(super) fn attachments(message: &Message) -> Vec<Media> {
    let forwarded = message.message_snapshots.iter().flat_map(|s| &s.attachments);
    let mut all: Vec<Media> = message.attachments.iter().chain(forwarded).map(file).collect();
    // Lottie is a vector animation, which models cannot read as an image.
    let images = stickers(message).filter(|one| one.format_type != StickerFormatType::Lottie);
    all.extend(images.map(|one| {
        sticker(&one.id.to_string(), &one.name, one.format_type == StickerFormatType::Gif)
    }));
    all
}

/// A sticker that is an image.
pub(super) fn sticker(id: &str, name: &str, is_gif: bool) -> Media {
    let extension = if is_gif { "gif" } else { "png" };
    Media {
        id: id.to_owned(),
        url: format!("https://media.discordapp.net/stickers/{id}.{extension}"),
        title: name.to_owned(),
        content_type: MediaKind::Image,
        mime: Some(format!("image/{extension}")),
        source: "Sticker".to_owned(),
        description: format!("Sticker {name}"),
        ..Media::default()
    }
}

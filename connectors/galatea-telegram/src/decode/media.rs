//! Decodes what a message contains besides text: files become attachments, everything else a line
//! of text.

use galatea_core::{Media, MediaKind};
use teloxide::types::{
    Audio, Document, FileMeta, MediaKind as Telegram, Message, MessageKind, PhotoSize, Sticker,
};

/// teloxide's value for a size that Telegram did not send.
const UNKNOWN_SIZE: u32 = u32::MAX;

/// The files of a message: one at most. The address `telegram:<file_id>` identifies a file without
/// containing the token.
pub(super) fn attachments(message: &Message) -> Vec<Media> {
    let MessageKind::Common(common) = &message.kind else { return Vec::new() };
    let media = match &common.media_kind {
        Telegram::Photo(m) => largest(&m.photo).map(photo),
        Telegram::Document(m) => Some(document(&m.document)),
        Telegram::Voice(m) => Some(Media {
            title: format!("Voice message, {} s", m.voice.duration.seconds()),
            mime: m.voice.mime_type.as_ref().map(ToString::to_string),
            ..media_of(&m.voice.file, MediaKind::Audio, "Voice")
        }),
        Telegram::Audio(m) => Some(audio(&m.audio)),
        Telegram::Video(m) => Some(Media {
            title: m.video.file_name.clone().unwrap_or_else(|| "Video".into()),
            mime: m.video.mime_type.as_ref().map(ToString::to_string),
            ..media_of(&m.video.file, MediaKind::Video, "Video")
        }),
        Telegram::VideoNote(m) => Some(Media {
            title: "Video message".into(),
            mime: Some("video/mp4".into()),
            ..media_of(&m.video_note.file, MediaKind::Video, "VideoNote")
        }),
        Telegram::Animation(m) => Some(Media {
            title: m.animation.file_name.clone().unwrap_or_else(|| "Animation".into()),
            mime: m.animation.mime_type.as_ref().map(ToString::to_string),
            ..media_of(&m.animation.file, MediaKind::Video, "Animation")
        }),
        Telegram::Sticker(m) => Some(sticker(&m.sticker)),
        _ => None,
    };
    media.into_iter().collect()
}

/// The fields that all kinds of files have.
fn media_of(meta: &FileMeta, content_type: MediaKind, source: &str) -> Media {
    Media {
        id: meta.unique_id.0.clone(),
        url: format!("telegram:{}", meta.id.0),
        content_type,
        size: (meta.size != UNKNOWN_SIZE).then_some(u64::from(meta.size)),
        source: source.to_owned(),
        ..Media::default()
    }
}

fn photo(size: &PhotoSize) -> Media {
    Media {
        mime: Some("image/jpeg".into()),
        title: "Photo".into(),
        ..media_of(&size.file, MediaKind::Image, "Photo")
    }
}

fn document(document: &Document) -> Media {
    let mime = document.mime_type.as_ref().map(ToString::to_string);
    let kind = match mime.as_deref().and_then(|mime| mime.split('/').next()) {
        Some("image") => MediaKind::Image,
        Some("video") => MediaKind::Video,
        Some("audio") => MediaKind::Audio,
        _ => MediaKind::Document,
    };
    Media {
        title: document.file_name.clone().unwrap_or_else(|| "Document".into()),
        mime,
        ..media_of(&document.file, kind, "Document")
    }
}

fn audio(audio: &Audio) -> Media {
    let title = match (&audio.performer, &audio.title) {
        (Some(performer), Some(title)) => Some(format!("{performer} – {title}")),
        (None, Some(title)) => Some(title.clone()),
        _ => audio.file_name.clone(),
    };
    Media {
        title: title.unwrap_or_else(|| "Audio".into()),
        mime: audio.mime_type.as_ref().map(ToString::to_string),
        ..media_of(&audio.file, MediaKind::Audio, "Audio")
    }
}

fn sticker(sticker: &Sticker) -> Media {
    let (kind, mime) = match (sticker.flags.is_animated, sticker.flags.is_video) {
        (true, _) => (MediaKind::Document, "application/x-tgsticker"),
        (_, true) => (MediaKind::Video, "video/webm"),
        _ => (MediaKind::Image, "image/webp"),
    };
    let emoji = sticker.emoji.as_ref();
    Media {
        title: sticker.set_name.clone().unwrap_or_else(|| "Sticker".into()),
        description: emoji.map(|emoji| format!("Sticker {emoji}")).unwrap_or_default(),
        mime: Some(mime.into()),
        ..media_of(&sticker.file, kind, "Sticker")
    }
}

fn largest(sizes: &[PhotoSize]) -> Option<&PhotoSize> {
    sizes.iter().max_by_key(|s| u64::from(s.width) * u64::from(s.height))
}

/// Describes content without text, such as a location, in a line of text.
pub(super) fn in_words(message: &Message) -> Option<String> {
    let common = match &message.kind {
        MessageKind::Common(common) => common,
        MessageKind::Dice(d) => {
            return Some(format!(
                "[dice {}: {}]",
                serde_json::to_value(d.dice.emoji).ok()?.as_str()?,
                d.dice.value
            ));
        }
        _ => return None,
    };
    Some(match &common.media_kind {
        Telegram::Venue(m) => format!(
            "[place: {}, {} ({}, {})]",
            m.venue.title, m.venue.address, m.venue.location.latitude, m.venue.location.longitude
        ),
        Telegram::Location(m) => {
            format!("[location: {}, {}]", m.location.latitude, m.location.longitude)
        }
        Telegram::Contact(m) => {
            let name = [Some(m.contact.first_name.as_str()), m.contact.last_name.as_deref()]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" ");
            format!("[contact: {name}, {}]", m.contact.phone_number)
        }
        Telegram::Poll(m) => {
            let options =
                m.poll.options.iter().map(|o| o.text.as_str()).collect::<Vec<_>>().join(" / ");
            format!("[poll: {} ({options})]", m.poll.question)
        }
        Telegram::Checklist(m) => format!("[checklist: {}]", m.checklist.title),
        Telegram::Game(m) => format!("[game: {}]", m.game.title),
        Telegram::Story(_) => "[story]".to_owned(),
        Telegram::PaidMedia(_) => "[paid media]".to_owned(),
        _ => return None,
    })
}

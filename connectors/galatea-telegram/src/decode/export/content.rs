//! Content of an exported message, in the words that the connector uses for the same message
//! when it receives it.

use galatea_core::{Content, Media, MediaKind};
use serde_json::{Value, json};
use teloxide::types::{MessageEntity, MessageEntityKind};

use super::super::text;

/// Begins what stands in place of a path if the file was not exported: "(File not included. …)".
const NO_FILE: char = '(';
/// Text that Telegram shows in place of the name of an account that was deleted.
const DELETED: &str = "Deleted Account";

/// The content; empty for a message of a kind without words.
pub(super) fn read(message: &Value) -> Content {
    let mut text = markdown(message.get("text").unwrap_or(&Value::Null));
    for line in in_words(message) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&line);
    }
    let mut content = Content {
        text,
        attachments: attachment(message).into_iter().collect(),
        ..Content::default()
    };
    if let Some(from) = message.get("forwarded_from") {
        content.extra.insert("forwardedFrom".into(), json!(from.as_str().unwrap_or(DELETED)));
    }
    content
}

/// A text, or pieces of one that are formatted differently.
fn markdown(value: &Value) -> String {
    let pieces = match value {
        Value::String(text) => return text.clone(),
        Value::Array(pieces) => pieces,
        _ => return String::new(),
    };
    let (mut plain, mut entities, mut at) = (String::new(), Vec::new(), 0);
    for piece in pieces {
        let Some(words) = piece.as_str().or_else(|| piece.get("text")?.as_str()) else { continue };
        // Entities count UTF-16 units.
        let length = words.encode_utf16().count();
        entities.extend(style(piece).map(|kind| MessageEntity::new(kind, at, length)));
        plain.push_str(words);
        at += length;
    }
    text::to_markdown(&plain, &entities)
}

/// Format of a piece, as far as Markdown shows it.
fn style(piece: &Value) -> Option<MessageEntityKind> {
    use MessageEntityKind as K;
    let field = |name: &str| piece.get(name).and_then(Value::as_str);
    let link = |address: &str| Some(K::TextLink { url: url::Url::parse(address).ok()? });
    match field("type")? {
        "bold" => Some(K::Bold),
        "italic" => Some(K::Italic),
        "strikethrough" => Some(K::Strikethrough),
        "spoiler" => Some(K::Spoiler),
        "code" => Some(K::Code),
        "pre" => {
            let language = field("language").filter(|language| !language.is_empty());
            Some(K::Pre { language: language.map(str::to_owned) })
        }
        "blockquote" => Some(K::Blockquote),
        "text_link" => link(field("href")?),
        "mention_name" => link(&format!("tg://user?id={}", piece.get("user_id")?.as_i64()?)),
        _ => None,
    }
}

/// The file of a message. Its bytes stay in the export, so it has no address.
fn attachment(message: &Value) -> Option<Media> {
    let field = |name: &str| message.get(name).and_then(Value::as_str);
    let mime = field("mime_type").map(str::to_owned);
    let file = |content_type: MediaKind, source: &str, title: String| Media {
        id: "1".to_owned(),
        title,
        content_type,
        mime: mime.clone(),
        source: source.to_owned(),
        ..Media::default()
    };
    if message.get("photo").is_some() {
        return Some(Media {
            mime: Some("image/jpeg".to_owned()),
            ..file(MediaKind::Image, "Photo", "Photo".to_owned())
        });
    }
    let path = field("file")?;
    let named = |other: &str| file_name(message, path).unwrap_or(other).to_owned();
    Some(match field("media_type") {
        Some("voice_message") => {
            let seconds = message.get("duration_seconds").and_then(Value::as_u64).unwrap_or(0);
            file(MediaKind::Audio, "Voice", format!("Voice message, {seconds} s"))
        }
        Some("audio_file") => {
            let title = match (field("performer"), field("title")) {
                (Some(performer), Some(title)) => format!("{performer} – {title}"),
                (None, Some(title)) => title.to_owned(),
                _ => named("Audio"),
            };
            file(MediaKind::Audio, "Audio", title)
        }
        Some("video_file") => file(MediaKind::Video, "Video", named("Video")),
        Some("video_message") => file(MediaKind::Video, "VideoNote", "Video message".to_owned()),
        Some("animation") => file(MediaKind::Video, "Animation", named("Animation")),
        Some("sticker") => sticker(path, field("sticker_emoji")),
        _ => {
            let kind = match mime.as_deref().and_then(|mime| mime.split('/').next()) {
                Some("image") => MediaKind::Image,
                Some("video") => MediaKind::Video,
                Some("audio") => MediaKind::Audio,
                _ => MediaKind::Document,
            };
            file(kind, "Document", named("Document"))
        }
    })
}

/// The name of a file: exports since 2024 name it, earlier ones have it in the path.
fn file_name<'a>(message: &'a Value, path: &'a str) -> Option<&'a str> {
    let named = message.get("file_name").and_then(Value::as_str).filter(|name| !name.is_empty());
    named.or_else(|| path.rsplit('/').next().filter(|_| !path.starts_with(NO_FILE)))
}

fn sticker(path: &str, emoji: Option<&str>) -> Media {
    let (content_type, mime) = match path.rsplit('.').next() {
        Some("tgs") => (MediaKind::Document, "application/x-tgsticker"),
        Some("webm") => (MediaKind::Video, "video/webm"),
        _ => (MediaKind::Image, "image/webp"),
    };
    Media {
        id: "1".to_owned(),
        title: "Sticker".to_owned(),
        description: emoji.map(|emoji| format!("Sticker {emoji}")).unwrap_or_default(),
        content_type,
        mime: Some(mime.to_owned()),
        source: "Sticker".to_owned(),
        ..Media::default()
    }
}

/// Content without text, such as a location, each in a line of text.
fn in_words(message: &Value) -> Vec<String> {
    let field = |name: &str| message.get(name).filter(|value| !value.is_null());
    let words = |value: &Value, name: &str| {
        value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut lines = Vec::new();
    if let Some(place) = field("location_information") {
        let number = |name: &str| place.get(name).and_then(Value::as_f64).unwrap_or_default();
        let (latitude, longitude) = (number("latitude"), number("longitude"));
        lines.push(match words(message, "place_name") {
            name if name.is_empty() => format!("[location: {latitude}, {longitude}]"),
            name => {
                let address = words(message, "address");
                format!("[place: {name}, {address} ({latitude}, {longitude})]")
            }
        });
    }
    if let Some(contact) = field("contact_information") {
        let names = [words(contact, "first_name"), words(contact, "last_name")];
        let name: Vec<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
        lines.push(format!("[contact: {}, {}]", name.join(" "), words(contact, "phone_number")));
    }
    if let Some(poll) = field("poll") {
        let text = |value: &Value, name: &str| markdown(value.get(name).unwrap_or(&Value::Null));
        let answers = poll.get("answers").and_then(Value::as_array).into_iter().flatten();
        let answers: Vec<String> = answers.map(|answer| text(answer, "text")).collect();
        lines.push(format!("[poll: {} ({})]", text(poll, "question"), answers.join(" / ")));
    }
    if let Some(list) = field("todo_list") {
        lines.push(format!("[checklist: {}]", markdown(list.get("title").unwrap_or(list))));
    }
    if field("game_title").is_some() {
        lines.push(format!("[game: {}]", words(message, "game_title")));
    }
    if field("paid_stars_amount").is_some() {
        lines.push("[paid media]".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_has_the_words_of_a_message_that_is_received() {
        for (message, expected) in [
            (
                json!({ "poll": { "question": "Which honey?", "answers": [{ "text": "Acacia" }, { "text": "Linden" }] } }),
                "[poll: Which honey? (Acacia / Linden)]",
            ),
            (
                json!({ "contact_information": { "first_name": "Zed", "last_name": "", "phone_number": "+49 1" } }),
                "[contact: Zed, +49 1]",
            ),
            (
                json!({ "location_information": { "latitude": 1.5, "longitude": 2.0 } }),
                "[location: 1.5, 2]",
            ),
            (
                json!({ "location_information": { "latitude": 1.5, "longitude": 2.5 }, "place_name": "Hive", "address": "Elm 1" }),
                "[place: Hive, Elm 1 (1.5, 2.5)]",
            ),
            (json!({ "game_title": "Bees", "text": "play" }), "play\n[game: Bees]"),
            (
                json!({ "text": ["See ", { "type": "bold", "text": "varroa 🐝" }, " in ", { "type": "text_link", "text": "my blog", "href": "https://bob.example/" }, " by ", { "type": "mention_name", "text": "Ann", "user_id": 7 }] }),
                "See **varroa 🐝** in [my blog](https://bob.example/) by [Ann](tg://user?id=7)",
            ),
            (json!({ "text": "" }), ""),
        ] {
            assert_eq!(read(&message).text, expected);
        }
    }

    #[test]
    fn files_are_attachments() {
        const LACKS: &str = "(File not included. Change data exporting settings to download.)";
        for (message, kind, source, title) in [
            (json!({ "photo": LACKS }), MediaKind::Image, "Photo", "Photo"),
            (
                json!({ "file": LACKS, "media_type": "voice_message", "duration_seconds": 4 }),
                MediaKind::Audio,
                "Voice",
                "Voice message, 4 s",
            ),
            (
                json!({ "file": LACKS, "media_type": "audio_file", "performer": "A", "title": "B" }),
                MediaKind::Audio,
                "Audio",
                "A – B",
            ),
            (
                json!({ "file": "files/hive.pdf", "mime_type": "application/pdf" }),
                MediaKind::Document,
                "Document",
                "hive.pdf",
            ),
            (
                json!({ "file": LACKS, "file_name": "a.png", "mime_type": "image/png" }),
                MediaKind::Image,
                "Document",
                "a.png",
            ),
            (
                json!({ "file": LACKS, "media_type": "video_file" }),
                MediaKind::Video,
                "Video",
                "Video",
            ),
            (
                json!({ "file": "stickers/s.webp", "media_type": "sticker", "sticker_emoji": "🐝" }),
                MediaKind::Image,
                "Sticker",
                "Sticker",
            ),
        ] {
            let content = read(&message);
            let media = &content.attachments[0];
            assert_eq!(
                (media.content_type, media.source.as_str(), media.title.as_str()),
                (kind, source, title)
            );
            assert!(content.text.is_empty() && !content.is_empty() && media.url.is_empty());
            let emoji = if source == "Sticker" { "Sticker 🐝" } else { "" };
            assert_eq!(media.description, emoji);
        }
    }

    #[test]
    fn a_forwarded_message_keeps_its_mark() {
        for (from, expected) in
            [(json!("Beekeeper News"), "Beekeeper News"), (Value::Null, DELETED)]
        {
            let content = read(&json!({ "text": "Oxalic acid", "forwarded_from": from }));
            assert_eq!(content.extra["forwardedFrom"], expected);
        }
        assert!(read(&json!({ "text": "hi" })).extra.is_empty());
    }
}

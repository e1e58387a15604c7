//! Content of an exported message, in the words that the connector uses for the same message
//! when it receives it.

use galatea_core::{Content, Media, Quote, QuoteKind};
use serde_json::json;

use super::{
    super::{
        media::{kind, sticker},
        text::to_markdown,
    },
    Author, ExportedMessage, ExportedName,
    file::Attachment,
};

/// The content; empty for a message with a preview of a link only.
pub(super) fn of(message: &ExportedMessage, channel: &ExportedName) -> Content {
    let said = &message.said;
    let forwarded = message.forwarded_message.as_ref();
    let readable = |text: &str| {
        to_markdown(text, &|sign, id| {
            let id = id.to_string();
            match sign {
                "#" => (id == channel.id).then(|| format!("#{}", channel.name)),
                "@" | "@!" => {
                    let person = message.mentions.iter().find(|person| person.id == id)?;
                    Some(format!("@{}", Author::shown(person)))
                }
                _ => None,
            }
        })
    };
    let both = || std::iter::once(said).chain(forwarded);
    let mut text = readable(&said.content);
    let lottie = both().flat_map(|said| &said.stickers).find(|sticker| sticker.is_lottie());
    if let Some(sticker) = lottie {
        let space = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{space}[sticker: {}]", sticker.name));
    } else if text.is_empty() && message.author.is_bot {
        // Other applications often write in embeds only. Embeds of people are previews of their links.
        let lines = said.embeds.iter().flat_map(|embed| [&embed.title, &embed.description]);
        let lines: Vec<&str> = lines.flatten().map(String::as_str).collect();
        text = lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    }
    let files = both().flat_map(|said| &said.attachments).map(file);
    let images = both().flat_map(|said| &said.stickers).filter(|sticker| !sticker.is_lottie());
    let images = images.map(|one| sticker(&one.id, &one.name, one.format == "Gif"));
    let mut content =
        Content { text, attachments: files.chain(images).collect(), ..Content::default() };
    if let Some(forwarded) = forwarded {
        content.extra.insert("forwarded".into(), json!(true));
        let quote = Quote::new(QuoteKind::Forward, None, readable(&forwarded.content));
        content.quotes.extend((!quote.is_empty()).then_some(quote));
    }
    content
}

fn file(attachment: &Attachment) -> Media {
    let mime = mime(&attachment.file_name);
    // An export with its files has their paths, which say nothing on this machine.
    let is_address = attachment.url.starts_with("https://");
    Media {
        id: attachment.id.clone(),
        url: if is_address { attachment.url.clone() } else { String::new() },
        title: attachment.file_name.clone(),
        content_type: kind(mime),
        mime: mime.map(str::to_owned),
        size: attachment.file_size_bytes,
        // Discord's apps give voice messages this name.
        source: if attachment.file_name == "voice-message.ogg" { "Voice" } else { "Attachment" }
            .to_owned(),
        ..Media::default()
    }
}

/// The type of a file, which an export does not name.
fn mime(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "mov" => "video/quicktime",
        "mp3" => "audio/mpeg",
        "ogg" => "audio/ogg",
        "wav" => "audio/wav",
        "m4a" => "audio/mp4",
        "flac" => "audio/flac",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::MediaKind;
    use serde::Deserialize;
    use serde_json::Value;

    fn read(more: Value) -> Content {
        let mut message =
            json!({ "id": "9", "content": "", "author": { "id": "1", "name": "ann" } });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let channel = ExportedName { id: "5".into(), name: "general".into(), kind: String::new() };
        of(&ExportedMessage::deserialize(message).unwrap(), &channel)
    }

    #[test]
    fn files_and_stickers_are_attachments() {
        let content = read(json!({
            "attachments": [
                { "id": "1", "url": "https://cdn.discordapp.com/x.png", "fileName": "hive.PNG", "fileSizeBytes": 123 },
                { "id": "2", "url": "general_Files/voice-message.ogg", "fileName": "voice-message.ogg", "fileSizeBytes": 5 },
            ],
            "stickers": [{ "id": "3", "name": "Bee", "format": "Png", "sourceUrl": "x" }],
        }));
        let found: Vec<_> = content
            .attachments
            .iter()
            .map(|one| {
                (one.content_type, one.source.as_str(), one.title.as_str(), one.url.as_str())
            })
            .collect();
        let bee = "https://media.discordapp.net/stickers/3.png";
        assert_eq!(
            found,
            [
                (MediaKind::Image, "Attachment", "hive.PNG", "https://cdn.discordapp.com/x.png"),
                (MediaKind::Audio, "Voice", "voice-message.ogg", ""),
                (MediaKind::Image, "Sticker", "Bee", bee),
            ]
        );
        let wave = json!({ "stickers": [{ "id": "3", "name": "Wave", "format": "Lottie" }] });
        assert_eq!(read(wave), Content::text("[sticker: Wave]"));
    }

    #[test]
    fn embeds_are_what_applications_say_and_previews_of_people() {
        let mut message = json!({ "embeds": [{ "title": "T", "description": "papaya" }, { "title": "", "description": null }] });
        assert!(read(message.clone()).is_empty());
        message["author"] = json!({ "id": "2", "name": "bot", "isBot": true });
        assert_eq!(read(message).text, "T\npapaya");
    }

    #[test]
    fn marks_become_names() {
        let content = read(json!({
            "content": "use <:bee:123> <@7> in <#5>, not <#6>",
            "mentions": [{ "id": "7", "name": "bob_d", "nickname": "Bob" }],
        }));
        assert_eq!(content.text, "use :bee: @Bob in #general, not #unknown-channel");
    }

    #[test]
    fn a_forwarded_message_is_a_quote() {
        let content = read(json!({
            "forwardedMessage": { "content": "Oxalic acid", "attachments": [{ "id": "1", "url": "", "fileName": "a.txt" }] },
        }));
        assert!(content.text.is_empty() && content.extra["forwarded"] == true);
        assert_eq!(content.quotes[0].text, "Oxalic acid");
        assert_eq!((content.quotes[0].kind, content.attachments.len()), (QuoteKind::Forward, 1));
    }
}

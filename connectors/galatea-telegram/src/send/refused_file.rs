//! Replacement of a file that Telegram refuses: the file as a document, or a sentence with
//! its description. The person who asked for it reads something in any case.

use serde_json::{Value, json};

use crate::{
    encode::{BotCall, Method},
    error::Refusal,
};

/// Refusals of a file's form; as a document Telegram sends it as it is.
const FORM: [&str; 5] = [
    "PHOTO_INVALID_DIMENSIONS",
    "PHOTO_EXT_INVALID",
    "PHOTO_SAVE_FILE_INVALID",
    "IMAGE_PROCESS_FAILED",
    "VOICE_MESSAGES_FORBIDDEN",
];
/// Refusals of any such file in the chat: `not enough rights to send photos to the chat`.
const CHAT: [&str; 3] = ["not enough rights to send", "VOICE_MESSAGES_FORBIDDEN", "CHAT_SEND_"];
/// Most characters of a description: a message has room for 4,096, and a caption takes 1,024 of it.
const LONGEST: usize = 2_500;

/// The call that replaces one whose file was refused. None for other refusals, and for files that
/// are not uploaded: their addresses cannot be sent in another form. Pure.
pub(super) fn replacement(part: &BotCall, refusal: &Refusal) -> Option<BotCall> {
    if part.files.is_empty() {
        return None;
    }
    let is = |words: &[&str]| words.iter().any(|words| refusal.says(words));
    let alone = !matches!(part.method, Method::SendDocument | Method::SendMediaGroup);
    if alone && is(&FORM) {
        return Some(as_document(part));
    }
    (is(&CHAT) || is(&FORM)).then(|| as_words(part))
}

fn as_document(part: &BotCall) -> BotCall {
    let mut changed = part.clone();
    changed.method = Method::SendDocument;
    for file in &mut changed.files {
        "document".clone_into(&mut file.field);
    }
    // Telegram would make a voice message of a sound again.
    changed.params.insert("disable_content_type_detection".into(), json!(true));
    changed
}

fn as_words(part: &BotCall) -> BotCall {
    let kind = match part.method {
        Method::SendPhoto | Method::SendAnimation => "picture",
        Method::SendAudio | Method::SendVoice => "recording",
        Method::SendVideo => "video",
        _ => "file",
    };
    let mut changed = part.clone();
    changed.method = Method::SendMessage;
    let lines = changed.files.drain(..).map(|file| match file.description.trim() {
        "" => format!("I could not send the {kind} here."),
        about => {
            let about: String = about.chars().take(LONGEST).collect();
            format!("I could not send the {kind} here: {about}")
        }
    });
    let sentence = lines.collect::<Vec<_>>().join("\n");
    // An album has its caption with its first file.
    let album = changed.params.remove("media");
    let mut take = |name: &str| {
        let first = album.as_ref().and_then(|items| items.get(0)).and_then(|item| item.get(name));
        changed.params.remove(name).or_else(|| first.cloned())
    };
    let (caption, entities) = (take("caption"), take("caption_entities"));
    let text = match caption.as_ref().and_then(Value::as_str) {
        Some(caption) => format!("{caption}\n{sentence}"),
        None => sentence,
    };
    changed.params.remove("disable_content_type_detection");
    changed.params.insert("text".into(), json!(text));
    changed.params.insert("link_preview_options".into(), json!({"is_disabled": true}));
    if let Some(entities) = entities {
        changed.params.insert("entities".into(), entities);
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::encode_parts;
    use galatea_core::{Content, Media, MediaKind, Outgoing};

    fn refusal(words: &str) -> Refusal {
        Refusal { code: 400, description: words.into(), ..Refusal::default() }
    }

    fn part(kind: MediaKind, mime: &str, url: &str) -> BotCall {
        let media = Media {
            content_type: kind,
            mime: Some(mime.into()),
            url: url.into(),
            description: "a green loom".into(),
            ..Media::default()
        };
        let content = Content { attachments: vec![media], ..Content::text("**Here**") };
        encode_parts(&Outgoing::Message { content, reply_to: None }).unwrap().remove(0)
    }

    #[test]
    fn a_file_of_the_wrong_form_is_sent_as_a_document() {
        for (kind, mime, words) in [
            (MediaKind::Image, "image/png", "Bad Request: PHOTO_INVALID_DIMENSIONS"),
            (MediaKind::Audio, "audio/ogg", "Bad Request: VOICE_MESSAGES_FORBIDDEN"),
            (MediaKind::Audio, "audio/mpeg", "Bad Request: VOICE_MESSAGES_FORBIDDEN"),
        ] {
            let changed = replacement(&part(kind, mime, "data:,x"), &refusal(words)).unwrap();
            assert_eq!(changed.method, Method::SendDocument);
            assert_eq!(
                (changed.files[0].field.as_str(), &changed.params["caption"]),
                ("document", &json!("Here"))
            );
            // A document that is refused as well becomes a sentence, and that stays.
            let sentence = replacement(&changed, &refusal(words)).unwrap();
            assert_eq!(sentence.method, Method::SendMessage);
            assert_eq!(replacement(&sentence, &refusal(words)), None);
        }
    }

    #[test]
    fn a_chat_without_the_right_reads_what_the_file_shows() {
        let photo = part(MediaKind::Image, "image/png", "data:,x");
        let rights = refusal("Bad Request: not enough rights to send photos to the chat");
        let words = replacement(&photo, &rights).unwrap();
        assert_eq!((words.method, words.files.len()), (Method::SendMessage, 0));
        assert_eq!(words.params["text"], "Here\nI could not send the picture here: a green loom");
        assert_eq!(words.params["entities"][0]["type"], "bold");
        assert!(!words.params.contains_key("caption"));
        let sound = part(MediaKind::Audio, "audio/mpeg", "data:,x");
        let text = &replacement(&sound, &rights).unwrap().params["text"];
        assert!(text.as_str().unwrap().contains("the recording here: a green loom"), "{text}");
    }

    #[test]
    fn other_refusals_and_files_elsewhere_are_left_alone() {
        let photo = part(MediaKind::Image, "image/png", "data:,x");
        assert_eq!(replacement(&photo, &refusal("Bad Request: chat not found")), None);
        let linked = part(MediaKind::Image, "image/png", "https://x.y/z.png");
        assert_eq!(replacement(&linked, &refusal("PHOTO_INVALID_DIMENSIONS")), None);
    }
}

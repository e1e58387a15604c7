//! Turns pictures, sound and documents of what is answered into words, before the context is
//! composed. The words stay with the stored message, so later turns need not look again. What
//! cannot be seen is noted in the verdict and never costs the answer.

pub(crate) mod hear;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures::future::join_all;
use galatea_core::{
    Backoff, Content, Error, ErrorKind, FileReader, Media, MediaKind, MemoryId, Result, SentFile,
    StepOutcome, Store, Timestamp,
    model::{ChatMessage, ChatPart, ChatRole, Finish, TextRequest},
};
use std::time::Duration;

use super::{context::TurnContext, engine::Engine};
use crate::turn::prompt::unread::{self, Unread};

/// Largest picture shown to a model, in bytes: the strictest API takes 5 MB of base64 (Anthropic,
/// Vision, "Evaluate image size").
const MAX_PICTURE: usize = 3_750_000;
/// Largest text file read where no plugin reads documents, in bytes.
const MAX_FILE: usize = 256 * 1024;
/// Kept length of a file or a description, in characters: a few pages.
const MAX_WORDS: usize = 8_000;
/// Attachments looked at in one turn; a chat's album has at most ten (Bot API, sendMediaGroup).
const MAX_DESCRIBED: usize = 10;
/// Time for all of them together.
const PATIENCE: Duration = Duration::from_secs(45);

/// Attempts to download a file, as many as to have a sound transcribed.
const DOWNLOADS: usize = 3;
/// Pause after the first of them.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

const PROMPT: &str = "Describe this picture for someone who cannot see it, in at most five sentences. If there is writing in it, quote it.";

/// Describes pictures that have no description yet, and reads sound and documents.
pub(super) async fn see(engine: &Engine, context: &mut TurnContext) {
    let (store, clock) = (&*engine.store, &*engine.clock);
    let reader = engine.thinking.registry.file_reader.as_deref();
    // People ask about the files of replied-to and forwarded messages as often as about their own.
    let files = |content: &'_ Content| {
        content
            .attachments
            .iter()
            .chain(content.quotes.iter().flat_map(|quote| &quote.attachments))
            .cloned()
            .collect::<Vec<_>>()
    };
    let unseen: Vec<Media> = context
        .memories()
        .flat_map(|m| files(&m.content))
        .filter(|m| wanted(context, m))
        .take(MAX_DESCRIBED)
        .collect();
    if unseen.is_empty() {
        return;
    }
    // A little sooner, so that a model that does not answer is found out.
    let deadline = clock.now().plus(PATIENCE - PATIENCE / 20);
    let outcomes = join_all(unseen.iter().map(async |media| {
        let seen = tokio::time::timeout(PATIENCE, describe(context, media, reader, deadline)).await;
        seen.unwrap_or_else(|_| {
            Err(Error::new(ErrorKind::Timeout, "it took too long")
                .with("seconds", PATIENCE.as_secs()))
        })
    }))
    .await;
    let mut described = Vec::new();
    // Notes of this turn only, which are not stored.
    let mut notes = Vec::new();
    for (media, seen) in unseen.into_iter().zip(outcomes) {
        match seen {
            Ok(words) => described.push((media, words)),
            Err(error) => {
                if let Some(note) = Unread::of(&media, &error) {
                    let kept = if note.lasts { &mut described } else { &mut notes };
                    kept.push((media.clone(), Description::Unavailable(note.words)));
                }
                tracing::info!(turn = %context.turn, kind = ?media.content_type, error = %error.report(), "failed to read an attachment; the turn continues without its content");
                context.verdict.step(
                    "attachment",
                    StepOutcome::Note,
                    format!("an attachment ({:?}) was not looked at: {error}", media.content_type),
                );
            }
        }
    }
    for memory in context.memories_mut() {
        if fill(&mut memory.content, &described)
            && let Err(error) = keep(store, memory.id, &described).await
        {
            tracing::warn!(memory = %memory.id, error = %error.report(), "failed to store the description of an attachment; only this turn knows it");
        }
        fill(&mut memory.content, &notes);
    }
}

/// The result of reading an attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Description {
    /// Its description.
    Text(String),
    /// Why that is not known.
    Unavailable(String),
}

/// Stores the words with the message as it reads now: looking takes seconds, in which it may have
/// been edited or deleted.
async fn keep(store: &dyn Store, id: MemoryId, described: &[(Media, Description)]) -> Result<()> {
    let Some(mut memory) = store.memory(id).await? else { return Ok(()) };
    if fill(&mut memory.content, described) {
        store.update_content(memory.agent_id, id, &memory.content).await?;
    }
    Ok(())
}

/// Writes the words to the attachments they are of; true when there was one.
fn fill(content: &mut Content, described: &[(Media, Description)]) -> bool {
    let mut filled = false;
    for own in content
        .attachments
        .iter_mut()
        .chain(content.quotes.iter_mut().flat_map(|quote| &mut quote.attachments))
    {
        let Some((_, words)) =
            described.iter().find(|(media, _)| media.id == own.id && media.url == own.url)
        else {
            continue;
        };
        let (place, words) = match words {
            Description::Text(words) if own.content_type != MediaKind::Image => {
                (&mut own.text, words)
            }
            Description::Text(words) | Description::Unavailable(words) => {
                (&mut own.description, words)
            }
        };
        words.clone_into(place);
        filled = true;
    }
    filled
}

fn wanted(context: &TurnContext, media: &Media) -> bool {
    match media.content_type {
        MediaKind::Image => media.description.is_empty() && context.models.vision.is_some(),
        // A sticker is what its emoji says.
        MediaKind::Document => {
            media.text.is_empty() && media.source != "Sticker" && unread::reason(media).is_none()
        }
        MediaKind::Audio => {
            let models = &context.models.media;
            models.transcription.is_some()
                && media.text.is_empty()
                && unread::reason(media).is_none()
        }
        _ => false,
    }
}

fn is_text(media: &Media) -> bool {
    const ENDINGS: [&str; 6] = ["txt", "md", "csv", "json", "log", "toml"];
    let named = media
        .title
        .rsplit_once('.')
        .is_some_and(|(_, ending)| ENDINGS.iter().any(|e| ending.eq_ignore_ascii_case(e)));
    media
        .mime
        .as_deref()
        .map_or(named, |mime| mime.starts_with("text/") || mime == "application/json")
}

async fn describe(
    context: &TurnContext,
    media: &Media,
    reader: Option<&dyn FileReader>,
    deadline: Timestamp,
) -> Result<Description> {
    let file = SentFile { name: &media.title, media_type: media.mime.as_deref() };
    let limit = match media.content_type {
        MediaKind::Image => MAX_PICTURE,
        MediaKind::Audio => hear::MAX_SOUND,
        _ => match reader {
            Some(reader) => match reader.refuses(file) {
                Some(error) => return Err(error),
                None => reader.largest(),
            },
            None if is_text(media) => MAX_FILE,
            None => return Err(Error::invalid("documents of this kind are not read here")),
        },
    };
    if media.size.is_some_and(|size| size > limit as u64) {
        return Err(Error::new(ErrorKind::TooLong, "it is too large").with("limit", limit));
    }
    let bytes = fetch(context, media, limit).await?;
    let words = match media.content_type {
        MediaKind::Image => describe_picture(context, &bytes, deadline).await?,
        MediaKind::Audio => hear::transcribe(&context.models.media, bytes, deadline).await?,
        _ => match reader {
            Some(reader) => reader.read(file, bytes, MAX_WORDS).await?,
            None => String::from_utf8(bytes)
                .map_err(|_| Error::invalid("the encoding of its text is not UTF-8"))?,
        },
    };
    Ok(Description::Text(cut(&words)))
}

/// Downloads a file. A fault of the platform or a cut connection is often over at once, and a person
/// sends a voice message only once.
async fn fetch(context: &TurnContext, media: &Media, limit: usize) -> Result<Vec<u8>> {
    let mut backoff = Backoff::new(FIRST_PAUSE, PATIENCE).with_jitter();
    for _ in 1..DOWNLOADS {
        match context.route.stack.fetch(context.info.room.id, media, limit).await {
            Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Timeout) => {
                tracing::debug!(turn = %context.turn, error = %error.report(), "failed to download an attachment; trying again");
            }
            outcome => return outcome,
        }
        tokio::time::sleep(backoff.next_pause()).await;
    }
    context.route.stack.fetch(context.info.room.id, media, limit).await
}

async fn describe_picture(
    context: &TurnContext,
    bytes: &[u8],
    deadline: Timestamp,
) -> Result<String> {
    let mime =
        picture(bytes).ok_or_else(|| Error::invalid("it is none of PNG, JPEG, GIF and WebP"))?;
    let Some(model) = &context.models.vision else {
        return Err(Error::invalid("no model sees pictures"));
    };
    let parts = vec![
        ChatPart::Text { text: PROMPT.to_owned() },
        ChatPart::Image { mime: mime.to_owned(), data: BASE64_STANDARD.encode(bytes) },
    ];
    let request = TextRequest {
        messages: vec![ChatMessage { role: ChatRole::User, parts, name: None }].into(),
        deadline: Some(deadline),
        ..TextRequest::default()
    };
    let answer = model.generate(&request, &|_| {}).await?;
    // Its text is an apology then, which describes nothing.
    if answer.finish == Finish::Filtered {
        return Err(Error::invalid("the model's filter withheld the description"));
    }
    match answer.text.trim() {
        "" => Err(Error::invalid("the model said nothing about it")),
        words => Ok(words.to_owned()),
    }
}

/// Kind of the bytes, by their signature: a file's name and a platform's claim may be wrong.
fn picture(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

fn cut(text: &str) -> String {
    text.char_indices()
        .nth(MAX_WORDS)
        .map_or_else(|| text.to_owned(), |(end, _)| format!("{} […]", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_recognised_by_their_first_bytes() {
        assert_eq!(picture(b"\x89PNG\r\n\x1a\n"), Some("image/png"));
        assert_eq!(picture(b"RIFF\0\0\0\0WEBPVP8 "), Some("image/webp"));
        assert_eq!(picture(b"RIFF\0\0\0\0WAVE"), None);
        assert_eq!(picture(b"<svg onload=x>"), None);
        assert_eq!(picture(b""), None);
    }

    #[test]
    fn words_go_to_their_own_attachment_only() {
        let media = |id: &str, url: &str| Media {
            id: id.into(),
            url: url.into(),
            content_type: MediaKind::Image,
            ..Media::default()
        };
        let mut content = Content {
            attachments: vec![media("1", "x:a"), media("1", "x:b")],
            ..Content::text("edited meanwhile")
        };
        assert!(!fill(&mut content, &[(media("2", "x:a"), Description::Text("other".into()))]));
        assert!(fill(&mut content, &[(media("1", "x:b"), Description::Text("a bicycle".into()))]));
        assert_eq!(
            (
                content.attachments[0].description.as_str(),
                content.attachments[1].description.as_str()
            ),
            ("", "a bicycle")
        );
        assert_eq!(content.text, "edited meanwhile");
    }

    #[test]
    fn what_was_heard_is_its_text_and_what_was_not_is_said_of_it() {
        let voice = Media { content_type: MediaKind::Audio, ..Media::default() };
        let of = |words| {
            let mut content = Content { attachments: vec![voice.clone()], ..Content::default() };
            assert!(fill(&mut content, &[(voice.clone(), words)]));
            content.attachments.remove(0)
        };
        assert_eq!(of(Description::Text("hello".into())).text, "hello");
        let missed = of(Description::Unavailable("not understood: it is too large".into()));
        assert!(unread::reason(&missed).is_some() && missed.text.is_empty());
    }

    #[test]
    fn text_files_are_recognised_by_type_or_name() {
        let file = |mime: Option<&str>, title: &str| Media {
            mime: mime.map(str::to_owned),
            title: title.into(),
            ..Media::default()
        };
        for (media, text) in [
            (file(Some("text/plain"), "a.bin"), true),
            (file(Some("application/pdf"), "a.txt"), false),
            (file(None, "notes.MD"), true),
            (file(None, "md"), false),
        ] {
            assert_eq!(is_text(&media), text, "{media:?}");
        }
    }

    #[test]
    fn long_files_are_cut_between_characters() {
        assert_eq!(cut("é"), "é");
        assert_eq!(cut(&"é".repeat(MAX_WORDS + 1)), format!("{} […]", "é".repeat(MAX_WORDS)));
    }
}

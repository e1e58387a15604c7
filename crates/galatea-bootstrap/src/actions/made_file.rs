//! A file that a model makes, as a message of the conversation.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use galatea_core::{
    Content, Media, MediaKind, Result, Turn,
    model::{MediaFile, MediaModel, MediaTask},
};
use std::time::Duration;

/// Largest file, in bytes. It lies in the queue of answers until it is sent, and Telegram takes no
/// larger photo (Bot API, sendPhoto: 10 MB).
const LARGEST: usize = 10_000_000;

/// Presentation of the file in the message.
pub(super) struct ShownFile<'a> {
    pub(super) kind: MediaKind,
    /// The file's name without its ending.
    pub(super) name: &'static str,
    pub(super) description: &'a str,
}

/// Lets a model make a file, for at most `time`. `None` if the file is too large to be sent.
///
/// # Errors
/// Those of the model.
pub(super) async fn make<T: MediaTask<Output = MediaFile>>(
    turn: &Turn<'_>,
    model: &dyn MediaModel<T>,
    request: &T::Request,
    time: Duration,
    shown: ShownFile<'_>,
) -> Result<Option<Content>> {
    let made = model.run(request, Some(turn.now().plus(time))).await?;
    Ok(message(made.output, shown))
}

/// The file is part of the message until it is sent, so that every process can send it, and a crash
/// neither loses it nor leaves it behind.
fn message(file: MediaFile, shown: ShownFile<'_>) -> Option<Content> {
    let MediaFile { bytes, mime, ending } = file;
    if bytes.len() > LARGEST {
        return None;
    }
    let media = Media {
        id: "made".to_owned(),
        url: format!("data:{mime};base64,{}", BASE64_STANDARD.encode(&bytes)),
        title: format!("{}.{ending}", shown.name),
        content_type: shown.kind,
        mime: Some(mime.to_owned()),
        size: u64::try_from(bytes.len()).ok(),
        description: shown.description.to_owned(),
        ..Media::default()
    };
    Some(Content { attachments: vec![media], ..Content::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_file_is_sent_and_a_larger_one_is_not() {
        let message = |size| {
            let file = MediaFile { bytes: vec![0; size], mime: "image/png", ending: "png" };
            let shown =
                ShownFile { kind: MediaKind::Image, name: "picture", description: "a garden" };
            message(file, shown)
        };
        let media = message(LARGEST).unwrap().attachments.remove(0);
        assert_eq!((media.title.as_str(), media.description.as_str()), ("picture.png", "a garden"));
        assert_eq!(media.size, Some(10_000_000));
        assert_eq!(message(LARGEST + 1), None);
    }
}

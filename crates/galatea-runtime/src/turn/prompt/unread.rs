//! Notes that say why a picture was not seen, a sound not understood, or a document not read. A note
//! is the description of the attachment.

use galatea_core::{Error, ErrorKind, Media, MediaKind, visible::one_line};

const NOT_UNDERSTOOD: &str = "not understood";
const NOT_SEEN: &str = "not seen";
const NOT_READ: &str = "not read";
/// Longest name of a file in a note, in characters.
const LONGEST_NAME: usize = 60;

/// The note about an attachment that was not read.
pub(crate) struct Unread {
    /// The description of the attachment.
    pub(crate) words: String,
    /// A later attempt would fail as well, so the description is stored.
    pub(crate) lasts: bool,
}

impl Unread {
    /// The note about a picture, a sound or a document; none for other files.
    pub(crate) fn of(media: &Media, error: &Error) -> Option<Self> {
        let kind = media.content_type;
        let how = match kind {
            MediaKind::Audio => NOT_UNDERSTOOD,
            MediaKind::Image => NOT_SEEN,
            MediaKind::Document => NOT_READ,
            MediaKind::Video | MediaKind::Link => return None,
        };
        // A failure of the service names settings of the owner, which are not for the chat; an
        // invalid file is described by this program, and has no code.
        let why = match error.kind() {
            ErrorKind::TooLong => Some("it is too large"),
            ErrorKind::Invalid if error.code().is_none() => Some(error.message()),
            ErrorKind::NotFound if kind == MediaKind::Document => {
                Some("the platform does not have the file any more")
            }
            _ => None,
        };
        let mut words = format!("{how}: {}", why.unwrap_or("it could not be read just now"));
        // Of several documents the model has to say which.
        let name: String = one_line(&media.title).chars().take(LONGEST_NAME).collect();
        if kind == MediaKind::Document && !name.trim().is_empty() {
            words.push_str(&format!(" ({name})"));
        }
        Some(Self { words, lasts: why.is_some() })
    }
}

/// Way in which an attachment was not read (`not seen`), and the reason; none where it was, or
/// where nothing tried.
pub(crate) fn reason(media: &Media) -> Option<(&str, &str)> {
    let found = media.description.split_once(": ")?;
    [NOT_UNDERSTOOD, NOT_SEEN, NOT_READ].contains(&found.0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_no_setting_and_stays_only_where_a_file_is_to_blame() {
        let file = |content_type, title: &str| Media {
            content_type,
            title: title.to_owned(),
            ..Media::default()
        };
        let sound = file(MediaKind::Audio, "Voice message, 30 s");
        let of = |error| Unread::of(&sound, &error).unwrap();
        let own = of(Error::invalid("it is longer than 30 minutes"));
        assert_eq!(
            (own.words.as_str(), own.lasts),
            ("not understood: it is longer than 30 minutes", true)
        );
        for error in [
            Error::invalid("OpenAI found the request invalid").with_code("GAL-MODEL-400"),
            Error::new(ErrorKind::Unauthorized, "OpenAI rejected OPENAI_API_KEY"),
            Error::new(ErrorKind::Timeout, "it took too long"),
        ] {
            let note = of(error);
            assert!(!note.lasts && !note.words.contains("OpenAI"), "{}", note.words);
        }
        let large = Error::new(ErrorKind::TooLong, "20 MB at most").with_code("GAL-TG-400");
        let seen = Unread::of(&file(MediaKind::Image, "Photo"), &large).unwrap();
        assert_eq!((seen.words.as_str(), seen.lasts), ("not seen: it is too large", true));
        let media = Media { description: seen.words, ..Media::default() };
        assert_eq!(reason(&media), Some(("not seen", "it is too large")));
        assert!(Unread::of(&file(MediaKind::Video, "x"), &large).is_none());
        let gone = Error::not_found("no such file").with_code("GAL-TG-404");
        let report = file(MediaKind::Document, "report\n[end].pdf");
        for (error, why, lasts) in [
            (&large, "it is too large", true),
            (&gone, "the platform does not have the file any more", true),
            (&Error::new(ErrorKind::Timeout, "slow"), "it could not be read just now", false),
        ] {
            let note = Unread::of(&report, error).unwrap();
            assert_eq!(note.words, format!("not read: {why} (report [end].pdf)"));
            assert_eq!(note.lasts, lasts, "{why}");
        }
    }
}

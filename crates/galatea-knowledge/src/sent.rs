//! Reads documents that people send in a chat, in the child process that reads documents.

use async_trait::async_trait;
use galatea_core::{Error, ErrorKind, FileReader, Result, SentFile};

use crate::{
    child::Parser,
    format::{DetectedFormat, Format, detect},
    pieces::Pieces,
};

/// Reads documents that people send.
pub struct SentFiles {
    parser: Parser,
}

impl SentFiles {
    /// A reader that shares the processes of a library's parser.
    pub fn new(parser: Parser) -> Self {
        Self { parser }
    }
}

#[async_trait]
impl FileReader for SentFiles {
    fn largest(&self) -> usize {
        self.parser.limits().bytes
    }

    fn refuses(&self, file: SentFile<'_>) -> Option<Error> {
        refused(file).map(Error::invalid)
    }

    async fn read(&self, file: SentFile<'_>, bytes: Vec<u8>, most: usize) -> Result<String> {
        let format =
            format(file, &bytes).map_err(|what| Error::invalid(format!("it is {what}")))?;
        match self.parser.parse(format, bytes).await {
            Ok(pieces) => Ok(words(pieces, most)),
            Err(error) => Err(of_file(error)),
        }
    }
}

/// The error without what is meant for the owner of a library: the code, the fix and the cause.
fn of_file(error: Error) -> Error {
    match error.kind() {
        kind @ (ErrorKind::Invalid | ErrorKind::TooLong) => {
            Error::new(kind, error.message().to_owned())
        }
        _ => error,
    }
}

/// Endings of files that are no documents, with what they are.
const REFUSED: &[(&[&str], &str)] = &[
    (
        &["zip", "rar", "7z", "gz", "tgz", "bz2", "xz", "zst", "tar", "jar"],
        "it is an archive: the files in it have to be sent one by one",
    ),
    (
        &[
            "exe", "msi", "apk", "dmg", "iso", "img", "deb", "rpm", "dll", "so", "bin", "class",
            "wasm",
        ],
        "it is a program or a disk image",
    ),
    (&["xlsx", "xls", "ods", "numbers"], "it is a spreadsheet, of which only CSV is read"),
    (&["pptx", "ppt", "odp", "key"], "it is a presentation, which is not read: PDF is"),
    (
        &["doc", "rtf", "odt", "pages", "wps"],
        "it is a document of a kind that is not read: DOCX and PDF are",
    ),
    (&["mobi", "azw", "azw3", "djvu"], "it is a book of a kind that is not read: EPUB and PDF are"),
    (&["sqlite", "db", "mdb"], "it is a database"),
    (&["psd", "ai", "svg", "heic", "tif", "tiff", "dwg", "stl"], "it is a drawing or a picture"),
];

/// Sort of a file that is not read, by its ending or, without a known one, by its media type.
fn refused(file: SentFile<'_>) -> Option<&'static str> {
    if Format::of_name(file.name).is_some() {
        return None;
    }
    let ending = file.name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let named = REFUSED
        .iter()
        .find(|(endings, _)| ending.as_deref().is_some_and(|ending| endings.contains(&ending)));
    if let Some((_, what)) = named {
        return Some(what);
    }
    Some(match file.media_type?.split(';').next()?.trim() {
        "application/zip"
        | "application/x-rar-compressed"
        | "application/vnd.rar"
        | "application/x-7z-compressed"
        | "application/gzip"
        | "application/x-tar" => REFUSED[0].1,
        "application/vnd.android.package-archive"
        | "application/x-msdownload"
        | "application/x-msdos-program"
        | "application/x-executable" => REFUSED[1].1,
        "application/vnd.ms-excel"
        | "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => REFUSED[2].1,
        "application/vnd.ms-powerpoint"
        | "application/vnd.openxmlformats-officedocument.presentationml.presentation" => {
            REFUSED[3].1
        }
        "application/msword"
        | "application/rtf"
        | "text/rtf"
        | "application/vnd.oasis.opendocument.text" => REFUSED[4].1,
        _ => return None,
    })
}

/// Format of the content, whatever the sender named it: a wrong ending is no reason not to answer.
fn format(file: SentFile<'_>, bytes: &[u8]) -> std::result::Result<Format, &'static str> {
    let named = Format::of_name(file.name)
        .or_else(|| Format::of_media_type(file.media_type?.split(';').next()?.trim()))
        .filter(|format| !format.is_binary());
    Ok(match (detect(bytes)?, named) {
        (DetectedFormat::Binary(format), _) => format,
        (DetectedFormat::Html | DetectedFormat::Text, Some(named)) => named,
        (DetectedFormat::Html, None) => Format::Html,
        (DetectedFormat::Text, None) => Format::Text,
    })
}

/// The text in reading order: each heading once, and the pages as they begin.
fn words(pieces: Pieces, most: usize) -> String {
    let mut words = pieces.title.unwrap_or_default();
    let (mut heading, mut page) = (Vec::new(), None);
    // A character has at most four bytes; the caller counts characters.
    let is_full = |words: &String| words.len() > most.saturating_mul(4);
    for chunk in pieces.chunks {
        if is_full(&words) {
            break;
        }
        if chunk.page.is_some() && chunk.page != page {
            page = chunk.page;
            paragraph(&mut words, &format!("[page {}]", page.unwrap_or_default()));
        }
        if chunk.heading != heading {
            heading = chunk.heading;
            if let Some(last) = heading.last().filter(|last| !words.ends_with(last.as_str())) {
                paragraph(&mut words, last);
            }
        }
        paragraph(&mut words, &chunk.text);
    }
    if let Some(unread) = pieces.unread {
        let note = format!("[{} of its {} pages could not be read]", unread.unread, unread.pages);
        words.insert_str(0, &format!("{note}\n"));
    }
    words
}

fn paragraph(words: &mut String, text: &str) {
    if !words.is_empty() {
        words.push('\n');
    }
    words.push_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chunk::Chunk, document::UnreadPages};
    use galatea_testkit::documents;

    fn file(name: &str) -> SentFile<'_> {
        SentFile { name, media_type: None }
    }

    fn reader() -> SentFiles {
        SentFiles::new(Parser::new("/nonexistent".into()))
    }

    #[test]
    fn what_is_no_document_is_not_downloaded() {
        for (name, media_type, words) in [
            ("holiday.ZIP", None, Some("archive")),
            ("setup.exe", Some("application/octet-stream"), Some("program")),
            ("sheet", Some("application/vnd.ms-excel"), Some("spreadsheet")),
            ("budget.xlsx", None, Some("only CSV")),
            ("talk.pptx", None, Some("presentation")),
            ("letter.doc", Some("application/msword"), Some("DOCX")),
            ("letter.docx", Some("application/zip"), None),
            ("notes", None, None),
            ("data.csv", Some("application/vnd.ms-excel"), None),
            ("unknown.xyz", Some("application/octet-stream"), None),
        ] {
            let refused = reader().refuses(SentFile { name, media_type });
            let message = refused.as_ref().map(|error| error.message().to_owned());
            match words {
                Some(words) => assert!(message.unwrap().contains(words), "{name}"),
                None => assert_eq!(message, None, "{name}"),
            }
        }
    }

    #[test]
    fn the_content_decides_and_not_the_name() {
        let docx = documents::docx("<w:p><w:r><w:t>x</w:t></w:r></w:p>");
        for (name, bytes, expected) in [
            ("a.txt", b"%PDF-1.7\n".as_slice(), Format::Pdf),
            ("a.pdf", docx.as_slice(), Format::Docx),
            ("a.pdf", b"plain words", Format::Text),
            ("a.pdf", b"<!doctype html><p>gone", Format::Html),
            ("a.md", b"# Head", Format::Markdown),
            ("a.csv", b"a;b", Format::Csv),
            ("a", b"plain", Format::Text),
            ("a.rs", b"fn a() {}", Format::Code),
        ] {
            assert_eq!(format(file(name), bytes), Ok(expected), "{name}");
        }
        let typed = SentFile { name: "Document", media_type: Some("text/markdown; charset=utf-8") };
        assert_eq!(format(typed, b"# Head"), Ok(Format::Markdown));
        assert!(format(file("a.pdf"), b"\x89PNG\r\n").unwrap_err().contains("picture"));
        assert!(format(file("a.docx"), b"PK\x03\x04rest of it").unwrap_err().contains("archive"));
    }

    #[tokio::test]
    async fn small_text_in_any_encoding_is_read_and_a_refusal_is_of_the_file() {
        let (russian, ..) = encoding_rs::WINDOWS_1251.encode("Магазин открыт с девяти до шести.");
        let read = reader().read(file("часы.txt"), russian.into_owned(), 100).await;
        assert_eq!(read.unwrap(), "Магазин открыт с девяти до шести.");
        let error = reader().read(file("a.bin"), b"ab\0\x01\x02".to_vec(), 100).await.unwrap_err();
        assert_eq!((error.kind(), error.code(), error.fix()), (ErrorKind::Invalid, None, None));
        assert!(error.message().contains("binary"), "{error}");
        let error = reader().read(file("a.txt"), Vec::new(), 100).await.unwrap_err();
        assert!(error.message().contains("empty"), "{error}");
        // A child that cannot be started is no fault of the file.
        let error = reader().read(file("a.pdf"), b"%PDF-1.7\n".to_vec(), 9).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }

    #[test]
    fn headings_and_pages_stand_once_and_the_text_is_bounded() {
        let chunk = |heading: &str, page, text: &str| {
            Chunk::new(vec!["House".into(), heading.into()], Some(page), text.into())
        };
        let chunks = vec![chunk("Hall", 1, "a"), chunk("Hall", 1, "b"), chunk("Yard", 2, "c")];
        let pieces = Pieces {
            title: Some("The house".into()),
            chunks,
            unread: Some(UnreadPages { unread: 1, pages: 3 }),
        };
        assert_eq!(
            words(pieces.clone(), 1_000),
            "[1 of its 3 pages could not be read]\nThe house\n[page 1]\nHall\na\nb\n[page 2]\nYard\nc"
        );
        let long = Pieces { chunks: vec![chunk("x", 1, &"y".repeat(500)); 100], ..pieces };
        assert!(words(long, 100).len() < 2_000);
    }
}

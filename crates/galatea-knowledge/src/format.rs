//! Format of a file, by its content and by its name.

use galatea_core::{Error, Result};
use std::{fmt, str::FromStr};

use crate::refusal::unreadable;

/// A format that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Plain text.
    Text,
    /// Markdown.
    Markdown,
    /// HTML.
    Html,
    /// Rows of cells.
    Csv,
    /// Source code and configuration.
    Code,
    /// Word (Office Open XML).
    Docx,
    /// An electronic book.
    Epub,
    /// PDF.
    Pdf,
}

/// Endings by format. The first of each names the format in messages.
const ENDINGS: &[(Format, &[&str])] = &[
    (Format::Text, &["txt", "text", "rst", "adoc", "asciidoc", "org", "log", "tex", "srt", "vtt"]),
    (Format::Markdown, &["md", "markdown", "mdx", "mkd"]),
    (Format::Html, &["html", "htm", "xhtml"]),
    (Format::Csv, &["csv", "tsv"]),
    (
        Format::Code,
        &[
            "rs", "py", "js", "ts", "tsx", "jsx", "go", "java", "kt", "c", "h", "cc", "cpp", "hpp",
            "cs", "rb", "php", "swift", "scala", "sh", "bash", "sql", "lua", "pl", "r", "jl", "hs",
            "ex", "exs", "clj", "zig", "css", "scss", "vue", "svelte", "toml", "yaml", "yml",
            "json", "jsonc", "xml", "ini", "cfg", "conf", "proto", "graphql",
        ],
    ),
    (Format::Docx, &["docx"]),
    (Format::Epub, &["epub"]),
    (Format::Pdf, &["pdf"]),
];

impl Format {
    /// The format that a file's name states. `None` for an unknown ending.
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        let ending = ending.to_ascii_lowercase();
        ENDINGS
            .iter()
            .find(|(_, endings)| endings.contains(&ending.as_str()))
            .map(|(format, _)| *format)
    }

    /// The format of a file, by its first bytes and its name.
    ///
    /// # Errors
    /// `Invalid` when the content is of another format than the name states, or of none that can be
    /// read, with the fix.
    pub fn detect(name: &str, bytes: &[u8]) -> Result<Self> {
        let named = Self::of_name(name);
        let found = detect(bytes).map_err(|what| {
            unreadable(format!("{} is {what}", shown(name)))
                .with_fix("export it as PDF, DOCX, HTML or text, or leave it out")
        })?;
        match (found, named) {
            (DetectedFormat::Binary(format), Some(named)) if named != format => {
                Err(misnamed(name, format))
            }
            (DetectedFormat::Binary(format), _) => Ok(format),
            (DetectedFormat::Text, Some(binary @ (Self::Pdf | Self::Docx | Self::Epub))) => {
                Err(not_what_it_says(name, binary))
            }
            (DetectedFormat::Html, None | Some(Self::Html | Self::Text)) => Ok(Self::Html),
            (DetectedFormat::Html, Some(binary @ (Self::Pdf | Self::Docx | Self::Epub))) => {
                Err(not_what_it_says(name, binary).with(
                    "found",
                    "a web page, such as a server's error or login page in place of the file",
                ))
            }
            (DetectedFormat::Html | DetectedFormat::Text, Some(named)) => Ok(named),
            (DetectedFormat::Text, None) => Ok(Self::Text),
        }
    }

    /// True if its files are told by their first bytes.
    pub(crate) fn is_binary(self) -> bool {
        matches!(self, Self::Docx | Self::Epub | Self::Pdf)
    }

    /// True if its parser runs in a child process: formats with markup or binary structure. Text,
    /// code and CSV are read in one pass of constant depth.
    pub fn needs_child(self) -> bool {
        !matches!(self, Self::Text | Self::Code | Self::Csv)
    }

    /// The name in messages and arguments.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Csv => "csv",
            Self::Code => "code",
            Self::Docx => "docx",
            Self::Epub => "epub",
            Self::Pdf => "pdf",
        }
    }

    /// The format of a media type, as servers state it.
    pub fn of_media_type(media_type: &str) -> Option<Self> {
        Some(match media_type {
            "text/html" | "application/xhtml+xml" => Self::Html,
            "text/markdown" => Self::Markdown,
            "text/csv" => Self::Csv,
            "application/pdf" => Self::Pdf,
            "application/epub+zip" => Self::Epub,
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => Self::Docx,
            "text/plain" => Self::Text,
            _ => return None,
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        ENDINGS
            .iter()
            .map(|(format, _)| *format)
            .find(|format| format.as_str() == text)
            .ok_or_else(|| Error::invalid("unknown document format").with("format", text))
    }
}

/// Format by the first bytes.
pub(crate) enum DetectedFormat {
    Binary(Format),
    Html,
    Text,
}

/// Bytes at the beginning that are searched for marks. PDF readers accept a header anywhere in the
/// first KiB (ISO 32000-1, implementation note 13).
const LOOKED_AT: usize = 1024;

/// Format of a file, by its content alone.
///
/// # Errors
/// What it is instead of a document, as the end of a sentence.
pub(crate) fn detect(bytes: &[u8]) -> Result<DetectedFormat, &'static str> {
    let start = &bytes[..bytes.len().min(LOOKED_AT)];
    if contains(start, b"%PDF-") {
        return Ok(DetectedFormat::Binary(Format::Pdf));
    }
    if start.starts_with(b"PK\x03\x04") {
        // EPUB: the first entry is named `mimetype` and stored (OCF 3.3 §4.2).
        if start.get(30..38) == Some(b"mimetype") && contains(start, b"application/epub+zip") {
            return Ok(DetectedFormat::Binary(Format::Epub));
        }
        return if contains(bytes, b"word/document.xml") {
            Ok(DetectedFormat::Binary(Format::Docx))
        } else if contains(bytes, b"META-INF/container.xml") {
            Ok(DetectedFormat::Binary(Format::Epub))
        } else if contains(bytes, b"xl/workbook.xml") {
            Err("a spreadsheet, of which only CSV is read")
        } else if contains(bytes, b"ppt/presentation.xml") {
            Err("a presentation, which cannot be read")
        } else {
            Err("an archive and not a document: unpack it")
        };
    }
    for (mark, what) in [
        (b"\xd0\xcf\x11\xe0".as_slice(), "a document of Word 2003 or older"),
        (b"{\\rtf", "in Rich Text Format, which cannot be read"),
        (b"\x89PNG", "a picture"),
        (b"\xff\xd8\xff", "a picture"),
        (b"GIF8", "a picture"),
        (b"\x1f\x8b", "compressed: unpack it"),
        (b"7z\xbc\xaf", "an archive and not a document: unpack it"),
        (b"Rar!", "an archive and not a document: unpack it"),
        (b"\x7fELF", "a program"),
        (b"MZ\x90", "a program"),
        (b"SQLite format 3", "a database"),
    ] {
        if start.starts_with(mark) {
            return Err(what);
        }
    }
    let text = start.trim_ascii_start().to_ascii_lowercase();
    Ok(if text.starts_with(b"<!doctype html") || text.starts_with(b"<html") {
        DetectedFormat::Html
    } else {
        DetectedFormat::Text
    })
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

fn misnamed(name: &str, format: Format) -> Error {
    unreadable(format!("{} has the wrong ending: its content is {format}", shown(name)))
        .with_fix(format!("rename it to end in .{format}"))
}

fn not_what_it_says(name: &str, format: Format) -> Error {
    unreadable(format!("{} has the wrong ending: its content is not {format}", shown(name)))
        .with_fix("rename it to end in .txt if it is text; otherwise download or export it again")
}

fn shown(name: &str) -> String {
    galatea_core::visible::one_line(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_and_name_must_agree() {
        for (name, bytes, expected) in [
            ("a.pdf", b"%PDF-1.7\n".as_slice(), Format::Pdf),
            ("a", b"%PDF-1.7\n", Format::Pdf),
            ("a.MD", b"# Hi", Format::Markdown),
            ("a.html", b"hello", Format::Html),
            ("page", b"\n<!DOCTYPE html><p>x", Format::Html),
            ("a.csv", b"a,b", Format::Csv),
            ("a.rs", b"fn main() {}", Format::Code),
            ("README", b"hello", Format::Text),
            ("a.docx", b"PK\x03\x04......word/document.xml", Format::Docx),
        ] {
            assert_eq!(Format::detect(name, bytes).unwrap(), expected, "{name}");
        }
        for (name, bytes, message, fix) in [
            ("a.txt", b"%PDF-1.7".as_slice(), "its content is pdf", "end in .pdf"),
            ("a.pdf", b"hello", "its content is not pdf", ".txt"),
            ("a.pdf", b"<html>404", "its content is not pdf", "download"),
            ("a.docx", b"\xd0\xcf\x11\xe0..", "Word 2003", "export it"),
            ("a.zip", b"PK\x03\x04....", "unpack", "export it"),
        ] {
            let error = Format::detect(name, bytes).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
            assert!(error.fix().unwrap().contains(fix), "{error}");
            assert_eq!(error.code(), Some(crate::refusal::UNREADABLE));
        }
    }
}

//! Entry points of the fuzzer (`fuzz/`) into the parsers of documents. Compiled only with the
//! feature `fuzz`.

use galatea_core::ErrorKind;
use std::{
    io::{Cursor, Write},
    panic,
};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::{
    chunk::chunks,
    document::{Document, Limits},
    format::Format,
    parse::parse,
    pieces::Pieces,
    refusal::{TOO_LARGE, UNREADABLE},
    wire::{Receiver, send},
};

/// Plain text, in any encoding.
pub fn text(bytes: &[u8]) {
    document(Format::Text, bytes);
}

/// Markdown.
pub fn markdown(bytes: &[u8]) {
    document(Format::Markdown, bytes);
}

/// HTML.
pub fn html(bytes: &[u8]) {
    document(Format::Html, bytes);
}

/// Rows of cells.
pub fn csv(bytes: &[u8]) {
    document(Format::Csv, bytes);
}

/// Source code.
pub fn code(bytes: &[u8]) {
    document(Format::Code, bytes);
}

/// Word: the bytes as an archive, and as each of the parts that are read of one. The fuzzer does
/// not find the checksums of an archive by itself.
pub fn docx(bytes: &[u8]) {
    document(Format::Docx, bytes);
    let body: &[u8] = b"<w:document><w:p><w:t>x</w:t></w:p></w:document>";
    document(Format::Docx, &archive(&[("word/document.xml", bytes)]));
    document(Format::Docx, &archive(&[("word/document.xml", body), ("word/styles.xml", bytes)]));
    document(Format::Docx, &archive(&[("word/document.xml", body), ("docProps/core.xml", bytes)]));
}

/// A book: the bytes as an archive, and as each of the parts that are read of one.
pub fn epub(bytes: &[u8]) {
    document(Format::Epub, bytes);
    let container: &[u8] = br#"<container><rootfile full-path="a/b.opf"/></container>"#;
    let package: &[u8] = br#"<package><item id="c" href="c.html"/><itemref idref="c"/></package>"#;
    let (first, second, third) = ("META-INF/container.xml", "a/b.opf", "a/c.html");
    document(Format::Epub, &archive(&[(first, bytes), (second, package), (third, b"<p>x")]));
    document(Format::Epub, &archive(&[(first, container), (second, bytes), (third, b"<p>x")]));
    document(Format::Epub, &archive(&[(first, container), (second, package), (third, bytes)]));
}

/// PDF. Its library may panic at a damaged file: the process that parses dies of it, and its parent
/// reports the document as damaged. What would harm the parent as well, such as too much text, is
/// a finding.
pub fn pdf(bytes: &[u8]) {
    if let Ok(outcome) = panic::catch_unwind(|| parse(Format::Pdf, bytes, Limits::default())) {
        check(outcome);
    }
}

fn document(format: Format, bytes: &[u8]) {
    let _ = Format::detect("file", bytes);
    check(parse(format, bytes, Limits::default()));
}

/// Checks the limits of a document, that it reaches the parent as it is, and its pieces. An error
/// has a code and reaches the parent as well.
fn check(outcome: galatea_core::Result<Document>) {
    let limits = Limits::default();
    match outcome {
        Ok(document) => {
            let text: usize = document.blocks.iter().map(|block| block.text.len()).sum();
            assert!(text <= limits.text && document.blocks.len() <= limits.blocks);
            assert!(document.blocks.iter().all(|block| !block.text.trim().is_empty()));
            let (title, unread) = (document.title.clone(), document.unread);
            let chunks = match chunks(document, limits.pieces) {
                Ok(chunks) => chunks,
                Err(error) => return assert_eq!(error.code(), Some(TOO_LARGE), "{error:?}"),
            };
            assert!(!chunks.is_empty(), "a document without pieces");
            assert!(chunks.iter().all(|piece| !piece.text.trim().is_empty()), "{chunks:?}");
            let pieces = Pieces { title, chunks, unread };
            assert_eq!(received(Ok(pieces.clone())).ok().flatten(), Some(pieces));
        }
        Err(error) => {
            let code = if error.kind() == ErrorKind::TooLong { TOO_LARGE } else { UNREADABLE };
            assert_eq!(error.code(), Some(code), "{error:?}");
            let kind = error.kind();
            assert_eq!(received(Err(error)).err().map(|error| error.kind()), Some(kind));
        }
    }
}

/// Answers that reach the parent.
fn received(outcome: galatea_core::Result<Pieces>) -> galatea_core::Result<Option<Pieces>> {
    let (mut lines, mut receiver) = (Vec::new(), Receiver::new(Limits::default().pieces));
    assert!(send(outcome, &mut lines).is_ok());
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        if let Some(end) = receiver.take(line)? {
            return Ok(end);
        }
    }
    Ok(None)
}

/// An archive of these entries, not compressed. Empty if it cannot be written.
fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, bytes) in entries {
        if zip.start_file(*name, options).is_err() || zip.write_all(bytes).is_err() {
            return Vec::new();
        }
    }
    zip.finish().map(Cursor::into_inner).unwrap_or_default()
}

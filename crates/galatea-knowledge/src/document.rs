//! Content of a file, as blocks of text that know their heading and page.

use galatea_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::refusal::{too_large, unreadable};
use crate::format::Format;

/// A parsed document.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Document {
    /// The title that the document states; `None` if it states none.
    pub title: Option<String>,
    /// Its text, in reading order.
    pub blocks: Vec<DocumentBlock>,
    /// Part that cannot be read, if the rest can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<UnreadPages>,
}

/// Pages of a damaged document that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadPages {
    /// Number.
    pub unread: usize,
    /// Of how many.
    pub pages: usize,
}

impl UnreadPages {
    /// Notes for a person.
    pub(crate) fn error(self) -> Error {
        let Self { unread, pages } = self;
        unreadable(format!("{unread} of the {pages} pages are missing or damaged; the others were read"))
            .with_fix("copy or download the file again; if that does not help, open it and print it to a new PDF")
    }
}

/// A paragraph, list, table or piece of code.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DocumentBlock {
    /// The headings above it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heading: Vec<String>,
    /// The page it is on, from 1; `None` for formats without pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Kind.
    pub kind: BlockKind,
    /// Its text. A table has one row per line, without its header.
    pub text: String,
}

/// Kind of a block, which decides where it may be cut.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockKind {
    /// Sentences: may be cut between them.
    #[default]
    Prose,
    /// Lines of code: may be cut between lines.
    Code,
    /// Rows, one per line: may be cut between rows.
    Table {
        /// The header row. Pieces repeat it unless it is too long.
        header: String,
    },
}

/// Bounds of one document. What lies beyond is refused with a reason rather than cut off silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file.
    pub bytes: usize,
    /// Bytes of all text read from it.
    pub text: usize,
    /// Blocks.
    pub blocks: usize,
    /// Pages of a PDF.
    pub pages: usize,
    /// Entries of an archive (DOCX and EPUB are archives).
    pub entries: usize,
    /// Unpacked bytes of an archive, or of one stream of a PDF.
    pub unpacked: u64,
    /// Unpacked bytes for each packed byte of an archive entry. Deflate reaches 1,032 with a single
    /// repeated byte; text stays below 20.
    pub ratio: u64,
    /// Nesting of XML elements.
    pub depth: usize,
    /// Bytes of one row of a table.
    pub row: usize,
    /// Pieces. A text of 8 MiB has about 8,000.
    pub pieces: usize,
}

impl Default for Limits {
    /// A book of 1,500 pages has about 5 MiB of text. The bounds of archives follow LangBot's (1,024
    /// entries, ratio 100, 40 MiB).
    fn default() -> Self {
        Self {
            bytes: 20 << 20,
            text: 8 << 20,
            blocks: 50_000,
            pages: 2_000,
            entries: 2_048,
            unpacked: 48 << 20,
            ratio: 200,
            depth: 200,
            row: 64 << 10,
            pieces: 20_000,
        }
    }
}

/// Collects the blocks of a document within the limits, and keeps track of its headings.
#[derive(Debug)]
pub(crate) struct Writer {
    document: Document,
    limits: Limits,
    headings: Vec<(u8, String)>,
    page: Option<u32>,
    bytes: usize,
}

/// Longest heading kept, in characters. Longer ones are paragraphs that were marked as headings.
const LONGEST_HEADING: usize = 160;

impl Writer {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { document: Document::default(), limits, headings: Vec::new(), page: None, bytes: 0 }
    }

    /// The limits that the document is read within.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Sets the title, unless it has one.
    pub(crate) fn title(&mut self, title: &str) {
        let title = clean_line(title);
        if self.document.title.is_none() && !title.is_empty() {
            self.document.title = Some(title);
        }
    }

    /// A heading of this level, from 1. It ends all headings of this level and below.
    pub(crate) fn heading(&mut self, level: u8, text: &str) {
        let text = clean_line(text);
        if text.is_empty() {
            return;
        }
        self.headings.retain(|(known, _)| *known < level);
        self.headings.push((level, text));
    }

    /// The page that the next blocks are on.
    pub(crate) fn page(&mut self, page: u32) {
        self.page = Some(page);
    }

    /// Notes pages that cannot be read.
    pub(crate) fn unread(&mut self, unread: usize, pages: usize) {
        self.document.unread = (unread > 0).then_some(UnreadPages { unread, pages });
    }

    /// True if the document has no blocks yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.document.blocks.is_empty()
    }

    /// Adds a block, unless it is empty.
    ///
    /// # Errors
    /// `TooLong` beyond the limits of text and blocks.
    pub(crate) fn block(&mut self, kind: BlockKind, text: &str) -> Result<()> {
        let seen = galatea_core::visible::visible(text);
        let text = match kind {
            BlockKind::Prose => paragraph(&seen),
            BlockKind::Code | BlockKind::Table { .. } => seen.trim_matches('\n').to_owned(),
        };
        if text.trim().is_empty() {
            return Ok(());
        }
        let header = match &kind {
            BlockKind::Table { header } => header.len(),
            BlockKind::Prose | BlockKind::Code => 0,
        };
        self.bytes += header + text.len();
        if self.bytes > self.limits.text || self.document.blocks.len() >= self.limits.blocks {
            return Err(too_large("the document has more text than is read")
                .with("limit", format!("{} MiB", self.limits.text >> 20)));
        }
        self.document.blocks.push(DocumentBlock {
            heading: self.headings.iter().map(|(_, text)| text.clone()).collect(),
            page: self.page,
            kind,
            text,
        });
        Ok(())
    }

    /// The document.
    ///
    /// # Errors
    /// `Invalid` for a document without text.
    pub(crate) fn finish(mut self, format: Format) -> Result<Document> {
        if self.is_empty() {
            return Err(unreadable("the document has no text").with_fix(match format {
                Format::Pdf => {
                    "scanned pages are pictures: run text recognition (OCR) first, or remove the file"
                }
                Format::Html => {
                    "a page whose text is made by scripts has none: save it from a browser as PDF, or remove it"
                }
                Format::Docx | Format::Epub => {
                    "if its pages are pictures, add their text, or remove the file"
                }
                Format::Text | Format::Markdown | Format::Csv | Format::Code => {
                    "write some text below its headings, or remove the file"
                }
            }));
        }
        // A document that begins with its only top heading is named by it.
        if self.document.title.is_none() {
            let first = self.document.blocks[0].heading.first();
            let only = self.document.blocks.iter().all(|block| block.heading.first() == first);
            self.document.title = first.filter(|_| only).cloned();
        }
        Ok(self.document)
    }
}

/// A line, bounded.
fn clean_line(text: &str) -> String {
    let line = galatea_core::visible::one_line(text);
    match line.char_indices().nth(LONGEST_HEADING) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Lines of a paragraph with single spaces. A line break stays only between list items, which begin
/// with a mark.
fn paragraph(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if !out.is_empty() {
            out.push(if line.starts_with("- ") { '\n' } else { ' ' });
        }
        for (n, word) in line.split_whitespace().enumerate() {
            if n > 0 {
                out.push(' ');
            }
            out.push_str(word);
        }
    }
    out
}

/// Row of a table as a line of text.
pub(crate) fn row<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: Vec<String> = cells.into_iter().map(galatea_core::visible::one_line).collect();
    cells.join(" | ")
}

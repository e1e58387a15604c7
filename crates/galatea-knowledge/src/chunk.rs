//! Cuts blocks into pieces of 200 to 400 tokens, at the boundaries of the document itself.

use galatea_core::Result;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

use crate::{
    document::{BlockKind, Document, DocumentBlock},
    fit::{TOKEN, shorten, size, split_at_words},
    refusal::too_large,
    sentence::{is_ended, sentences},
};

/// Largest piece, headings included. Pieces of 200 to 400 tokens find best (Chroma, "Evaluating
/// chunking strategies").
const MOST: u64 = 400 * TOKEN;
/// A smaller piece continues under the next heading.
const LEAST: u64 = 120 * TOKEN;
/// Largest piece that a further heading enters as a line, with that line: its text must fit, too.
const MOST_LINES: u64 = 200 * TOKEN;
/// Largest path of headings. Longer ones are cut, so that three quarters of a piece are text.
const LONGEST_PATH: u64 = 100 * TOKEN;
/// Largest header that every piece of a table repeats. A longer one is a row like the others:
/// otherwise most of the text to store, embed and show would be header.
const LONGEST_HEADER: u64 = 150 * TOKEN;
/// Between the parts of a heading path.
pub(crate) const PATH: &str = " › ";

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Chunk {
    /// The headings above its text, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heading: Vec<String>,
    /// The page its text is on. The last sentence may end on the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Its text.
    pub text: String,
    /// SHA-256 of heading and text in hexadecimal. Equal pieces have equal hashes. The child does
    /// not send it: a document that has taken it over could pass for another.
    #[serde(skip)]
    pub hash: String,
}

impl Chunk {
    /// A piece with its hash.
    pub(crate) fn new(heading: Vec<String>, page: Option<u32>, text: String) -> Self {
        let hash = hash(&[heading.join(PATH).as_bytes(), text.as_bytes()]);
        Self { heading, page, text, hash }
    }
}

/// SHA-256 in hexadecimal.
pub fn hash(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
        digest.update([0]);
    }
    digest.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Cuts a document into pieces, `most` at most. Time and memory are linear in its text. Pure.
///
/// # Errors
/// `TooLong` for a document with more pieces, as soon as that is known.
pub(crate) fn chunks(document: Document, most: usize) -> Result<Vec<Chunk>> {
    let mut cutter = Cutter { most, ..Cutter::default() };
    for block in document.blocks {
        cutter.block(block)?;
    }
    cutter.flush()?;
    Ok(cutter.done)
}

#[derive(Default)]
struct Cutter {
    done: Vec<Chunk>,
    most: usize,
    heading: Vec<String>,
    page: Option<u32>,
    text: String,
    /// The text has more than lines of headings.
    has_body: bool,
    size: u64,
    last: Vec<String>,
}

/// Position of a block's text, and the length that fits into one piece there.
struct Site {
    heading: Vec<String>,
    page: Option<u32>,
    room: u64,
}

impl Cutter {
    fn block(&mut self, block: DocumentBlock) -> Result<()> {
        let heading = within_path(block.heading);
        let room = MOST.saturating_sub(size(&heading.join(PATH)));
        let site = Site { heading, page: block.page, room };
        let mut text = block.text.as_str();
        // A piece with text of two pages could be cited with one of them only.
        if self.page != site.page && !self.text.is_empty() {
            if block.kind == BlockKind::Prose && site.heading == self.last {
                text = self.end_sentence(text, room);
            }
            self.restart(&site)?;
        }
        if site.heading != self.last {
            self.go_under(&site.heading)?;
        }
        match &block.kind {
            _ if text.is_empty() => Ok(()),
            BlockKind::Prose => self.prose(text, &site),
            BlockKind::Code => self.code(text, &site),
            BlockKind::Table { header } => self.rows(header, text, &site),
        }
    }

    /// Ends a sentence that the end of a page interrupts, so that a piece has it whole. Returns what
    /// follows it.
    fn end_sentence<'a>(&mut self, text: &'a str, room: u64) -> &'a str {
        let goes_on = text.starts_with(|c: char| c.is_alphabetic() && !c.is_uppercase());
        let line = text.lines().next().unwrap_or_default();
        let end = sentences(line).next().map_or(0, str::len);
        let (rest_of_sentence, more) = text.split_at(end);
        let fits = self.size + size(" ") + size(rest_of_sentence) <= room;
        if is_ended(&self.text) || !goes_on || !fits {
            return text;
        }
        // A word that is divided at the end of the page.
        let divided = self.text.ends_with('-') && text.starts_with(char::is_lowercase);
        if divided {
            self.text.pop();
        }
        self.push(rest_of_sentence.trim_end(), if divided { "" } else { " " });
        more.trim_start()
    }

    /// A new heading. Small pieces go on, with the heading as a line of their text.
    fn go_under(&mut self, heading: &[String]) -> Result<()> {
        let common = self.heading.iter().zip(heading).take_while(|(a, b)| a == b).count();
        // Pieces of different chapters stay apart, however small they are.
        let related = common > 0 || self.heading.is_empty() && self.text.is_empty();
        let line = |path: &[String]| format!("# {}", path.join(PATH));
        let (own, new) = (line(&self.heading[common..]), line(&heading[common..]));
        let lines = size(&own) + size(&new) + size("\n\n\n");
        if self.size >= LEAST || self.size + lines > MOST_LINES || !related {
            self.flush()?;
        }
        if self.text.is_empty() {
            self.heading = heading.to_vec();
        } else {
            // The piece now stands under the common headings only, so its own become lines.
            if self.heading.len() > common {
                self.text.insert_str(0, &format!("{own}\n"));
                self.size += size(&own) + size("\n");
            }
            self.heading.truncate(common);
            if heading.len() > common {
                self.push(&new, "\n\n");
            }
        }
        self.last = heading.to_vec();
        Ok(())
    }

    /// Whole paragraphs if they fit, otherwise sentences.
    fn prose(&mut self, text: &str, site: &Site) -> Result<()> {
        if size(text) <= site.room {
            return self.part(text, "\n\n", site);
        }
        let mut first = "\n\n";
        for line in text.lines() {
            for sentence in sentences(line) {
                for part in split_at_words(sentence.trim(), site.room) {
                    self.part(part, first, site)?;
                    first = " ";
                }
            }
            first = "\n";
        }
        Ok(())
    }

    fn code(&mut self, text: &str, site: &Site) -> Result<()> {
        let mut first = "\n\n";
        for line in text.lines() {
            if size(line) <= site.room {
                self.part(line, first, site)?;
            } else {
                for part in split_at_words(line, site.room) {
                    self.part(part, first, site)?;
                }
            }
            first = "\n";
        }
        Ok(())
    }

    fn part(&mut self, part: &str, separator: &str, site: &Site) -> Result<()> {
        if self.size + size(separator) + size(part) > site.room {
            self.restart(site)?;
        }
        self.begin(site);
        self.push(part, separator);
        self.has_body |= !part.trim().is_empty();
        Ok(())
    }

    fn rows(&mut self, header: &str, rows: &str, site: &Site) -> Result<()> {
        let repeated = if size(header) <= LONGEST_HEADER { header } else { "" };
        let first = if repeated.is_empty() { header } else { "" };
        // The header, an empty line before it, and a line break behind it.
        let with_header = size(repeated) + size("\n\n\n");
        let mut fresh = true;
        for row in first.lines().chain(rows.lines()) {
            for part in split_at_words(row, site.room - with_header) {
                let needed = size("\n") + size(part) + if fresh { with_header } else { 0 };
                if self.size + needed > site.room {
                    self.restart(site)?;
                    fresh = true;
                }
                self.begin(site);
                if std::mem::take(&mut fresh) && !repeated.is_empty() {
                    self.push(repeated, "\n\n");
                }
                self.push(part, "\n");
                self.has_body |= !part.trim().is_empty();
            }
        }
        Ok(())
    }

    fn begin(&mut self, site: &Site) {
        if self.text.is_empty() {
            self.page = site.page;
        }
    }

    fn restart(&mut self, site: &Site) -> Result<()> {
        self.flush()?;
        self.heading = site.heading.clone();
        Ok(())
    }

    fn push(&mut self, text: &str, separator: &str) {
        if !self.text.is_empty() {
            self.text.push_str(separator);
            self.size += size(separator);
        }
        self.text.push_str(text);
        self.size += size(text);
    }

    fn flush(&mut self) -> Result<()> {
        let text = std::mem::take(&mut self.text);
        self.size = 0;
        // A heading without text makes no chunk. A document may consist of comments (`# …`), so the
        // text does not tell.
        if !std::mem::take(&mut self.has_body) {
            return Ok(());
        }
        if self.done.len() >= self.most {
            return Err(too_large("the document has more text than is read")
                .with("limit", format!("{} pieces", self.most)));
        }
        self.done.push(Chunk::new(self.heading.clone(), self.page, text));
        Ok(())
    }
}

/// A path of headings within [`LONGEST_PATH`], each cut to its share if they are longer together.
fn within_path(heading: Vec<String>) -> Vec<String> {
    if size(&heading.join(PATH)) <= LONGEST_PATH {
        return heading;
    }
    let share = LONGEST_PATH / (heading.len() as u64).max(1);
    heading.iter().map(|part| shorten(part, share.saturating_sub(size(PATH)))).collect()
}

#[cfg(test)]
mod tests;

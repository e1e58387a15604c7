//! HTML as a stream of tags, without a tree: nesting costs nothing, however deep it is.

use galatea_core::Result;
use html5gum::{DefaultEmitter, Token, Tokenizer};

use super::{skipping::Skipping, table::DocumentTable};
use crate::document::{BlockKind, Writer};

/// Elements that begin and end a paragraph.
const BLOCKS: &[&str] = &[
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "aside",
    "blockquote",
    "ul",
    "ol",
    "dl",
    "dt",
    "dd",
    "figure",
    "figcaption",
    "form",
    "fieldset",
    "details",
    "summary",
    "address",
    "body",
    "hr",
    "center",
    "caption",
    "nav",
];
/// Longest list items that stay together in one block, in bytes.
const LIST: usize = 1_500;
/// Longest text of a cell, in bytes. A longer one fits into no piece: the table is a page's layout.
const CELL: usize = 1_200;

/// Reads a page without its menus.
pub(super) fn read(text: &str, writer: &mut Writer) -> Result<()> {
    read_with(Skipping::of(|| tokens(text)), text, writer)
}

/// Reads a page with its menus, for one that has nothing else.
pub(super) fn read_with_menus(text: &str, writer: &mut Writer) -> Result<()> {
    read_with(Skipping::of(|| tokens(text)).without_menus(), text, writer)
}

fn read_with(mut skipping: Skipping, text: &str, writer: &mut Writer) -> Result<()> {
    let mut reading = HtmlReading::default();
    for token in tokens(text) {
        if skipping.takes(&token) {
            continue;
        }
        match token {
            Token::StartTag(tag) => reading.open(&String::from_utf8_lossy(&tag.name), writer)?,
            Token::EndTag(tag) => reading.close(&String::from_utf8_lossy(&tag.name), writer)?,
            Token::String(text) => reading.text.push_str(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    while !reading.tables.is_empty() {
        reading.end_table(writer)?;
    }
    reading.flush(writer)
}

fn tokens(text: &str) -> impl Iterator<Item = Token> {
    // Switches to the raw text of scripts and styles, whose content may look like tags.
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    Tokenizer::new_with_emitter(text, emitter).map(|token| {
        // The error type is uninhabited: reading from memory cannot fail.
        let Ok(token) = token;
        token
    })
}

#[derive(Default)]
struct HtmlReading {
    text: String,
    title: bool,
    pre: bool,
    /// Open tables, outermost first.
    tables: Vec<DocumentTable>,
    /// The text is a cell's. Its end tag may be left out.
    cell: bool,
}

impl HtmlReading {
    fn open(&mut self, name: &str, writer: &mut Writer) -> Result<()> {
        match name {
            "title" => {
                self.text.clear();
                self.title = true;
            }
            "br" => self.text.push('\n'),
            "li" => {
                if self.text.len() > LIST {
                    self.flush(writer)?;
                }
                self.text.push_str("\n- ");
            }
            "pre" if !self.cell => {
                self.flush(writer)?;
                self.pre = true;
            }
            "table" => {
                self.interrupt(writer)?;
                self.tables.push(DocumentTable::default());
            }
            "tr" => self.end_row(writer)?,
            "td" | "th" => {
                self.end_cell(writer)?;
                self.cell = !self.tables.is_empty();
            }
            // Data has no headings, so this table is a page's layout.
            _ if heading(name).is_some() => self.interrupt(writer)?,
            _ if BLOCKS.contains(&name) => self.paragraph(writer)?,
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &str, writer: &mut Writer) -> Result<()> {
        match name {
            "title" if self.title => {
                self.title = false;
                writer.title(&std::mem::take(&mut self.text));
            }
            "head" => self.text.clear(),
            "pre" if self.pre => {
                self.pre = false;
                writer.block(BlockKind::Code, &std::mem::take(&mut self.text))?;
            }
            "td" | "th" => self.end_cell(writer)?,
            "tr" => self.end_row(writer)?,
            "table" => self.end_table(writer)?,
            _ => match heading(name) {
                Some(level) if !self.cell => {
                    writer.heading(level, &std::mem::take(&mut self.text));
                }
                _ if BLOCKS.contains(&name) => self.paragraph(writer)?,
                _ => {}
            },
        }
        Ok(())
    }

    /// Ends a paragraph. Inside of cells and preformatted text it is a line break only.
    fn paragraph(&mut self, writer: &mut Writer) -> Result<()> {
        if self.cell || self.pre {
            self.text.push_str(if self.pre { "\n" } else { "\n\n" });
            return Ok(());
        }
        self.flush(writer)
    }

    /// Ends a cell, or what stands between cells, such as a caption.
    fn end_cell(&mut self, writer: &mut Writer) -> Result<()> {
        if !std::mem::take(&mut self.cell) {
            return self.flush(writer);
        }
        let text = std::mem::take(&mut self.text);
        let Some(table) = self.tables.last_mut() else { return Ok(()) };
        if text.len() <= CELL {
            table.cell(text);
            return Ok(());
        }
        table.interrupt(writer)?;
        text.split("\n\n").try_for_each(|paragraph| writer.block(BlockKind::Prose, paragraph))
    }

    fn end_row(&mut self, writer: &mut Writer) -> Result<()> {
        self.end_cell(writer)?;
        self.tables.last_mut().into_iter().for_each(DocumentTable::end_row);
        Ok(())
    }

    fn end_table(&mut self, writer: &mut Writer) -> Result<()> {
        self.interrupt(writer)?;
        self.tables.pop();
        Ok(())
    }

    /// Writes the rows of the open table so far. Called before content that interrupts the table.
    fn interrupt(&mut self, writer: &mut Writer) -> Result<()> {
        self.end_cell(writer)?;
        self.tables.last_mut().map_or(Ok(()), |table| table.interrupt(writer))
    }

    fn flush(&mut self, writer: &mut Writer) -> Result<()> {
        if self.title || self.cell {
            return Ok(());
        }
        writer.block(BlockKind::Prose, &std::mem::take(&mut self.text))
    }
}

fn heading(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(level - b'0'),
        _ => None,
    }
}

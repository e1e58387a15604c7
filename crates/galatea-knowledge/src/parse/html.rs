//! HTML as a stream of tags, without a tree: nesting costs nothing, however deep it is.

use galatea_core::Result;
use html5gum::{DefaultEmitter, Token, Tokenizer};

use crate::document::{BlockKind, Writer, row};

/// Elements whose content is not the page's text.
const SKIPPED: &[&str] = &[
    "script", "style", "template", "nav", "svg", "iframe", "object", "select", "textarea",
    "button", "noscript", "dialog",
];
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
];

pub(super) fn read(text: &str, writer: &mut Writer) -> Result<()> {
    // Switches to the raw text of scripts and styles, whose content may look like tags.
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut reading = Reading::default();
    for token in Tokenizer::new_with_emitter(text, emitter) {
        // The error type is uninhabited: reading from memory cannot fail.
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => {
                reading.open(&String::from_utf8_lossy(&tag.name), tag.self_closing, writer)?;
            }
            Token::EndTag(tag) => reading.close(&String::from_utf8_lossy(&tag.name), writer)?,
            Token::String(text) => reading.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    reading.tables = 0;
    reading.end_table(writer)?;
    reading.flush(writer)
}

#[derive(Default)]
struct Reading {
    text: String,
    /// The skipped element, and how many of its kind are open.
    skipped: Option<(String, usize)>,
    title: bool,
    pre: bool,
    tables: usize,
    /// A cell is open: its end tag may be left out.
    cell: bool,
    cells: Vec<String>,
    header: Option<String>,
    rows: String,
}

impl Reading {
    fn text(&mut self, text: &str) {
        if self.skipped.is_none() {
            self.text.push_str(text);
        }
    }

    fn open(&mut self, name: &str, self_closing: bool, writer: &mut Writer) -> Result<()> {
        if let Some((skipped, depth)) = &mut self.skipped {
            if skipped == name && !self_closing {
                *depth += 1;
            }
            return Ok(());
        }
        if SKIPPED.contains(&name) {
            if !self_closing {
                self.skipped = Some((name.to_owned(), 1));
            }
            return Ok(());
        }
        match name {
            "title" => {
                self.text.clear();
                self.title = true;
            }
            "br" => self.text.push('\n'),
            "li" => {
                if self.text.len() > 1_500 {
                    self.flush(writer)?;
                }
                self.text.push_str("\n- ");
            }
            "pre" => {
                self.flush(writer)?;
                self.pre = true;
            }
            "table" => {
                if self.tables == 0 {
                    self.flush(writer)?;
                }
                self.tables += 1;
            }
            "tr" if self.tables == 1 => self.end_row(),
            "td" | "th" if self.tables == 1 => {
                self.end_cell();
                self.text.clear();
                self.cell = true;
            }
            _ if heading(name).is_some() => self.flush(writer)?,
            _ if BLOCKS.contains(&name) => self.paragraph(writer)?,
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &str, writer: &mut Writer) -> Result<()> {
        if let Some((skipped, depth)) = &mut self.skipped {
            if skipped == name {
                *depth -= 1;
                if *depth == 0 {
                    self.skipped = None;
                }
            }
            return Ok(());
        }
        match name {
            "title" if self.title => {
                self.title = false;
                writer.title(&std::mem::take(&mut self.text));
            }
            "head" => self.text.clear(),
            "pre" if self.tables == 0 => {
                self.pre = false;
                writer.block(BlockKind::Code, &std::mem::take(&mut self.text))?;
            }
            "td" | "th" if self.tables == 1 => self.end_cell(),
            "tr" if self.tables == 1 => self.end_row(),
            "table" => {
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0 {
                    self.end_table(writer)?;
                    self.text.clear();
                }
            }
            _ => match heading(name) {
                Some(level) if self.tables == 0 => {
                    writer.heading(level, &std::mem::take(&mut self.text));
                }
                _ if BLOCKS.contains(&name) => self.paragraph(writer)?,
                _ => {}
            },
        }
        Ok(())
    }

    /// Ends a paragraph. Inside of tables and preformatted text it is a line break only.
    fn paragraph(&mut self, writer: &mut Writer) -> Result<()> {
        if self.tables > 0 || self.pre {
            self.text.push('\n');
            return Ok(());
        }
        self.flush(writer)
    }

    fn end_cell(&mut self) {
        if std::mem::take(&mut self.cell) {
            self.cells.push(std::mem::take(&mut self.text));
        }
    }

    fn end_row(&mut self) {
        self.end_cell();
        let line = row(std::mem::take(&mut self.cells).iter().map(String::as_str));
        if line.is_empty() {
            return;
        }
        if self.header.is_none() {
            self.header = Some(line);
        } else {
            self.rows.push_str(&line);
            self.rows.push('\n');
        }
    }

    fn end_table(&mut self, writer: &mut Writer) -> Result<()> {
        if self.cell || !self.cells.is_empty() {
            self.end_row();
        }
        let (header, rows) =
            (self.header.take().unwrap_or_default(), std::mem::take(&mut self.rows));
        if rows.is_empty() {
            return writer.block(BlockKind::Prose, &header);
        }
        writer.block(BlockKind::Table { header }, &rows)
    }

    fn flush(&mut self, writer: &mut Writer) -> Result<()> {
        if self.title || self.tables > 0 {
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

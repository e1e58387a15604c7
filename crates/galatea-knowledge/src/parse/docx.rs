//! DOCX (Office Open XML, ECMA-376 part 1): paragraphs, headings by style, lists, tables and notes.

use galatea_core::Result;
use std::collections::HashMap;

use super::{
    archive::Archive,
    notes::DocumentNotes,
    table::DocumentTable,
    xml::{self, XmlNode},
};
use crate::document::{BlockKind, Writer};

pub(super) fn read(bytes: &[u8], writer: &mut Writer) -> Result<()> {
    let depth = writer.limits().depth;
    let mut archive = Archive::open(bytes, writer.limits())?;
    let body = archive.required("word/document.xml")?;
    let styles = match archive.text("word/styles.xml")? {
        Some(text) => headings(&text, depth)?,
        None => HashMap::new(),
    };
    if let Some(core) = archive.text("docProps/core.xml")? {
        writer.title(&element(&core, "title", depth)?);
    }
    let notes = DocumentNotes::read(&mut archive, depth)?;
    let mut reading = DocxReading { styles, notes, ..DocxReading::default() };
    xml::walk(&body, depth, |node| reading.take(node, writer))?;
    reading.end_list(writer)?;
    reading.notes.rest().try_for_each(|note| writer.block(BlockKind::Prose, &note))
}

/// Levels of heading styles by style id. Word shows localised names, but stores its built-in styles
/// as `heading 1` and `Title` in every language (ECMA-376 §17.7.4.9).
fn headings(text: &str, depth: usize) -> Result<HashMap<String, u8>> {
    let (mut styles, mut id) = (HashMap::new(), String::new());
    xml::walk(text, depth, |node| {
        match node {
            XmlNode::Open("style", attributes) => {
                id = attributes.get("styleId").unwrap_or_default()
            }
            XmlNode::Open("name", attributes) => {
                let name = attributes.get("val").unwrap_or_default().to_ascii_lowercase();
                if let Some(level) = level(&name) {
                    styles.insert(id.clone(), level);
                }
            }
            XmlNode::Open("outlineLvl", attributes) => {
                let level = attributes.get("val").and_then(|level| level.parse::<u8>().ok());
                if let Some(level) = level.filter(|level| *level < 6) {
                    styles.entry(id.clone()).or_insert(level + 1);
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(styles)
}

fn level(name: &str) -> Option<u8> {
    if name == "title" {
        return Some(1);
    }
    let number = name.strip_prefix("heading")?.trim_start();
    number.parse().ok().filter(|level| (1..=9).contains(level))
}

/// The text of the first element of this name.
pub(super) fn element(text: &str, name: &str, depth: usize) -> Result<String> {
    let (mut inside, mut done, mut out) = (false, false, String::new());
    xml::walk(text, depth, |node| {
        match node {
            XmlNode::Open(open, _) if open == name && !done => inside = true,
            XmlNode::Close(close) if close == name && inside => (inside, done) = (false, true),
            XmlNode::Text(text) if inside => out.push_str(text),
            _ => {}
        }
        Ok(())
    })?;
    Ok(out)
}

#[derive(Default)]
struct Paragraph {
    text: String,
    level: Option<u8>,
    item: bool,
    /// Notes that it refers to.
    notes: Vec<String>,
}

#[derive(Default)]
struct DocxReading {
    styles: HashMap<String, u8>,
    notes: DocumentNotes,
    /// Open paragraphs, outermost first: a text box stands inside of one.
    paragraphs: Vec<Paragraph>,
    list: String,
    in_text: bool,
    /// Open elements with an older form of what was read already, such as a text box.
    fallbacks: usize,
    tables: usize,
    table: DocumentTable,
    cell: String,
}

impl DocxReading {
    fn take(&mut self, node: XmlNode<'_>, writer: &mut Writer) -> Result<()> {
        match node {
            XmlNode::Open("Fallback", _) => self.fallbacks += 1,
            XmlNode::Close("Fallback") => self.fallbacks = self.fallbacks.saturating_sub(1),
            _ if self.fallbacks > 0 => {}
            XmlNode::Open("p", _) => self.paragraphs.push(Paragraph::default()),
            XmlNode::Close("p") => self.end_paragraph(writer)?,
            XmlNode::Open("t", _) => self.in_text = true,
            XmlNode::Close("t") => self.in_text = false,
            XmlNode::Open("tbl", _) => {
                self.end_list(writer)?;
                self.tables += 1;
            }
            XmlNode::Close("tc") if self.tables == 1 => {
                self.table.cell(std::mem::take(&mut self.cell));
            }
            XmlNode::Close("tr") if self.tables == 1 => self.table.end_row(),
            XmlNode::Close("tbl") => {
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0 {
                    std::mem::take(&mut self.table).interrupt(writer)?;
                }
            }
            node => self.within_paragraph(node),
        }
        Ok(())
    }

    fn within_paragraph(&mut self, node: XmlNode<'_>) {
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        match node {
            XmlNode::Open("pStyle", attributes) => {
                let style = attributes.get("val").unwrap_or_default();
                let known = self.styles.get(&style).copied();
                paragraph.level = known.or_else(|| level(&style.to_ascii_lowercase()));
            }
            XmlNode::Open("numPr", _) => paragraph.item = true,
            XmlNode::Open("tab" | "br" | "cr", _) => paragraph.text.push(' '),
            XmlNode::Open(name @ ("footnoteReference" | "endnoteReference"), attributes) => {
                let id = attributes.get("id").unwrap_or_default();
                paragraph.notes.extend(self.notes.take(name, &id));
            }
            XmlNode::Text(text) if self.in_text => paragraph.text.push_str(text),
            _ => {}
        }
    }

    /// Ends a paragraph. Its notes stand behind it, so that they are found together.
    fn end_paragraph(&mut self, writer: &mut Writer) -> Result<()> {
        let Some(Paragraph { mut text, level, item, notes }) = self.paragraphs.pop() else {
            return Ok(());
        };
        if let Some(level) = level.filter(|_| self.tables == 0) {
            self.end_list(writer)?;
            writer.heading(level, &text);
            text.clear();
        }
        for note in notes {
            text.push_str(&format!(" ({note})"));
        }
        if self.tables > 0 {
            self.cell.push(' ');
            self.cell.push_str(&text);
            return Ok(());
        }
        if item && level.is_none() {
            self.list.push_str("\n- ");
            self.list.push_str(&text);
            return Ok(());
        }
        self.end_list(writer)?;
        writer.block(BlockKind::Prose, &text)
    }

    fn end_list(&mut self, writer: &mut Writer) -> Result<()> {
        writer.block(BlockKind::Prose, &std::mem::take(&mut self.list))
    }
}

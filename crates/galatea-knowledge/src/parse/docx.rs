//! DOCX (Office Open XML, ECMA-376 part 1): paragraphs, headings by style, lists and tables.

use galatea_core::Result;
use std::collections::HashMap;

use super::{
    archive::Archive,
    xml::{self, Node},
};
use crate::document::{BlockKind, Writer, row};

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
    let mut reading = Reading { styles, ..Reading::default() };
    xml::walk(&body, depth, |node| reading.take(node, writer))?;
    reading.end_list(writer)
}

/// Levels of heading styles by style id. Word shows localised names, but stores its built-in styles
/// as `heading 1` and `Title` in every language (ECMA-376 §17.7.4.9).
fn headings(text: &str, depth: usize) -> Result<HashMap<String, u8>> {
    let (mut styles, mut id) = (HashMap::new(), String::new());
    xml::walk(text, depth, |node| {
        match node {
            Node::Open("style", attributes) => id = attributes.get("styleId").unwrap_or_default(),
            Node::Open("name", attributes) => {
                let name = attributes.get("val").unwrap_or_default().to_ascii_lowercase();
                if let Some(level) = level(&name) {
                    styles.insert(id.clone(), level);
                }
            }
            Node::Open("outlineLvl", attributes) => {
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
            Node::Open(open, _) if open == name && !done => inside = true,
            Node::Close(close) if close == name && inside => (inside, done) = (false, true),
            Node::Text(text) if inside => out.push_str(text),
            _ => {}
        }
        Ok(())
    })?;
    Ok(out)
}

#[derive(Default)]
struct Reading {
    styles: HashMap<String, u8>,
    paragraph: String,
    list: String,
    level: Option<u8>,
    item: bool,
    in_text: bool,
    tables: usize,
    cell: String,
    cells: Vec<String>,
    header: Option<String>,
    rows: String,
}

impl Reading {
    fn take(&mut self, node: Node<'_>, writer: &mut Writer) -> Result<()> {
        match node {
            Node::Open("p", _) => {
                self.paragraph.clear();
                (self.level, self.item) = (None, false);
            }
            Node::Open("pStyle", attributes) => {
                let style = attributes.get("val").unwrap_or_default();
                self.level =
                    self.styles.get(&style).copied().or_else(|| level(&style.to_ascii_lowercase()));
            }
            Node::Open("numPr", _) => self.item = true,
            Node::Open("t", _) => self.in_text = true,
            Node::Close("t") => self.in_text = false,
            Node::Open("tab" | "br" | "cr", _) => self.paragraph.push(' '),
            Node::Text(text) if self.in_text => self.paragraph.push_str(text),
            Node::Close("p") => self.end_paragraph(writer)?,
            Node::Open("tbl", _) => {
                self.end_list(writer)?;
                self.tables += 1;
            }
            Node::Close("tc") if self.tables == 1 => {
                self.cells.push(std::mem::take(&mut self.cell))
            }
            Node::Close("tr") if self.tables == 1 => {
                let line = row(std::mem::take(&mut self.cells).iter().map(String::as_str));
                if self.header.is_none() {
                    self.header = Some(line);
                } else {
                    self.rows.push_str(&line);
                    self.rows.push('\n');
                }
            }
            Node::Close("tbl") => {
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0 {
                    let (header, rows) =
                        (self.header.take().unwrap_or_default(), std::mem::take(&mut self.rows));
                    if rows.is_empty() {
                        writer.block(BlockKind::Prose, &header)?;
                    } else {
                        writer.block(BlockKind::Table { header }, &rows)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end_paragraph(&mut self, writer: &mut Writer) -> Result<()> {
        let text = std::mem::take(&mut self.paragraph);
        if self.tables > 0 {
            self.cell.push(' ');
            self.cell.push_str(&text);
            return Ok(());
        }
        if let Some(level) = self.level.take() {
            self.end_list(writer)?;
            writer.heading(level, &text);
            return Ok(());
        }
        if self.item {
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

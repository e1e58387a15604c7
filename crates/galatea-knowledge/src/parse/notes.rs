//! Footnotes and endnotes of a DOCX document (ECMA-376 part 1, §17.11).

use galatea_core::Result;
use std::collections::HashMap;

use super::{
    archive::Archive,
    xml::{self, XmlNode},
};

/// Parts with notes, and the start of the names of their elements.
const PARTS: [(&str, &str); 2] =
    [("word/footnotes.xml", "footnote"), ("word/endnotes.xml", "endnote")];

/// Notes in their order. Each is taken by the first reference to it.
#[derive(Default)]
pub(super) struct DocumentNotes {
    places: HashMap<String, usize>,
    texts: Vec<String>,
}

impl DocumentNotes {
    pub(super) fn read(archive: &mut Archive<'_>, depth: usize) -> Result<Self> {
        let mut notes = Self::default();
        for (part, element) in PARTS {
            if let Some(text) = archive.text(part)? {
                notes.add(&text, element, depth)?;
            }
        }
        Ok(notes)
    }

    fn add(&mut self, part: &str, element: &str, depth: usize) -> Result<()> {
        let mut in_text = false;
        xml::walk(part, depth, |node| {
            match node {
                XmlNode::Open(name, attributes) if name == element => {
                    let id = attributes.get("id").unwrap_or_default();
                    self.places.insert(format!("{element} {id}"), self.texts.len());
                    self.texts.push(String::new());
                }
                XmlNode::Open("t", _) => in_text = true,
                XmlNode::Close("t") => in_text = false,
                XmlNode::Text(text) if in_text => self.push(text),
                XmlNode::Close("p") | XmlNode::Open("tab" | "br" | "cr", _) => self.push(" "),
                _ => {}
            }
            Ok(())
        })
    }

    fn push(&mut self, text: &str) {
        if let Some(note) = self.texts.last_mut() {
            note.push_str(text);
        }
    }

    /// The text of a note, if `reference` (an element's name) is the first one to it.
    pub(super) fn take(&mut self, reference: &str, id: &str) -> Option<String> {
        let element = reference.trim_end_matches("Reference");
        let place = self.places.remove(&format!("{element} {id}"))?;
        let text = std::mem::take(self.texts.get_mut(place)?);
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// Notes without a reference.
    pub(super) fn rest(&mut self) -> impl Iterator<Item = String> {
        std::mem::take(&mut self.texts).into_iter()
    }
}

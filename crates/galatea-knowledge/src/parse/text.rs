//! Plain text.

use galatea_core::Result;

use crate::document::{BlockKind, Writer};

/// Paragraphs are separated by empty lines.
pub(super) fn read(text: &str, writer: &mut Writer) -> Result<()> {
    let mut paragraph = String::new();
    for line in text.lines() {
        if line.trim().is_empty() {
            writer.block(BlockKind::Prose, &paragraph)?;
            paragraph.clear();
        } else {
            paragraph.push_str(line);
            paragraph.push('\n');
        }
    }
    writer.block(BlockKind::Prose, &paragraph)
}

//! Source code: blocks of lines, separated by empty lines before a line without indentation.

use galatea_core::Result;

use crate::document::{BlockKind, Writer};

pub(super) fn read(text: &str, writer: &mut Writer) -> Result<()> {
    let (mut block, mut gap) = (String::new(), false);
    for line in text.lines() {
        let starts = line.chars().next().is_some_and(|c| !c.is_whitespace() && !"})]".contains(c));
        if gap && starts {
            writer.block(BlockKind::Code, &block)?;
            block.clear();
        }
        gap = line.trim().is_empty();
        block.push_str(line.trim_end());
        block.push('\n');
    }
    writer.block(BlockKind::Code, &block)
}

//! A table as it is read, cell by cell. Its first row is the header.

use galatea_core::Result;

use crate::document::{BlockKind, Writer, row};

#[derive(Default)]
pub(super) struct DocumentTable {
    cells: Vec<String>,
    header: Option<String>,
    rows: String,
    /// Rows of it were written already, so its header was, too.
    is_begun: bool,
}

impl DocumentTable {
    pub(super) fn cell(&mut self, text: String) {
        self.cells.push(text);
    }

    /// Ends a row, unless it is empty.
    pub(super) fn end_row(&mut self) {
        let cells = std::mem::take(&mut self.cells);
        if cells.iter().all(|cell| cell.trim().is_empty()) {
            return;
        }
        let line = row(cells.iter().map(String::as_str));
        if self.header.is_none() {
            self.header = Some(line);
        } else {
            self.rows.push_str(&line);
            self.rows.push('\n');
        }
    }

    /// Writes the rows so far. Called before content that interrupts the table. The header is kept for
    /// later rows. A single row becomes a paragraph.
    pub(super) fn interrupt(&mut self, writer: &mut Writer) -> Result<()> {
        self.end_row();
        let rows = std::mem::take(&mut self.rows);
        if !rows.is_empty() {
            self.is_begun = true;
            let header = self.header.clone().unwrap_or_default();
            return writer.block(BlockKind::Table { header }, &rows);
        }
        if self.is_begun {
            return Ok(());
        }
        writer.block(BlockKind::Prose, &self.header.take().unwrap_or_default())
    }
}

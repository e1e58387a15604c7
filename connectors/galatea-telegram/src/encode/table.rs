//! A Markdown table as aligned plain text: Telegram has no tables, a monospaced block keeps the columns.

use pulldown_cmark::{Event, Tag, TagEnd};
use unicode_segmentation::UnicodeSegmentation;

/// A table while its events arrive.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    links: Vec<String>,
    heads: usize,
}

impl Table {
    /// Takes one event; false once the table has ended.
    pub(super) fn event(&mut self, event: &Event<'_>) -> bool {
        match event {
            Event::Start(Tag::TableHead | Tag::TableRow) => self.rows.push(Vec::new()),
            Event::Start(Tag::TableCell) => {
                if let Some(row) = self.rows.last_mut() {
                    row.push(String::new());
                }
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => self.links.push(dest_url.to_string()),
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some(address) = self.links.pop()
                    && let Some(cell) = self.cell()
                    && !cell.ends_with(&address)
                {
                    cell.push_str(&format!(" ({address})"));
                }
            }
            Event::End(TagEnd::TableHead) => self.heads = self.rows.len(),
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => self.push(text),
            Event::SoftBreak | Event::HardBreak => self.push(" "),
            Event::End(TagEnd::Table) => return false,
            _ => {}
        }
        true
    }

    fn cell(&mut self) -> Option<&mut String> {
        self.rows.last_mut()?.last_mut()
    }

    fn push(&mut self, text: &str) {
        if let Some(cell) = self.cell() {
            cell.push_str(text);
        }
    }

    /// The rows, columns padded to the same width (in graphemes), a line under the head.
    pub(super) fn render(&self) -> String {
        let width = |cell: &String| cell.graphemes(true).count();
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|c| self.rows.iter().filter_map(|row| row.get(c)).map(width).max().unwrap_or(0)).collect();
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        for (i, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, wide)| format!("{cell}{}", " ".repeat(wide.saturating_sub(width(cell))))).collect();
            lines.push(cells.join(" | ").trim_end().to_owned());
            if i + 1 == self.heads {
                lines.push(widths.iter().map(|w| "-".repeat((*w).max(1))).collect::<Vec<_>>().join("-+-"));
            }
        }
        lines.join("\n")
    }
}

//! Renders a Markdown table as aligned plain text. Telegram has no tables; in a monospaced block
//! the columns stay aligned.

use pulldown_cmark::{Event, Tag, TagEnd};

/// A table that is built from parser events.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    links: Vec<String>,
    heads: usize,
}

impl Table {
    /// Adds one parser event; returns false once the table has ended.
    pub(super) fn event(&mut self, event: &Event<'_>) -> bool {
        match event {
            Event::Start(Tag::TableHead | Tag::TableRow) => self.rows.push(Vec::new()),
            Event::Start(Tag::TableCell) => {
                if let Some(row) = self.rows.last_mut() {
                    row.push(String::new());
                }
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                self.links.push(dest_url.to_string())
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some(address) = self.links.pop()
                    && let Some(cell) = self.cell()
                    && !cell.ends_with(&address)
                {
                    cell.push_str(&format!(" ({address})"));
                }
            }
            Event::End(TagEnd::TableHead) => self.heads = self.rows.len(),
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.push(text)
            }
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

    /// The rows as aligned text.
    pub(super) fn render(&self) -> String {
        galatea_core::markdown::table(&self.rows, self.heads)
    }
}

//! Renders a Markdown table as aligned plain text. Discord has no tables; in a code block the
//! columns stay aligned.

use galatea_core::markdown;
use pulldown_cmark::{Event, Tag, TagEnd};

/// A table that is built from parser events.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    links: Vec<String>,
    heads: usize,
}

impl Table {
    /// Adds one parser event.
    pub(super) fn event(&mut self, event: &Event<'_>) {
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
                    // A code block cannot contain links, so write out the address.
                    cell.push_str(&format!(" ({address})"));
                }
            }
            Event::End(TagEnd::TableHead) => self.heads = self.rows.len(),
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.push(text)
            }
            Event::SoftBreak | Event::HardBreak => self.push(" "),
            _ => {}
        }
    }

    fn cell(&mut self) -> Option<&mut String> {
        self.rows.last_mut()?.last_mut()
    }

    /// Appends text to the current cell.
    pub(super) fn push(&mut self, text: &str) {
        if let Some(cell) = self.cell() {
            cell.push_str(text);
        }
    }

    /// The rows as aligned text.
    pub(super) fn render(&self) -> String {
        markdown::table(&self.rows, self.heads)
    }
}

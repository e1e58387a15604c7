//! Markdown: headings, paragraphs, lists, tables and code, and blocks of HTML as HTML is read.

use galatea_core::Result;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{html, table::DocumentTable};
use crate::document::{BlockKind, Writer};

/// Longest list item that stays together with the others in one block; a longer list is cut into
/// several blocks.
const LIST: usize = 1_500;

/// State of a document that is being read.
#[derive(Default)]
struct MarkdownReading {
    text: String,
    lists: usize,
    heading: Option<u8>,
    table: DocumentTable,
    html: String,
}

pub(super) fn read(text: &str, writer: &mut Writer) -> Result<()> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut reading = MarkdownReading::default();
    for event in Parser::new_ext(text, options) {
        reading.take(event, writer)?;
    }
    writer.block(BlockKind::Prose, &reading.text)
}

impl MarkdownReading {
    fn take(&mut self, event: Event<'_>, writer: &mut Writer) -> Result<()> {
        match event {
            Event::Start(tag) => self.start(tag, writer)?,
            Event::End(tag) => self.end(tag, writer)?,
            Event::Text(text) | Event::Code(text) => self.text.push_str(&text),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text.push_str(&text),
            Event::SoftBreak => self.text.push('\n'),
            Event::HardBreak => self.text.push('\n'),
            Event::Html(html) => self.html.push_str(&html),
            Event::InlineHtml(tag) if is_line_break(&tag) => self.text.push('\n'),
            Event::InlineHtml(_) | Event::Rule | Event::FootnoteReference(_) => {}
            Event::TaskListMarker(done) => self.text.push_str(if done { "[x] " } else { "[ ] " }),
        }
        Ok(())
    }

    fn start(&mut self, tag: Tag<'_>, writer: &mut Writer) -> Result<()> {
        match tag {
            Tag::Heading { level, .. } => {
                self.flush(writer)?;
                self.heading = Some(number(level));
            }
            Tag::CodeBlock(_) => {
                self.flush(writer)?;
            }
            Tag::List(_) => {
                if self.lists == 0 {
                    self.flush(writer)?;
                }
                self.lists += 1;
            }
            Tag::Item => {
                if self.text.len() > LIST {
                    self.flush(writer)?;
                }
                self.text.push_str("\n- ");
            }
            Tag::Table(_) | Tag::HtmlBlock => self.flush(writer)?,
            Tag::TableCell => self.text.clear(),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, tag: TagEnd, writer: &mut Writer) -> Result<()> {
        match tag {
            TagEnd::Heading(level) => {
                let text = std::mem::take(&mut self.text);
                writer.heading(self.heading.take().unwrap_or(number(level)), &text);
            }
            TagEnd::CodeBlock => {
                writer.block(BlockKind::Code, &std::mem::take(&mut self.text))?;
            }
            TagEnd::List(_) => {
                self.lists = self.lists.saturating_sub(1);
                if self.lists == 0 {
                    self.flush(writer)?;
                }
            }
            TagEnd::Paragraph if self.lists == 0 => self.flush(writer)?,
            // An item may have several.
            TagEnd::Paragraph => self.text.push('\n'),
            TagEnd::TableCell => self.table.cell(std::mem::take(&mut self.text)),
            TagEnd::TableHead | TagEnd::TableRow => self.table.end_row(),
            TagEnd::Table => std::mem::take(&mut self.table).interrupt(writer)?,
            TagEnd::HtmlBlock => html::read(&std::mem::take(&mut self.html), writer)?,
            TagEnd::MetadataBlock(_) => {
                let metadata = std::mem::take(&mut self.text);
                let title = metadata.lines().find_map(|line| line.strip_prefix("title:"));
                if let Some(title) = title {
                    writer.title(title.trim().trim_matches(['"', '\'']));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn flush(&mut self, writer: &mut Writer) -> Result<()> {
        writer.block(BlockKind::Prose, &std::mem::take(&mut self.text))
    }
}

fn is_line_break(tag: &str) -> bool {
    let name = tag.trim_matches(['<', '>', '/', ' ']);
    name.eq_ignore_ascii_case("br")
}

fn number(level: HeadingLevel) -> u8 {
    level as u8
}

//! Converts CommonMark to the Markdown that Discord renders. Common syntax stays as written;
//! tables, deep headings, images and other fences are converted to what Discord can show. Every
//! fence in the output is a line of three backticks, which splitting relies on.

use galatea_core::markdown::{Table, is_arithmetic};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// Zero-width space that keeps three backticks in a row from opening a code block.
const BREAK: char = '\u{200b}';

/// Converts the text of a message.
pub(super) fn render(markdown: &str) -> String {
    let mut out = Out {
        source: markdown,
        text: String::with_capacity(markdown.len() + 16),
        prose: String::new(),
        done: 0,
    };
    let mut code: Option<(Range<usize>, String, String)> = None;
    let mut table: Option<Table> = None;
    for (event, range) in
        Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
            .into_offset_iter()
    {
        let stars = match event {
            Event::Start(Tag::Emphasis) | Event::End(TagEnd::Emphasis) => 1,
            Event::Start(Tag::Strong) | Event::End(TagEnd::Strong) => 2,
            _ => 0,
        };
        if stars > 0 && is_arithmetic(markdown, &range) {
            match (&mut table, &event) {
                (Some(table), _) => table.push(&"*".repeat(stars)),
                (None, Event::Start(_)) => out.starred(range.start, stars),
                (None, _) => out.starred(range.end - stars, stars),
            }
            continue;
        }
        if let Some(mut open) = table.take() {
            if open.event(&event) {
                table = Some(open);
            } else {
                out.block(range, "", &open.render());
            }
            continue;
        }
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                code = Some((range, language(&info), String::new()))
            }
            Event::Text(text) if code.is_some() => {
                if let Some((_, _, body)) = &mut code {
                    body.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((range, language, body)) = code.take() {
                    out.block(range, &language, &body);
                }
            }
            Event::Start(Tag::Table(_)) => table = Some(Table::default()),
            Event::Start(Tag::Heading {
                level: HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6,
                ..
            }) => out.shallower(range),
            Event::Start(Tag::Image { .. }) if markdown[range.start..].starts_with('!') => {
                out.until(range.start);
                out.skip(range.start + 1);
            }
            Event::Code(text)
                if range.start >= out.done && markdown[range.clone()].starts_with("```") =>
            {
                out.until(range.start);
                let (open, close) = if text.contains('`') { ("`` ", " ``") } else { ("`", "`") };
                out.prose.push_str(&format!("{open}{text}{close}"));
                out.skip(range.end);
            }
            _ => {}
        }
    }
    out.until(markdown.len());
    out.flush();
    out.text
}

/// The language of a code block, if it is a word that Discord can highlight: letters, digits and a
/// few signs.
fn language(info: &str) -> String {
    let word = info.split_whitespace().next().unwrap_or_default();
    let known = word.len() <= 32
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-' | '.' | '#'));
    if known { word.to_owned() } else { String::new() }
}

/// Breaks up three backticks in a row.
fn unfenced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        if run == 3 {
            out.push(BREAK);
            run = 1;
        }
        out.push(c);
    }
    out
}

struct Out<'a> {
    source: &'a str,
    text: String,
    /// Text since the last block, not yet checked for backticks.
    prose: String,
    /// Bytes of the source that are converted or skipped.
    done: usize,
}

impl Out<'_> {
    /// Copies the source up to `to`.
    fn until(&mut self, to: usize) {
        if to > self.done {
            self.prose.push_str(&self.source[self.done..to]);
            self.done = to;
        }
    }

    fn flush(&mut self) {
        self.text.push_str(&unfenced(&self.prose));
        self.prose.clear();
    }

    fn skip(&mut self, to: usize) {
        self.done = self.done.max(to);
    }

    /// Writes a code block on lines of its own.
    fn block(&mut self, range: Range<usize>, language: &str, body: &str) {
        if range.start < self.done {
            return;
        }
        self.until(range.start);
        self.flush();
        let line = self.text.rfind('\n').map_or(0, |at| at + 1);
        if self.text[line..].trim().is_empty() {
            self.text.truncate(line);
        } else {
            self.text.push('\n');
        }
        let body = unfenced(body);
        let end = if body.is_empty() || body.ends_with('\n') { "" } else { "\n" };
        self.text.push_str(&format!("```{language}\n{body}{end}```"));
        self.skip(range.end);
        // Text on the same line would become part of the closing fence.
        if self.source[self.done..]
            .chars()
            .next()
            .map_or(self.source[..self.done].ends_with('\n'), |c| c != '\n')
        {
            self.text.push('\n');
        }
    }

    /// Escapes stars that are multiplication signs, because Discord would render them as emphasis.
    fn starred(&mut self, at: usize, count: usize) {
        if at >= self.done {
            self.until(at);
            self.prose.push_str(&"\\*".repeat(count));
            self.skip(at + count);
        }
    }

    /// Reduces a heading to level three, the deepest that Discord has.
    fn shallower(&mut self, range: Range<usize>) {
        if range.start < self.done {
            return;
        }
        self.until(range.start);
        let deep = self.source[range].bytes().take_while(|b| *b == b'#').count();
        if deep > 3 {
            self.prose.push_str("###");
            self.skip(self.done + deep);
        }
    }
}

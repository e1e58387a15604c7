//! Converts Markdown to plain text and styled ranges, with pulldown-cmark. Telegram's parse modes
//! are never used, because a model's text could break them; it cannot break entities.

use galatea_core::markdown::{Table, is_arithmetic};
use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};
use std::collections::HashSet;
use url::Url;

use super::style::{Span, Style, Styled, nest};

/// Renders Markdown (CommonMark with tables, `~~strike~~`, `||spoiler||` and task lists). No text
/// is lost: HTML stays literal, unused link definitions stay text, and addresses that Telegram
/// cannot link to are written out.
pub(crate) fn render(markdown: &str) -> Styled {
    match escape_unused_definitions(markdown) {
        Some(escaped) => run(&escaped),
        None => run(markdown),
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Escapes link definitions that no link uses. CommonMark would drop a line such as `[note]:
/// hello`. `None` if there is nothing to escape.
fn escape_unused_definitions(markdown: &str) -> Option<String> {
    if !markdown.contains("]:") {
        return None;
    }
    let parser = Parser::new_ext(markdown, options());
    let mut starts: Vec<(String, usize)> = parser
        .reference_definitions()
        .iter()
        .map(|(label, def)| (label.to_lowercase(), def.span.start))
        .collect();
    if starts.is_empty() {
        return None;
    }
    let used: HashSet<String> = parser
        .filter_map(|event| match event {
            Event::Start(Tag::Link { link_type, id, .. } | Tag::Image { link_type, id, .. })
                if matches!(
                    link_type,
                    LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut
                ) =>
            {
                Some(id.to_lowercase())
            }
            _ => None,
        })
        .collect();
    starts.retain(|(label, _)| !used.contains(label));
    if starts.is_empty() {
        return None;
    }
    starts.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
    let mut escaped = markdown.to_owned();
    for (_, at) in starts {
        if escaped.is_char_boundary(at) && escaped[at..].starts_with('[') {
            escaped.insert(at, '\\');
        }
    }
    Some(escaped)
}

fn run(markdown: &str) -> Styled {
    let mut renderer = Renderer::default();
    for (event, range) in Parser::new_ext(markdown, options()).into_offset_iter() {
        let stars = match event {
            Event::Start(Tag::Emphasis) | Event::End(TagEnd::Emphasis) => "*",
            Event::Start(Tag::Strong) | Event::End(TagEnd::Strong) => "**",
            _ => "",
        };
        let event = if !stars.is_empty() && is_arithmetic(markdown, &range) {
            Event::Text(stars.into())
        } else {
            event
        };
        renderer.event(event, markdown.get(range).unwrap_or(""));
    }
    renderer.finish()
}

#[derive(Default)]
struct Renderer {
    text: String,
    spans: Vec<Span>,
    open: Vec<(usize, Option<Style>)>,
    lists: Vec<Option<u64>>,
    pending: usize,
    quotes: usize,
    in_pre: bool,
    link: Option<(usize, String)>,
    table: Option<Table>,
}

impl Renderer {
    fn event(&mut self, event: Event<'_>, source: &str) {
        if let Some(mut table) = self.table.take() {
            if table.event(&event) {
                self.table = Some(table);
            } else {
                self.pre(&table.render(), None);
            }
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag, source),
            Event::End(tag) => self.end(tag, source),
            Event::Text(text) if self.in_pre => self.text.push_str(&text),
            Event::Text(text) => self.push_text(&text),
            Event::Code(text) => {
                self.flush();
                let start = self.text.len();
                self.text.push_str(&text);
                self.span(start, Style::Code);
            }
            Event::Html(html) | Event::InlineHtml(html) => self.write(&html),
            Event::InlineMath(math) | Event::DisplayMath(math) => self.write(&math),
            Event::FootnoteReference(name) => self.write(&format!("[^{name}]")),
            Event::SoftBreak | Event::HardBreak => {
                self.flush();
                self.text.push('\n');
                self.indent(self.lists.len());
            }
            Event::Rule => {
                self.write("———");
                self.pending = 2;
            }
            Event::TaskListMarker(done) => self.write(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>, source: &str) {
        match tag {
            Tag::Heading { .. } | Tag::Strong => self.enter(Some(Style::Bold)),
            Tag::Emphasis => self.enter(Some(Style::Italic)),
            // In chats a single tilde means "about", not strikethrough.
            Tag::Strikethrough if source.starts_with("~~") => self.enter(Some(Style::Strike)),
            Tag::Strikethrough => {
                self.write("~");
                self.open.push((self.text.len(), None));
            }
            Tag::BlockQuote(_) => {
                self.quotes += 1;
                self.enter((self.quotes == 1).then_some(Style::Quote));
            }
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => info
                        .split([' ', ',', '\t'])
                        .next()
                        .map(str::trim)
                        .filter(|l| !l.is_empty())
                        .map(str::to_owned),
                    CodeBlockKind::Indented => None,
                };
                self.enter(Some(Style::Pre(language)));
                self.in_pre = true;
            }
            Tag::List(first) => {
                self.pending = self.pending.max(if self.lists.is_empty() { 0 } else { 1 });
                self.lists.push(first);
            }
            Tag::Item => {
                self.pending = self
                    .pending
                    .max(usize::from(!self.text.is_empty()))
                    .min(if self.lists.len() > 1 { 1 } else { 2 });
                let level = self.lists.len().saturating_sub(1);
                let marker = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let marker = format!("{number}. ");
                        *number = number.saturating_add(1);
                        marker
                    }
                    _ => "• ".to_owned(),
                };
                self.break_lines();
                self.indent(level);
                self.text.push_str(&marker);
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.flush();
                // A link inside a link, such as a linked picture, keeps the outer address.
                if self.link.is_none() {
                    self.link = Some((self.text.len(), dest_url.into_string()));
                    self.open.push((self.text.len(), None));
                } else {
                    self.open.push((usize::MAX, None));
                }
            }
            Tag::Table(_) => {
                self.flush();
                self.table = Some(Table::default());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, source: &str) {
        match tag {
            TagEnd::Paragraph => self.pending = if self.lists.is_empty() { 2 } else { 1 },
            TagEnd::Heading(_) => {
                self.leave();
                self.pending = 2;
            }
            TagEnd::Strong | TagEnd::Emphasis => self.leave(),
            TagEnd::Strikethrough => {
                if !source.starts_with("~~") {
                    self.write("~");
                }
                self.leave();
            }
            TagEnd::BlockQuote(_) => {
                self.quotes = self.quotes.saturating_sub(1);
                self.leave();
                self.pending = 2;
            }
            TagEnd::CodeBlock => {
                self.in_pre = false;
                if self.text.ends_with('\n') {
                    self.text.pop();
                }
                self.leave();
                self.pending = 2;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.pending = if self.lists.is_empty() { 2 } else { 1 };
            }
            TagEnd::Item => self.pending = 1,
            TagEnd::Link | TagEnd::Image => self.leave_link(),
            TagEnd::HtmlBlock => {
                if self.text.ends_with('\n') {
                    self.text.pop();
                }
                self.pending = 2;
            }
            _ => {}
        }
    }

    fn enter(&mut self, style: Option<Style>) {
        self.flush();
        self.open.push((self.text.len(), style));
    }

    fn leave(&mut self) {
        if let Some((start, Some(style))) = self.open.pop() {
            self.span(start, style);
        }
    }

    fn leave_link(&mut self) {
        let Some((start, _)) = self.open.pop() else { return };
        if start == usize::MAX {
            return;
        }
        let Some((start, address)) = self.link.take() else { return };
        let shown = self.text[start.min(self.text.len())..].to_owned();
        if shown.trim().is_empty() {
            self.text.push_str(&address);
        }
        match linkable(&address) {
            Some(url) => self.span(start, Style::Link(url)),
            None if address.is_empty()
                || address.trim_start_matches("mailto:") == shown
                || shown.trim().is_empty() => {}
            None => {
                self.text.push_str(" (");
                self.text.push_str(&address);
                self.text.push(')');
            }
        }
    }

    fn span(&mut self, start: usize, style: Style) {
        let end = self.text.len();
        if start < end {
            self.spans.push(Span { range: start..end, style });
        }
    }

    fn push_text(&mut self, text: &str) {
        self.flush();
        let mut rest = text;
        while let Some((before, hidden, after)) = spoiler(rest) {
            self.text.push_str(before);
            let start = self.text.len();
            self.text.push_str(hidden);
            self.span(start, Style::Spoiler);
            rest = after;
        }
        self.text.push_str(rest);
    }

    fn pre(&mut self, text: &str, language: Option<String>) {
        self.flush();
        let start = self.text.len();
        self.text.push_str(text);
        self.span(start, Style::Pre(language));
        self.pending = 2;
    }

    fn write(&mut self, text: &str) {
        self.flush();
        self.text.push_str(text);
    }

    fn flush(&mut self) {
        if self.pending > 0 && !self.text.is_empty() {
            self.break_lines();
            self.indent(self.lists.len());
        }
        self.pending = 0;
    }

    fn break_lines(&mut self) {
        if !self.text.is_empty() {
            self.text.extend(std::iter::repeat_n('\n', self.pending));
        }
        self.pending = 0;
    }

    fn indent(&mut self, level: usize) {
        // Deeper nesting is unreadable in any case, so the indent stops there.
        self.text.extend(std::iter::repeat_n("  ", level.min(8)));
    }

    fn finish(mut self) -> Styled {
        if let Some(table) = self.table.take() {
            self.pre(&table.render(), None);
        }
        Styled { spans: nest(self.spans), text: self.text }
    }
}

/// The address, if Telegram accepts it for a text link.
pub(crate) fn linkable(address: &str) -> Option<Url> {
    Url::parse(address).ok().filter(|url| match url.scheme() {
        "http" | "https" => url.has_host(),
        "tg" => true,
        _ => false,
    })
}

/// Splits at the first `||hidden||`. `None` if there is none, or if its inside is empty or starts
/// or ends with white space.
fn spoiler(text: &str) -> Option<(&str, &str, &str)> {
    let open = text.find("||")?;
    let inside = &text[open + 2..];
    let close = inside.find("||")?;
    let hidden = &inside[..close];
    let tight = !hidden.is_empty()
        && !hidden.starts_with(char::is_whitespace)
        && !hidden.ends_with(char::is_whitespace);
    tight.then(|| (&text[..open], hidden, &inside[close + 2..]))
}

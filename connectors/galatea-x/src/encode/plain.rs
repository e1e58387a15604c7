//! Renders Markdown as the plain text that X shows. Markup that X cannot show is dropped; no text
//! is.

use galatea_core::markdown::is_arithmetic;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::HashSet;

use super::table::TableList;

/// Renders CommonMark with tables as plain text: bullets for lists, `> ` for quotations, addresses
/// in parentheses after the words of a link, `head: cell` lines for the rows of a table.
pub(super) fn plain(markdown: &str) -> String {
    let escaped = escape_unused_definitions(markdown);
    let mut out = Plain::default();
    for (event, range) in Parser::new_ext(&escaped, options()).into_offset_iter() {
        let stars = match event {
            Event::Start(Tag::Emphasis) | Event::End(TagEnd::Emphasis) => "*",
            Event::Start(Tag::Strong) | Event::End(TagEnd::Strong) => "**",
            _ => "",
        };
        let literal = !stars.is_empty() && is_arithmetic(&escaped, &range);
        out.event(if literal { Event::Text(stars.into()) } else { event });
    }
    out.text.trim().to_owned()
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Escapes link definitions that no link uses. To CommonMark, a line such as `[note]: hello` is a
/// definition and would vanish. The address of a used one stands after the words of its link.
fn escape_unused_definitions(markdown: &str) -> String {
    let mut text = markdown.to_owned();
    let parser = Parser::new_ext(markdown, options());
    let mut definitions: Vec<(String, usize)> = parser
        .reference_definitions()
        .iter()
        .map(|(label, def)| (label.to_lowercase(), def.span.start))
        .collect();
    if definitions.is_empty() {
        return text;
    }
    // The id of a link without a definition, such as `[text](address)`, is empty.
    let used: HashSet<String> = parser
        .filter_map(|event| match event {
            Event::Start(Tag::Link { id, .. } | Tag::Image { id, .. }) => Some(id.to_lowercase()),
            _ => None,
        })
        .collect();
    definitions.retain(|(label, _)| !used.contains(label));
    definitions.sort_unstable_by_key(|(_, at)| std::cmp::Reverse(*at));
    for (_, at) in definitions {
        if text.is_char_boundary(at) && text[at..].starts_with('[') {
            text.insert(at, '\\');
        }
    }
    text
}

#[derive(Default)]
struct Plain {
    text: String,
    /// Line breaks owed before the next words.
    owed: usize,
    lists: Vec<Option<u64>>,
    /// A list has begun and has no item yet.
    begun: bool,
    quotes: usize,
    code: bool,
    links: Vec<(usize, String)>,
    table: Option<TableList>,
    /// Start of the cell being read.
    cell: usize,
}

impl Plain {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code => self.lines(&text),
            Event::Text(text)
            | Event::Code(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => {
                self.write(&text);
            }
            Event::FootnoteReference(name) => self.write(&format!("[^{name}]")),
            Event::SoftBreak | Event::HardBreak => self.owed = self.owed.max(1),
            Event::Rule => {
                self.block();
                self.write("———");
                self.owed = 2;
            }
            Event::TaskListMarker(done) => self.write(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::Heading { .. } | Tag::HtmlBlock => self.block(),
            Tag::BlockQuote(_) => {
                self.block();
                self.quotes += 1;
            }
            Tag::CodeBlock(_) => {
                self.block();
                self.code = true;
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.block();
                    self.begun = true;
                }
                self.lists.push(first);
            }
            Tag::Item => {
                if !std::mem::take(&mut self.begun) {
                    self.owed = 1;
                }
                let depth = self.lists.len().saturating_sub(1);
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.write(&format!("{}{mark}", "  ".repeat(depth)));
            }
            Tag::Table(_) => {
                self.block();
                self.table = Some(TableList::default());
            }
            Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.row();
                }
            }
            Tag::TableCell => {
                self.flush();
                self.cell = self.text.len();
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.flush();
                self.links.push((self.text.len(), dest_url.into_string()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::HtmlBlock => self.owed = 2,
            TagEnd::BlockQuote(_) => {
                self.quotes = self.quotes.saturating_sub(1);
                self.owed = 2;
            }
            TagEnd::CodeBlock => {
                self.code = false;
                self.owed = 2;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.owed = if self.lists.is_empty() { 2 } else { 1 };
            }
            TagEnd::TableCell => {
                let words = self.text.split_off(self.cell.min(self.text.len()));
                if let Some(table) = &mut self.table {
                    table.cell(&words);
                }
            }
            TagEnd::Table => self.table(),
            TagEnd::Link | TagEnd::Image => {
                let Some((start, url)) = self.links.pop() else { return };
                let words = self.text.get(start..).unwrap_or("").trim().to_owned();
                let bare = |text: &str| {
                    text.trim_start_matches("mailto:").trim_end_matches('/').to_owned()
                };
                if bare(&words) == bare(&url) || url.is_empty() {
                    return;
                }
                self.write(&if words.is_empty() { url } else { format!(" ({url})") });
            }
            _ => {}
        }
    }

    /// Begins a block: after a blank line, except inside a list.
    fn block(&mut self) {
        if !self.text.is_empty() && self.lists.is_empty() {
            self.owed = self.owed.max(2);
        }
    }

    /// Writes the finished table. Rows of several columns are separated by a blank line, where a
    /// split cuts first.
    fn table(&mut self) {
        let Some(table) = self.table.take() else { return };
        let rows = table.rows();
        let between = if rows.iter().any(|row| row.len() > 1) { 2 } else { 1 };
        for row in rows {
            for line in row {
                self.write(&line);
                self.owed = 1;
            }
            self.owed = between;
        }
        self.owed = 2;
    }

    fn lines(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            self.write(line.trim_end_matches('\n'));
            if line.ends_with('\n') {
                self.owed += 1;
            }
        }
    }

    fn flush(&mut self) {
        if self.owed > 0 || self.text.is_empty() {
            let breaks = if self.text.is_empty() { 0 } else { self.owed };
            self.text.push_str(&"\n".repeat(breaks));
            self.text.push_str(&"> ".repeat(self.quotes));
            self.owed = 0;
        }
    }

    fn write(&mut self, words: &str) {
        if words.is_empty() {
            return;
        }
        self.flush();
        self.text.push_str(words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markup_goes_and_words_stay() {
        assert_eq!(
            plain(
                "# Tide\n\n**low** at _6:40_ and `x = 1`\n\n- one\n- two\n  - deeper\n\n1. a\n2. b\n\n> said\n> so\n\n---\nend"
            ),
            "Tide\n\nlow at 6:40 and x = 1\n\n• one\n• two\n  • deeper\n\n1. a\n2. b\n\n> said\n> so\n\n———\n\nend"
        );
    }

    #[test]
    fn links_are_written_out() {
        assert_eq!(
            plain(
                "[wrack](https://a.org/b) <https://a.org/> [https://a.org](https://a.org/) ![pic](https://a.org/p.png)"
            ),
            "wrack (https://a.org/b) https://a.org/ https://a.org pic (https://a.org/p.png)"
        );
    }

    #[test]
    fn used_definitions_are_links_and_unused_ones_stay_text() {
        assert_eq!(plain("[note]: hello"), "[note]: hello");
        assert_eq!(
            plain(
                "[wrack][1], [Tide Table][], [fog] and ![pic][1]\n\n[1]: https://a.org/b\n[tide  table]: https://t.org/ \"Times\"\n[FOG]: https://f.org/\n[note]: hello"
            ),
            "wrack (https://a.org/b), Tide Table (https://t.org/), fog (https://f.org/) and pic (https://a.org/b)\n\n[note]: hello"
        );
        assert_eq!(plain("[open][missing]\n\n[note]: x"), "[open][missing]\n\n[note]: x");
    }

    #[test]
    fn arithmetic_keeps_its_stars() {
        assert_eq!(plain("2*3*4=24 and *this* is **bold**"), "2*3*4=24 and this is bold");
    }

    #[test]
    fn a_table_is_a_list() {
        assert_eq!(
            plain("| name | `n` |\n|---|--:|\n| **é** | 1 |\n| [x](https://a.b/) | |\n\nend"),
            "name: é\nn: 1\n\nname: x (https://a.b/)\nn: –\n\nend"
        );
        assert_eq!(plain("| a |\n|---|\n| 1 |\n| 2 |"), "a: 1\na: 2");
        assert_eq!(plain("before\n\n| a | b |\n|---|---|"), "before\n\na · b");
        assert_eq!(
            plain("> | a | |\n> |---|---|\n> | 1 | 2 |\n> | 3 | 4 |"),
            "> a: 1\n> 2\n\n> a: 3\n> 4"
        );
        assert_eq!(plain("a | b and || c"), "a | b and || c");
    }

    #[test]
    fn code_keeps_its_lines() {
        assert_eq!(
            plain("Look:\n\n```rust\nfn a() {\n    b();\n\n}\n```\nDone"),
            "Look:\n\nfn a() {\n    b();\n\n}\n\nDone"
        );
    }

    #[test]
    fn plain_text_is_left_alone() {
        let text = "1 < 2 & 3 > 2; it's \"fine\" – naïve 日本語 👩‍👩‍👧 a.b!c (d) #e snake_case 100%";
        assert_eq!(plain(text), text);
    }

    proptest! {
        #[test]
        fn no_word_is_lost(text in "([a-z]{1,6}|[ \n.,!]|\\*\\*|`|# |- |> |[0-9]\\. |\\[|\\]){0,60}") {
            let letters = |t: &str| t.chars().filter(char::is_ascii_alphabetic).collect::<String>();
            // The text after an opening code fence names the language.
            prop_assume!(!text.contains("```"));
            prop_assert_eq!(letters(&plain(&text)), letters(&text));
        }
    }
}

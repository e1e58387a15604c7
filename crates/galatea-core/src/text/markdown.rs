//! Rules that every platform's renderer of Markdown follows: which stars are arithmetic, and how
//! a table looks as plain text.

use pulldown_cmark::{Event, Tag, TagEnd};
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// True if the emphasis at a range of the source is arithmetic: `2*3*4`, `x**2 + y**2`. CommonMark
/// sees emphasis there and takes the stars away. Both ends stand between signs of a term without a
/// space, and one of those signs is a digit or a bracket, or all are words of one letter;
/// `un*frigging*believable` stays emphasis.
pub fn is_arithmetic(text: &str, range: &Range<usize>) -> bool {
    let Some(inside) = text.get(range.clone()) else { return false };
    let stars = inside.bytes().take_while(|b| *b == b'*').count();
    let (Some(before), Some(after)) = (text.get(..range.start), text.get(range.end..)) else {
        return false;
    };
    let inner = inside.trim_matches('*');
    let ends = [
        before.chars().next_back(),
        inner.chars().next(),
        inner.chars().next_back(),
        after.chars().next(),
    ];
    let term = |c: char| c.is_alphanumeric() || matches!(c, '(' | ')' | '[' | ']');
    if stars == 0 || !ends.iter().all(|c| c.is_some_and(term)) {
        return false;
    }
    let counts = |c: char| c.is_numeric() || matches!(c, '(' | ')' | '[' | ']');
    let letter = |run: usize| run == 1;
    let words = |text: &str, back: bool| {
        let is_word = |c: &char| c.is_alphanumeric();
        if back {
            text.chars().rev().take_while(is_word).count()
        } else {
            text.chars().take_while(is_word).count()
        }
    };
    ends.iter().flatten().any(|c| counts(*c))
        || [words(before, true), words(inner, false), words(inner, true), words(after, false)]
            .into_iter()
            .all(letter)
}

/// A table as plain text for a monospaced block: columns padded to the same width (in graphemes), a
/// line under the first `heads` rows.
pub fn table(rows: &[Vec<String>], heads: usize) -> String {
    let width = |cell: &String| cell.graphemes(true).count();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|c| rows.iter().filter_map(|row| row.get(c)).map(width).max().unwrap_or(0))
        .collect();
    let mut lines = Vec::with_capacity(rows.len() + 1);
    for (at, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, wide)| format!("{cell}{}", " ".repeat(wide.saturating_sub(width(cell)))))
            .collect();
        lines.push(cells.join(" | ").trim_end().to_owned());
        if at + 1 == heads {
            lines.push(
                widths.iter().map(|w| "-".repeat((*w).max(1))).collect::<Vec<_>>().join("-+-"),
            );
        }
    }
    lines.join("\n")
}

/// The head of a [`table`] at the beginning of a text, with the line under it and its line break:
/// what a part that goes on with the table repeats.
pub fn table_head(text: &str) -> Option<&str> {
    let head = text.find('\n')? + 1;
    let rule = text[head..].find('\n')?;
    let line = &text[head..head + rule];
    let is_rule =
        line.len() >= 3 && line.contains("-+-") && line.bytes().all(|b| matches!(b, b'-' | b'+'));
    (is_rule && text[..head].contains(" |")).then(|| &text[..head + rule + 1])
}

/// A table that is built from the events of a Markdown parser, for platforms that have no tables.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    links: Vec<String>,
    heads: usize,
}

impl Table {
    /// Adds one event of the parser; false once the table has ended.
    pub fn event(&mut self, event: &Event<'_>) -> bool {
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
                    // A monospaced block cannot contain links, so write out the address.
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

    /// Appends text to the current cell.
    pub fn push(&mut self, text: &str) {
        if let Some(cell) = self.cell() {
            cell.push_str(text);
        }
    }

    /// The rows as aligned text.
    pub fn render(&self) -> String {
        table(&self.rows, self.heads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulldown_cmark::{Options, Parser};

    /// The range of the first `stars…stars` of a text.
    fn emphasis(text: &str, stars: &str) -> Range<usize> {
        let start = text.find(stars).unwrap();
        let inside = start + stars.len();
        start..inside + text[inside..].find(stars).unwrap() + stars.len()
    }

    #[test]
    fn arithmetic_is_distinguished_from_emphasis() {
        for (text, stars) in [
            ("2*3*4=24", "*"),
            ("x**2 + y**2", "**"),
            ("2*3 + 4*5", "*"),
            ("(a+b)*c*(d)", "*"),
            ("a*b*c", "*"),
            ("f(x)*g*h(x)", "*"),
            ("٢*٣*٤", "*"),
        ] {
            assert!(is_arithmetic(text, &emphasis(text, stars)), "{text}");
        }
        for (text, stars) in [
            ("un*frigging*believable", "*"),
            ("*really*", "*"),
            ("a *2* b", "*"),
            ("so **important**!", "**"),
            ("*a*b", "*"),
            ("2 *times* 3", "*"),
        ] {
            assert!(!is_arithmetic(text, &emphasis(text, stars)), "{text}");
        }
        assert!(
            !is_arithmetic("é*", &(1..2))
                && !is_arithmetic("", &(0..0))
                && !is_arithmetic("a", &(5..9))
        );
    }

    #[test]
    fn tables_are_aligned_and_their_heads_known() {
        let rows = [vec!["name".to_owned(), "n".into()], vec!["a".into(), "100".into()]];
        let text = table(&rows, 1);
        assert_eq!(text, "name | n\n-----+----\na    | 100");
        assert_eq!(table_head(&text), Some("name | n\n-----+----\n"));
        for none in ["", "a\nb\nc", "a | b\nc | d\n", "a\n-+-\n", "a | b\n-+-"] {
            assert_eq!(table_head(none), None, "{none}");
        }
    }

    #[test]
    fn columns_are_aligned_and_links_are_written_out() {
        let text = "| a | b |\n|---|---|\n| *one* | [x](https://x.org) |\n";
        let mut table = Table::default();
        let more: Vec<bool> = Parser::new_ext(text, Options::ENABLE_TABLES)
            .map(|event| table.event(&event))
            .collect();
        assert_eq!(more.iter().filter(|more| !**more).count(), 1);
        assert_eq!(table.render(), "a   | b\n----+------------------\none | x (https://x.org)");
    }
}

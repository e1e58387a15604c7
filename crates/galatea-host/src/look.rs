//! The layout of text for people: colours, width, line breaks and times.

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// Longest line, the width of a classic terminal. Quoted lines of a file are cut to it; single long
/// words exceed it.
pub const WIDTH: usize = 80;

/// The colours in use. Each stands next to a word or symbol with the same meaning.
#[derive(Debug, Clone, Copy)]
pub enum Color {
    /// An error.
    Red = 31,
    /// Success.
    Green = 32,
    /// A warning.
    Yellow = 33,
    /// The frame of a quoted line.
    Blue = 34,
    /// A label or a note.
    Cyan = 36,
}

/// How a reader sees text: the width of the lines, and colours.
pub trait Look: Copy {
    /// Width in characters at which text is broken.
    fn width(self) -> usize;

    /// The text in a colour.
    fn paint(self, color: Color, text: &str) -> String;

    /// The text in a colour, bold.
    fn bold(self, color: Color, text: &str) -> String;
}

/// Without colours, [`WIDTH`] wide.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

impl Look for Plain {
    fn width(self) -> usize {
        WIDTH
    }

    fn paint(self, _: Color, text: &str) -> String {
        text.to_owned()
    }

    fn bold(self, _: Color, text: &str) -> String {
        text.to_owned()
    }
}

/// Breaks text at spaces into lines of `first` and then `rest` characters. A longer word stays
/// whole, so that URLs can be copied.
pub fn wrap(text: &str, first: usize, rest: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let width = if lines.is_empty() { first } else { rest };
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// Formats milliseconds since 1970 for people (RFC 3339).
pub fn when(millis: i64) -> String {
    let time = OffsetDateTime::from_unix_timestamp(millis.div_euclid(1000)).ok();
    time.and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_else(|| format!("{millis} ms"))
}

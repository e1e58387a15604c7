//! One error, warning or note in the format that every command uses.
//!
//! ```text
//! error[GAL-TG-409]: another program is reading this Telegram bot's messages
//!   cause: getUpdates answered 409 Conflict
//!   where: TELEGRAM_BOT_TOKEN from .env line 4
//!   fix:   stop the other copy, or make a second bot for testing
//!   more:  galatea explain GAL-TG-409
//! ```

use galatea_core::{
    Error, Severity,
    character::Diagnostic,
    visible::{one_line, visible},
};
use serde_json::{Value, json};
use std::fmt::Write as _;

use crate::output::{Color, Style};

/// Longest line, the width of a classic terminal. Quoted lines of a file are cut to it; single long
/// words exceed it.
pub(crate) const WIDTH: usize = 80;

/// Severity of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// The command fails.
    Error,
    /// The command continues, but a setting or input is probably wrong.
    Warning,
    /// The command continues; for information.
    Note,
}

/// A place in a file, shown with the line and a caret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// File name as the user knows it.
    pub(crate) file: String,
    /// From 1.
    pub(crate) line: usize,
    /// From 1, in characters.
    pub(crate) column: usize,
    /// Characters to underline, at least 1.
    pub(crate) length: usize,
    /// The line with secrets masked, or the part of it around the column.
    pub(crate) text: String,
    /// Column in `text`, from 1, if `text` is only a part of the line.
    pub(crate) caret: Option<usize>,
}

/// One error or warning for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) level: Level,
    /// Stable code, if it has one.
    pub(crate) code: Option<String>,
    /// One sentence.
    pub(crate) message: String,
    pub(crate) place: Option<Place>,
    /// Labelled lines in the order shown: `cause`, `where`, `fix`, …
    pub(crate) lines: Vec<(String, String)>,
}

impl Report {
    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self {
            level: Level::Error,
            code: None,
            message: message.into(),
            place: None,
            lines: Vec::new(),
        }
    }

    pub(crate) fn warning(message: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::error(message) }
    }

    /// Sets the stable code.
    #[must_use]
    pub(crate) fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Sets the place in a file.
    #[must_use]
    pub(crate) fn place(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Adds a labelled line, unless `text` is empty.
    #[must_use]
    pub(crate) fn line(mut self, label: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.lines.push((label.into(), text));
        }
        self
    }

    /// Adds what was observed.
    #[must_use]
    pub(crate) fn cause(self, text: impl Into<String>) -> Self {
        self.line("cause", text)
    }

    /// Adds the next action.
    #[must_use]
    pub(crate) fn fix(self, text: impl Into<String>) -> Self {
        self.line("fix", text)
    }

    /// The report for programs: `level`, `code`, `message`, the place, and the labelled lines by
    /// their labels. The first line of a label counts.
    pub(crate) fn to_json(&self) -> Value {
        let level = match self.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        };
        let mut document = json!({ "level": level, "code": self.code, "message": self.message });
        if let (Some(Place { file, line, column, .. }), Some(fields)) =
            (&self.place, document.as_object_mut())
        {
            fields.insert("place".into(), json!({ "file": file, "line": line, "column": column }));
        }
        for (label, text) in &self.lines {
            if let Some(fields) = document.as_object_mut() {
                fields.entry(label.as_str()).or_insert_with(|| text.as_str().into());
            }
        }
        document
    }

    /// Renders the report. Every line ends with a newline.
    pub(crate) fn render(&self, style: Style) -> String {
        let mut text = String::new();
        let (word, color) = match self.level {
            Level::Error => ("error", Color::Red),
            Level::Warning => ("warning", Color::Yellow),
            Level::Note => ("note", Color::Cyan),
        };
        let head = self
            .code
            .as_ref()
            .map_or_else(|| format!("{word}:"), |code| format!("{word}[{code}]:"));
        let width = style.width();
        // A message may quote an argument, a name or a file, which may contain escapes.
        let message =
            wrap(&visible(&self.message), width.saturating_sub(head.len() + 1), width - 2);
        let _ = writeln!(text, "{} {}", style.bold(color, &head), message.join("\n  "));
        if let Some(place) = &self.place {
            text.push_str(&place.render(style));
        }
        let more = self
            .code
            .as_deref()
            .filter(|code| crate::catalogue::find(code).is_some())
            .map(|code| ("more".to_owned(), format!("galatea explain {code}")));
        for (label, line) in self.lines.iter().chain(&more) {
            // Labels are aligned to the longest common one, `  cause: `.
            let label = format!("  {:<7}", format!("{label}:"));
            let label = if label.ends_with(' ') { label } else { format!("{label} ") };
            let indent = format!("\n{}", " ".repeat(label.len()));
            let room = width - label.len();
            let line = visible(line);
            let body = line.lines().flat_map(|l| wrap(l, room, room)).collect::<Vec<_>>();
            let _ = writeln!(text, "{}{}", style.paint(Color::Cyan, &label), body.join(&indent));
        }
        text
    }
}

impl Place {
    fn render(&self, style: Style) -> String {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        let bar = style.paint(Color::Blue, "|");
        let room = style.width() - number.len() - 4;
        let (shown, column) = window(&self.text, self.caret.unwrap_or(self.column), room);
        let length = self.length.clamp(1, shown.chars().count().saturating_sub(column - 1).max(1));
        let caret = style.bold(Color::Red, &"^".repeat(length));
        format!(
            "{gutter}{arrow} {file}:{line}:{col}\n {gutter}{bar}\n {number}{bar} {shown}\n {gutter}{bar} {pad}{caret}\n",
            arrow = style.paint(Color::Blue, "-->"),
            file = one_line(&self.file),
            line = self.line,
            col = self.column,
            pad = " ".repeat(column - 1),
        )
    }
}

/// The part of a line around a column that fits into `room` characters, and the column in that part
/// (from 1). Tabs become spaces.
fn window(line: &str, column: usize, room: usize) -> (String, usize) {
    let chars: Vec<char> = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let at = column.clamp(1, chars.len() + 1) - 1;
    if chars.len() <= room {
        return (chars.into_iter().collect(), at + 1);
    }
    let start = at.saturating_sub(room / 2).min(chars.len() - room);
    let end = start + room;
    let shown = chars[start..end].iter().enumerate().map(|(i, c)| {
        if (i == 0 && start > 0) || (i + 1 == room && end < chars.len()) { '…' } else { *c }
    });
    (shown.collect(), at - start + 1)
}

/// Breaks text at spaces into lines of `first` and then `rest` characters. A longer word stays
/// whole, so that URLs can be copied.
pub(crate) fn wrap(text: &str, first: usize, rest: usize) -> Vec<String> {
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

/// Wraps text that follows a label of `indent` columns. Further lines start below the text. If too
/// little room is left beside the label, the text starts on its own line. Text that fits, and text
/// that is not written to a terminal, is unchanged.
pub(crate) fn hang(indent: usize, text: &str, style: Style) -> String {
    let Some(width) = style
        .columns()
        .filter(|width| text.lines().any(|line| indent + line.chars().count() > *width))
    else {
        return text.to_owned();
    };
    let (begin, indent) =
        if indent + LEAST <= width { ("", indent) } else { (BELOW, BELOW.len() - 1) };
    let room = width.saturating_sub(indent).max(1);
    let lines: Vec<String> = text.lines().flat_map(|line| wrap(line, room, room)).collect();
    format!("{begin}{}", lines.join(&format!("\n{}", " ".repeat(indent))))
}

/// Minimum width for text beside a label.
const LEAST: usize = 18;
/// Starts a line below the label.
const BELOW: &str = "\n    ";

impl From<&Error> for Report {
    fn from(error: &Error) -> Self {
        let mut report = Self::error(error.message());
        report.code = error.code().map(str::to_owned);
        // The order in which people read: observation, origin, the rest.
        let rank = |key: &str| match key {
            "cause" => 0,
            "where" => 1,
            _ => 2,
        };
        let mut context: Vec<_> = error.context().iter().collect();
        context.sort_by_key(|(key, _)| rank(key));
        for (key, value) in context {
            report = report.line(*key, value.clone());
        }
        report.fix(error.fix().unwrap_or_default())
    }
}

impl From<&Diagnostic> for Report {
    fn from(diagnostic: &Diagnostic) -> Self {
        let level = match diagnostic.severity {
            Severity::Error => Level::Error,
            Severity::Warning => Level::Warning,
            Severity::Info | Severity::Ok => Level::Note,
        };
        let report =
            Self { level, ..Self::error(diagnostic.message.clone()) }.code(diagnostic.code);
        let report = if diagnostic.line == 0 {
            report.line("where", diagnostic.file.clone())
        } else {
            report.place(Place {
                file: diagnostic.file.clone(),
                line: diagnostic.line,
                column: diagnostic.column,
                length: diagnostic.width,
                text: diagnostic.snippet.clone(),
                caret: Some(diagnostic.caret + 1),
            })
        };
        report.fix(diagnostic.help.clone().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_form_wraps_and_lines_up() {
        let error = Error::new(galatea_core::ErrorKind::Conflict, "another program is reading this Telegram bot's messages")
            .with_code("GAL-XX-TEST")
            .with("where", "TELEGRAM_BOT_TOKEN from .env line 4")
            .with("cause", "getUpdates answered 409 Conflict")
            .with_fix("stop the other copy (old terminal, container, server), or make a second bot for testing. Retrying in 30 s; not crashing.");
        insta::assert_snapshot!(Report::from(&error).render(Style::plain()), @"
        error[GAL-XX-TEST]: another program is reading this Telegram bot's messages
          cause: getUpdates answered 409 Conflict
          where: TELEGRAM_BOT_TOKEN from .env line 4
          fix:   stop the other copy (old terminal, container, server), or make a second
                 bot for testing. Retrying in 30 s; not crashing.
        ");
    }

    #[test]
    fn what_is_quoted_reaches_the_terminal_without_escapes() {
        let evil = "\u{1b}[2J\u{9b}1m\u{202e}\u{7}x";
        let place = Place {
            file: evil.into(),
            line: 1,
            column: 1,
            length: 1,
            text: evil.into(),
            caret: None,
        };
        let report = Report::error(evil).cause(evil).line("asked for", evil).place(place);
        let text = report.render(Style::plain());
        assert!(text.contains("asked for: [2J1mx"), "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }

    #[test]
    fn a_long_line_is_shown_around_the_caret() {
        let place = Place {
            file: "a.json".into(),
            line: 12,
            column: 150,
            length: 3,
            text: format!("{}BAD{}", "x".repeat(149), "y".repeat(100)),
            caret: None,
        };
        let text = place.render(Style::plain());
        assert!(text.lines().all(|l| l.chars().count() <= WIDTH), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        let caret = lines[3].find("^^^").unwrap();
        assert_eq!(lines[2].chars().skip(caret).take(3).collect::<String>(), "BAD");
    }

    #[test]
    fn a_caret_past_the_end_stays_on_the_line() {
        let place = Place {
            file: "a".into(),
            line: 1,
            column: 99,
            length: 9,
            text: "ab\tc".into(),
            caret: None,
        };
        assert!(place.render(Style::plain()).contains("ab c"));
    }

    #[test]
    fn text_hangs_below_its_beginning_or_below_its_head() {
        let text = "one two three four five six seven";
        assert_eq!(
            hang(13, text, Style::narrow(40)),
            "one two three four five six\n             seven"
        );
        assert_eq!(hang(25, text, Style::narrow(40)), "\n    one two three four five six seven");
        assert_eq!(hang(13, text, Style::plain()), text);
    }

    #[test]
    fn a_narrow_terminal_gets_narrow_reports() {
        let report = Report::error("another program is reading this Telegram bot's messages")
            .code("GAL-TG-409")
            .cause("getUpdates answered 409 Conflict, as it does")
            .fix("stop the other copy");
        let text = report.render(Style::narrow(40));
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
    }
}

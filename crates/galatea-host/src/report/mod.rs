//! One error, warning or note in the format that every command uses.
//!
//! ```text
//! error[GAL-TG-409]: another program is reading this Telegram bot's messages
//!   cause: getUpdates answered 409 Conflict
//!   where: TELEGRAM_BOT_TOKEN from .env line 4
//!   fix:   stop the other copy, or make a second bot for testing
//!   more:  galatea explain GAL-TG-409
//! ```

mod faults;
mod trouble;

use galatea_core::{
    Error, Severity,
    character::{Diagnostic, Refused},
    visible::{one_line, visible},
};
use serde_json::{Value, json};
use std::fmt::{self, Display, Formatter, Write as _};

use crate::{
    catalogue,
    look::{Color, Look, Plain, wrap},
};

pub use faults::Faults;
pub use trouble::{NO_ACTION, Trouble};

/// Severity of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The command fails.
    Error,
    /// The command continues, but a setting or input is probably wrong.
    Warning,
    /// The command continues; for information.
    Note,
}

/// A place in a file, shown with the line and a caret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// File name as the user knows it.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// Characters to underline, at least 1.
    pub length: usize,
    /// The line with secrets masked, or the part of it around the column.
    pub text: String,
    /// Column in `text`, from 1, if `text` is only a part of the line.
    pub caret: Option<usize>,
}

/// One error or warning for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How severe it is.
    pub level: Level,
    /// Stable code, if it has one.
    pub code: Option<String>,
    /// One sentence.
    pub message: String,
    /// The place in a file that it is about.
    pub place: Option<Place>,
    /// Labelled lines in the order shown: `cause`, `where`, `fix`, …
    pub lines: Vec<(String, String)>,
}

impl Report {
    /// An error with this message.
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            level: Level::Error,
            code: None,
            message: message.into(),
            place: None,
            lines: Vec::new(),
        }
    }

    /// A warning with this message.
    pub fn warning(message: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::error(message) }
    }

    /// Sets the stable code.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Sets the place in a file.
    #[must_use]
    pub fn place(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Adds a labelled line, unless `text` is empty.
    #[must_use]
    pub fn line(mut self, label: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.lines.push((label.into(), text));
        }
        self
    }

    /// Adds what was observed.
    #[must_use]
    pub fn cause(self, text: impl Into<String>) -> Self {
        self.line("cause", text)
    }

    /// Adds the next action.
    #[must_use]
    pub fn fix(self, text: impl Into<String>) -> Self {
        self.line("fix", text)
    }

    /// The report for programs: `level`, `code`, `message`, the place, and the labelled lines by
    /// their labels. The first line of a label counts.
    pub fn to_json(&self) -> Value {
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

    /// Every fault that an error stands for: each fault of a refused character file, or the error
    /// itself.
    pub fn all_of(error: &Error) -> Vec<Self> {
        // The source lists every fault; the error contains the first only.
        match std::error::Error::source(error).and_then(|source| source.downcast_ref::<Refused>()) {
            Some(refused) => refused.diagnostics.iter().map(Self::from).collect(),
            None => vec![Self::from(error)],
        }
    }

    /// Renders the report. Every line ends with a newline.
    pub fn render(&self, look: impl Look) -> String {
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
        let width = look.width();
        // A message may quote an argument, a name or a file, which may contain escapes.
        let message =
            wrap(&visible(&self.message), width.saturating_sub(head.len() + 1), width - 2);
        let _ = writeln!(text, "{} {}", look.bold(color, &head), message.join("\n  "));
        if let Some(place) = &self.place {
            text.push_str(&place.render(look));
        }
        let more = self
            .code
            .as_deref()
            .filter(|code| catalogue::find(code).is_some())
            .map(|code| ("more".to_owned(), format!("galatea explain {code}")));
        for (label, line) in self.lines.iter().chain(&more) {
            // Labels are aligned to the longest common one, `  cause: `.
            let label = format!("  {:<7}", format!("{label}:"));
            let label = if label.ends_with(' ') { label } else { format!("{label} ") };
            let indent = format!("\n{}", " ".repeat(label.len()));
            let room = width - label.len();
            let line = visible(line);
            let body = line.lines().flat_map(|l| wrap(l, room, room)).collect::<Vec<_>>();
            let _ = writeln!(text, "{}{}", look.paint(Color::Cyan, &label), body.join(&indent));
        }
        text
    }
}

/// In plain text, 80 columns wide. Every line ends with a newline.
impl Display for Report {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.render(Plain))
    }
}

impl Place {
    fn render(&self, look: impl Look) -> String {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        let bar = look.paint(Color::Blue, "|");
        let room = look.width() - number.len() - 4;
        let (shown, column) = window(&self.text, self.caret.unwrap_or(self.column), room);
        let length = self.length.clamp(1, shown.chars().count().saturating_sub(column - 1).max(1));
        let caret = look.bold(Color::Red, &"^".repeat(length));
        format!(
            "{gutter}{arrow} {file}:{line}:{col}\n {gutter}{bar}\n {number}{bar} {shown}\n {gutter}{bar} {pad}{caret}\n",
            arrow = look.paint(Color::Blue, "-->"),
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
    use crate::look::WIDTH;

    #[test]
    fn the_error_form_wraps_and_lines_up() {
        let error = Error::new(galatea_core::ErrorKind::Conflict, "another program is reading this Telegram bot's messages")
            .with_code("GAL-XX-TEST")
            .with("where", "TELEGRAM_BOT_TOKEN from .env line 4")
            .with("cause", "getUpdates answered 409 Conflict")
            .with_fix("stop the other copy (old terminal, container, server), or make a second bot for testing. Retrying in 30 s; not crashing.");
        insta::assert_snapshot!(Report::from(&error).render(Plain), @"
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
        let text = report.render(Plain);
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
        let text = place.render(Plain);
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
        assert!(place.render(Plain).contains("ab c"));
    }
}

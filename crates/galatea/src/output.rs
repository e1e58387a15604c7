//! Output: stdout holds data, stderr holds talk; colour only where it helps; secrets never.

use galatea_core::{Error, ErrorKind, Result};
use serde_json::Value;
use std::{
    fmt::Display,
    io::{self, IsTerminal, Write},
    sync::{Arc, OnceLock},
};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::{
    redact::Redactor,
    report::{Report, WIDTH},
};

/// Columns below which lines are not broken any further.
const NARROWEST: usize = 30;

/// A moment in milliseconds since 1970, for people: RFC 3339.
pub(crate) fn when(millis: i64) -> String {
    let time = OffsetDateTime::from_unix_timestamp(millis.div_euclid(1000)).ok();
    time.and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_else(|| format!("{millis} ms"))
}

/// The few colours used; each only beside a word or shape that says the same.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Color {
    /// Failure.
    Red = 31,
    /// Success.
    Green = 32,
    /// Attention.
    Yellow = 33,
    /// Frames.
    Blue = 34,
    /// Labels.
    Cyan = 36,
}

/// Whether a stream takes colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    colored: bool,
    columns: Option<usize>,
}

impl Style {
    /// No escape codes.
    #[cfg(test)]
    pub(crate) const fn plain() -> Self {
        Self { colored: false, columns: None }
    }

    /// No escape codes, so many columns.
    #[cfg(test)]
    pub(crate) const fn narrow(width: usize) -> Self {
        Self { colored: false, columns: Some(width) }
    }

    /// By the stream and `CLICOLOR_FORCE`, `NO_COLOR`, `TERM=dumb` (<https://no-color.org>,
    /// <https://bixense.com/clicolors>).
    fn of(terminal: bool) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty() && v != "0");
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        let colored = !set("NO_COLOR") && (set("CLICOLOR_FORCE") || (terminal && !dumb));
        Self { colored, columns: columns() }
    }

    /// Text in a colour.
    pub(crate) fn paint(self, color: Color, text: &str) -> String {
        if self.colored { format!("\x1b[{}m{text}\x1b[0m", color as u8) } else { text.to_owned() }
    }

    /// Text in a colour, bold.
    pub(crate) fn bold(self, color: Color, text: &str) -> String {
        if self.colored { format!("\x1b[1;{}m{text}\x1b[0m", color as u8) } else { text.to_owned() }
    }

    /// Columns of a line that we break ourselves: no wider than reads well, no narrower than a
    /// first column and a word.
    pub(crate) fn width(self) -> usize {
        self.columns.map_or(WIDTH, |columns| columns.clamp(NARROWEST, WIDTH))
    }

    /// Columns of the terminal; none where there is none, so that what a program reads keeps its
    /// lines.
    pub(crate) fn columns(self) -> Option<usize> {
        self.columns.map(|columns| columns.max(NARROWEST))
    }

    /// Whether escape codes are written.
    pub(crate) fn is_colored(self) -> bool {
        self.colored
    }
}

/// The columns of the terminal: `COLUMNS` where it is exported (POSIX, Environment Variables §8.3),
/// else what the terminal says.
fn columns() -> Option<usize> {
    let told = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.trim().parse().ok())
        .filter(|columns| *columns > 0);
    told.or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
}

/// Where a command writes. Every way out passes the redactor.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    /// Only data and errors (`-q`).
    pub(crate) quiet: bool,
    /// For stdout.
    pub(crate) style: Style,
    /// For stderr.
    pub(crate) talk_style: Style,
    /// Knows the secrets.
    pub(crate) redactor: Redactor,
    /// Why stdout took no more of the data.
    lost: Arc<OnceLock<io::Error>>,
}

impl Output {
    /// For this process's streams.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            style: Style::of(io::stdout().is_terminal()),
            talk_style: Style::of(io::stderr().is_terminal()),
            redactor: Redactor::default(),
            lost: Arc::default(),
        }
    }

    /// A line of data, to stdout. A reader that has gone away (`| head`) is no failure.
    pub(crate) fn data(&self, line: impl Display) {
        let line = line.to_string();
        self.write(format!("{}\n", self.redactor.clean(&line)).as_bytes());
    }

    /// Bytes made for a program, such as a completion script, to stdout as they are.
    pub(crate) fn raw(&self, bytes: &[u8]) {
        self.write(bytes);
    }

    fn write(&self, bytes: &[u8]) {
        let mut out = io::stdout().lock();
        if let Err(error) = out.write_all(bytes).and_then(|()| out.flush())
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            // The first failure is the cause of the others.
            let _ = self.lost.set(error);
        }
    }

    /// What was to go to stdout and could not: a full disk, a closed file.
    ///
    /// # Errors
    /// `GAL-FILE-WRITE` with the cause.
    pub(crate) fn finish(&self) -> Result<()> {
        let Some(cause) = self.lost.get() else { return Ok(()) };
        let fix = if cause.kind() == io::ErrorKind::StorageFull {
            "free space there, or write it elsewhere"
        } else {
            "write it elsewhere"
        };
        Err(Error::new(ErrorKind::Unavailable, "the output could not be written")
            .with_code("GAL-FILE-WRITE")
            .with("cause", cause)
            .with("where", "standard output")
            .with_fix(fix))
    }

    /// A JSON document to stdout: `{"schema": "galatea.<command>/1", …}`.
    pub(crate) fn json(&self, schema: &str, body: Value) {
        let mut document = serde_json::Map::from_iter([("schema".to_owned(), Value::from(schema))]);
        match body {
            Value::Object(fields) => document.extend(fields),
            other => {
                document.insert("items".to_owned(), other);
            }
        }
        let text = format!("{:#}", Value::Object(document));
        self.data(text);
    }

    /// A line of talk, to stderr, unless quiet.
    pub(crate) fn say(&self, line: impl Display) {
        if !self.quiet {
            let line = line.to_string();
            let _ = writeln!(io::stderr().lock(), "{}", self.redactor.clean(&line));
        }
    }

    /// An error or warning, to stderr; `-q` hides warnings.
    pub(crate) fn report(&self, report: &Report) {
        if self.quiet && report.level != crate::report::Level::Error {
            return;
        }
        let text = report.render(self.talk_style);
        let _ = write!(io::stderr().lock(), "{}", self.redactor.clean(&text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_wide_as_the_terminal_within_reason() {
        let width = |columns| Style { colored: false, columns }.width();
        assert_eq!([None, Some(40), Some(79), Some(300), Some(5)].map(width), [80, 40, 79, 80, 30]);
    }
}

//! Output of commands: data to stdout, messages to stderr, colours only on terminals, secrets
//! masked.

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
    report::{Report, WIDTH, hang},
};

/// Lines are not broken to fewer columns than this.
const NARROWEST: usize = 30;

/// Formats milliseconds since 1970 for people (RFC 3339).
pub(crate) fn when(millis: i64) -> String {
    let time = OffsetDateTime::from_unix_timestamp(millis.div_euclid(1000)).ok();
    time.and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_else(|| format!("{millis} ms"))
}

/// The colours in use. Each stands next to a word or symbol with the same meaning.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Color {
    Red = 31,
    Green = 32,
    Yellow = 33,
    Blue = 34,
    Cyan = 36,
}

/// Whether a stream takes colours, and how wide its terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    colored: bool,
    columns: Option<usize>,
}

impl Style {
    /// Without escape codes and without a width.
    #[cfg(test)]
    pub(crate) const fn plain() -> Self {
        Self { colored: false, columns: None }
    }

    /// Without escape codes, `width` columns wide.
    #[cfg(test)]
    pub(crate) const fn narrow(width: usize) -> Self {
        Self { colored: false, columns: Some(width) }
    }

    /// Style of a stream, from `CLICOLOR_FORCE`, `NO_COLOR` and `TERM=dumb`
    /// (<https://no-color.org>, <https://bixense.com/clicolors>).
    fn of(terminal: bool) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty() && v != "0");
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        let colored = !set("NO_COLOR") && (set("CLICOLOR_FORCE") || (terminal && !dumb));
        Self { colored, columns: columns() }
    }

    pub(crate) fn paint(self, color: Color, text: &str) -> String {
        if self.colored { format!("\x1b[{}m{text}\x1b[0m", color as u8) } else { text.to_owned() }
    }

    pub(crate) fn bold(self, color: Color, text: &str) -> String {
        if self.colored { format!("\x1b[1;{}m{text}\x1b[0m", color as u8) } else { text.to_owned() }
    }

    /// Width at which text is broken: at most [`WIDTH`], at least [`NARROWEST`].
    pub(crate) fn width(self) -> usize {
        self.columns.map_or(WIDTH, |columns| columns.clamp(NARROWEST, WIDTH))
    }

    /// Columns of the terminal. `None` without a terminal, so that lines read by programs stay
    /// whole.
    pub(crate) fn columns(self) -> Option<usize> {
        self.columns.map(|columns| columns.max(NARROWEST))
    }

    pub(crate) fn is_colored(self) -> bool {
        self.colored
    }
}

/// Columns of the terminal: `COLUMNS` if it is exported (POSIX, Environment Variables §8.3),
/// otherwise the size the terminal reports.
fn columns() -> Option<usize> {
    let set = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.trim().parse().ok())
        .filter(|columns| *columns > 0);
    set.or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
}

/// The streams a command writes to. All text except [`Output::raw`] passes the redactor.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    /// Write only data and errors (`-q`).
    pub(crate) quiet: bool,
    /// Style of stdout.
    pub(crate) style: Style,
    /// Style of stderr.
    pub(crate) talk_style: Style,
    /// Masks secrets.
    pub(crate) redactor: Redactor,
    /// The first error of a write to stdout.
    lost: Arc<OnceLock<io::Error>>,
}

impl Output {
    /// Output to the streams of this process.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            style: Style::of(io::stdout().is_terminal()),
            talk_style: Style::of(io::stderr().is_terminal()),
            redactor: Redactor::default(),
            lost: Arc::default(),
        }
    }

    /// Writes a line of data to stdout. A closed pipe (`| head`) is not an error.
    pub(crate) fn data(&self, line: impl Display) {
        let line = line.to_string();
        self.write(format!("{}\n", self.redactor.clean(&line)).as_bytes());
    }

    /// Writes a row of a list to stdout. A row that is wider than the terminal goes on in lines
    /// below, indented by `indent` columns.
    pub(crate) fn row(&self, indent: usize, line: &str) {
        self.data(hang(indent, line, self.style));
    }

    /// Writes bytes to stdout unchanged, such as a completion script.
    pub(crate) fn raw(&self, bytes: &[u8]) {
        self.write(bytes);
    }

    fn write(&self, bytes: &[u8]) {
        let mut out = io::stdout().lock();
        if let Err(error) = out.write_all(bytes).and_then(|()| out.flush())
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            // Keep the first error, because later ones follow from it.
            let _ = self.lost.set(error);
        }
    }

    /// Reports whether a write to stdout failed: full disk, closed file. Called once at the end of
    /// a command.
    ///
    /// # Errors
    /// `GAL-FILE-WRITE` with the cause.
    pub(crate) fn finish(&self) -> Result<()> {
        self.lost.get().map_or(Ok(()), |cause| Err(Self::unwritten(cause)))
    }

    /// The error for data that stdout did not take.
    pub(crate) fn unwritten(cause: &io::Error) -> Error {
        let fix = match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free space there, or write it elsewhere"
            }
            _ => "write it elsewhere",
        };
        Error::new(ErrorKind::Unavailable, "the output could not be written")
            .with_code("GAL-FILE-WRITE")
            .with("cause", cause)
            .with("where", "standard output")
            .with_fix(fix)
    }

    /// Writes a JSON document to stdout: `{"schema": "galatea.<command>/1", …}`.
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

    /// Writes a line of conversation with the user to stderr, unless `-q` is set.
    pub(crate) fn say(&self, line: impl Display) {
        if !self.quiet {
            let line = line.to_string();
            let _ = writeln!(io::stderr().lock(), "{}", self.redactor.clean(&line));
        }
    }

    /// Writes an error or warning to stderr. `-q` hides warnings.
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

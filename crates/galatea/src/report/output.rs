//! Output of commands: data to stdout, messages to stderr, colours only on terminals, secrets
//! masked, and nothing that a terminal would obey.

use galatea_core::{Error, ErrorKind, Result};
use rand::RngExt as _;
use serde_json::Value;
use std::{
    borrow::Cow,
    fmt::Display,
    io::{self, IsTerminal, Write},
    sync::{Arc, OnceLock},
};

use crate::report::{clean::Redactor, printable};
use galatea_host::{
    look::{Color, Look, WIDTH, wrap},
    report::{Level, Report},
};

/// Lines are not broken to fewer columns than this.
const NARROWEST: usize = 30;

/// Whether a stream takes colours, and how wide its terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Stands behind the escape character of a colour, so that [`Output`] tells the program's
    /// colours from those in a stranger's name. `None` without colours.
    colors: Option<char>,
    columns: Option<usize>,
}

impl Style {
    /// Without escape codes and without a width.
    #[cfg(test)]
    pub(crate) const fn plain() -> Self {
        Self { colors: None, columns: None }
    }

    /// Without escape codes, `width` columns wide.
    #[cfg(test)]
    pub(crate) const fn narrow(width: usize) -> Self {
        Self { colors: None, columns: Some(width) }
    }

    /// Style of a stream, from `CLICOLOR_FORCE`, `NO_COLOR` and `TERM=dumb`
    /// (<https://no-color.org>, <https://bixense.com/clicolors>).
    fn of(terminal: bool) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty() && v != "0");
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        let colored = !set("NO_COLOR") && (set("CLICOLOR_FORCE") || (terminal && !dumb));
        Self { colors: colored.then(unguessed), columns: columns() }
    }

    fn painted(self, color: u8, text: &str, bold: &str) -> String {
        match self.mark() {
            Some(mark) => format!("{mark}{bold}{color}m{text}{mark}0m"),
            None => text.to_owned(),
        }
    }

    /// What the program's colours begin with until they are written.
    fn mark(self) -> Option<String> {
        self.colors.map(|mark| format!("\x1b{mark}["))
    }

    /// The text as it is written to a terminal: with this style's colours, and nothing else that a
    /// terminal obeys.
    pub(crate) fn printable(self, text: &str) -> Cow<'_, str> {
        match self.mark() {
            Some(mark) => printable::marked(text, &mark),
            None => printable::text(text),
        }
    }

    /// Columns of the terminal. `None` without a terminal, so that lines read by programs stay
    /// whole.
    pub(crate) fn columns(self) -> Option<usize> {
        self.columns.map(|columns| columns.max(NARROWEST))
    }

    pub(crate) fn is_colored(self) -> bool {
        self.colors.is_some()
    }
}

impl Look for Style {
    /// At most [`WIDTH`], at least [`NARROWEST`].
    fn width(self) -> usize {
        self.columns.map_or(WIDTH, |columns| columns.clamp(NARROWEST, WIDTH))
    }

    fn paint(self, color: Color, text: &str) -> String {
        self.painted(color as u8, text, "")
    }

    fn bold(self, color: Color, text: &str) -> String {
        self.painted(color as u8, text, "1;")
    }
}

/// A character of private use (Unicode, plane 16) that no text can know.
fn unguessed() -> char {
    char::from_u32(rand::rng().random_range(0x10_0000..0x10_fffe)).unwrap_or('\u{10fffd}')
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

/// The streams a command writes to. All text except [`Output::raw`] passes the redactor, and all of
/// it has what a terminal would obey escaped.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    /// Write only data and errors (`-q`).
    pub(crate) quiet: bool,
    /// Style of stdout.
    pub(crate) style: Style,
    /// Style of stderr.
    pub(crate) talk_style: Style,
    /// Write errors as JSON, too (`--json`).
    pub(crate) json: bool,
    /// Masks secrets.
    pub(crate) redactor: Redactor,
    /// The first error of a write to stdout.
    lost: Arc<OnceLock<io::Error>>,
    /// Set once stdout has a JSON document.
    documented: Arc<OnceLock<()>>,
}

impl Output {
    /// Output to the streams of this process.
    pub(crate) fn new(quiet: bool, json: bool) -> Self {
        Self {
            quiet,
            json,
            style: Style::of(io::stdout().is_terminal()),
            talk_style: Style::of(io::stderr().is_terminal()),
            redactor: Redactor::default(),
            lost: Arc::default(),
            documented: Arc::default(),
        }
    }

    /// Writes a line of data to stdout. A closed pipe (`| head`) is not an error.
    pub(crate) fn data(&self, line: impl Display) {
        let line = line.to_string();
        let line = self.redactor.clean(&line);
        self.write(format!("{}\n", self.style.printable(&line)).as_bytes());
    }

    /// Writes a row of a list to stdout. A row that is wider than the terminal goes on in lines
    /// below, indented by `indent` columns.
    pub(crate) fn row(&self, indent: usize, line: &str) {
        self.data(hang(indent, line, self.style));
    }

    /// Writes bytes to stdout unchanged, such as a completion script or a file. Only on a terminal,
    /// what it would obey is escaped.
    pub(crate) fn raw(&self, bytes: &[u8]) {
        match std::str::from_utf8(bytes).ok().filter(|_| io::stdout().is_terminal()) {
            Some(text) => self.write(printable::json(text).as_bytes()),
            None => self.write(bytes),
        }
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
        let _ = self.documented.set(());
        self.write(self.document(schema, body).as_bytes());
    }

    /// Writes the errors of a command with `--json`: to stdout, which then has one document, or to
    /// stderr if the command has written its own.
    pub(crate) fn json_errors(&self, body: Value) {
        let document = self.document("galatea.error/1", body);
        if self.documented.set(()).is_ok() && self.lost.get().is_none() {
            self.write(document.as_bytes());
        } else {
            let _ = io::stderr().lock().write_all(document.as_bytes());
        }
    }

    fn document(&self, schema: &str, body: Value) -> String {
        let mut document = serde_json::Map::from_iter([("schema".to_owned(), Value::from(schema))]);
        match body {
            Value::Object(fields) => document.extend(fields),
            other => {
                document.insert("items".to_owned(), other);
            }
        }
        let text = format!("{:#}", Value::Object(document));
        let text = self.redactor.clean(&text);
        format!("{}\n", printable::json(&text))
    }

    /// Writes a line of conversation with the user to stderr, unless `-q` is set.
    pub(crate) fn say(&self, line: impl Display) {
        if !self.quiet {
            let line = line.to_string();
            let line = self.redactor.clean(&line);
            let _ = writeln!(io::stderr().lock(), "{}", self.talk_style.printable(&line));
        }
    }

    /// Writes an error or warning to stderr. `-q` hides warnings.
    pub(crate) fn report(&self, report: &Report) {
        if self.quiet && report.level != Level::Error {
            return;
        }
        let text = report.render(self.talk_style);
        let text = self.redactor.clean_error(&text);
        let _ = write!(io::stderr().lock(), "{}", self.talk_style.printable(&text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_wide_as_the_terminal_within_reason() {
        let width = |columns| Style { colors: None, columns }.width();
        assert_eq!([None, Some(40), Some(79), Some(300), Some(5)].map(width), [80, 40, 79, 80, 30]);
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

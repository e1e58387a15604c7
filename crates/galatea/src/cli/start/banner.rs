//! The text shown at the start: paths, agents with their models, and platforms that are off, with
//! the reason.

use std::fmt::Write as _;

use crate::report::output::{Style, hang};
use galatea_host::look::{Color, Look, wrap};

/// Width of the first column, including the space after the name.
const NAME: usize = 11;
/// Width of the `off` column.
const STATE: usize = 5;

/// The banner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Banner {
    /// First line, such as `galatea 0.1.0 — no .env here, starting the demo agent`.
    pub(crate) title: String,
    pub(crate) rows: Vec<Row>,
    /// Suggestions for the next step.
    pub(crate) next: Vec<&'static str>,
}

/// One line of the banner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Row {
    /// A name and a text.
    Fact { name: String, text: String },
    /// A platform that is off, with the reason or how to turn it on.
    Off { name: String, why: String },
    /// An empty line, between agents.
    Gap,
}

impl Row {
    pub(crate) fn fact(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Fact { name: name.into(), text: text.into() }
    }

    pub(crate) fn off(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Off { name: name.into(), why: why.into() }
    }
}

impl Banner {
    /// Renders the banner. Every line ends with a newline.
    pub(crate) fn render(&self, style: Style) -> String {
        let mut text =
            format!("{}\n\n", wrap(&self.title, style.width(), style.width()).join("\n"));
        for row in &self.rows {
            match row {
                Row::Fact { name, text: fact } => {
                    let _ = writeln!(
                        text,
                        "  {} {}",
                        style.paint(Color::Cyan, &pad(name, NAME - 1)),
                        hang(2 + NAME, fact, style)
                    );
                }
                Row::Off { name, why } => {
                    let off = style.paint(Color::Yellow, &pad("off", STATE - 1));
                    let _ = writeln!(
                        text,
                        "  {} {off} {}",
                        style.paint(Color::Cyan, &pad(name, NAME - 1)),
                        hang(2 + NAME + STATE, why, style)
                    );
                }
                Row::Gap => text.push('\n'),
            }
        }
        if !self.next.is_empty() {
            let next = self.next.join(" · ");
            let stop = "Ctrl-C stops";
            let wide = style
                .columns()
                .is_none_or(|columns| 2 + NAME + next.chars().count() + 10 + stop.len() <= columns);
            let next = if wide {
                format!("{next}          {stop}")
            } else {
                hang(2 + NAME, &format!("{next} · {stop}"), style)
            };
            let _ = writeln!(text, "\n  {} {next}", pad("Next", NAME - 1));
        }
        text
    }
}

fn pad(text: &str, width: usize) -> String {
    format!("{text:width$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_off_says_why() {
        let banner = Banner {
            title: "galatea 0.1.0 — no .env here, starting the demo agent".into(),
            rows: vec![
                Row::fact("Storage", "./.galatea/galatea.db (SQLite, created)"),
                Row::Gap,
                Row::fact("Agent", "Eliza (built-in)"),
                Row::off("Telegram", "set TELEGRAM_BOT_TOKEN"),
            ],
            next: vec!["galatea chat", "galatea doctor"],
        };
        insta::assert_snapshot!(banner.render(Style::plain()), @r"
        galatea 0.1.0 — no .env here, starting the demo agent

          Storage    ./.galatea/galatea.db (SQLite, created)

          Agent      Eliza (built-in)
          Telegram   off  set TELEGRAM_BOT_TOKEN

          Next       galatea chat · galatea doctor          Ctrl-C stops
        ");
    }

    #[test]
    fn forty_columns_are_enough() {
        let banner = Banner {
            title: "galatea 0.1.0 — no .env here, starting the demo agent".into(),
            rows: vec![
                Row::fact("Storage", "./.galatea/galatea.db (SQLite, created)"),
                Row::fact("Model", "offline script — pattern matching, not AI"),
                Row::off("Telegram", "set TELEGRAM_BOT_TOKEN"),
                Row::off("X", "set TWITTER_API_KEY and 3 more"),
            ],
            next: vec!["galatea init", "galatea chat", "galatea doctor"],
        };
        let text = banner.render(Style::narrow(40));
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        insta::assert_snapshot!(text, @r"
        galatea 0.1.0 — no .env here, starting
        the demo agent

          Storage    ./.galatea/galatea.db
                     (SQLite, created)
          Model      offline script — pattern
                     matching, not AI
          Telegram   off  set TELEGRAM_BOT_TOKEN
          X          off  set TWITTER_API_KEY
                          and 3 more

          Next       galatea init · galatea chat
                     · galatea doctor · Ctrl-C
                     stops
        ");
    }
}

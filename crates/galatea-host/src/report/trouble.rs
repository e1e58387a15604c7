//! The current problem of a connector or a model, split into the parts of a report: message, code,
//! cause, origin and fix.

use galatea_core::{Error, Health};
use std::fmt::Write as _;

use super::{Level, Report};
use crate::catalogue;

/// Ending of the codes for platform rate limits. Nothing is broken then and no message is lost, so
/// they are shown as notes.
const FLOOD: &str = "-429";
/// Start of a fix that requires no action.
pub const NO_ACTION: &str = "nothing to do";

/// A current problem of a connector or a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trouble {
    /// One sentence.
    pub message: String,
    /// Stable code.
    pub code: Option<String>,
    /// What was observed.
    pub cause: Option<String>,
    /// Where the setting comes from.
    pub origin: Option<String>,
    /// The next action, for people.
    pub fix: Option<String>,
    /// Time of the next attempt, for people: `next try in 30 s`.
    pub next: Option<String>,
}

impl Trouble {
    /// From an error.
    pub fn of(error: &Error) -> Self {
        let value_of = |key: &str| {
            error.context().iter().find(|(known, _)| *known == key).map(|(_, value)| value.clone())
        };
        Self {
            message: error.message().to_owned(),
            code: error.code().map(str::to_owned),
            cause: value_of("cause"),
            origin: value_of("where"),
            fix: error.fix().map(str::to_owned),
            next: None,
        }
    }

    /// From a connector's health. `None` for states that need no action.
    pub fn of_connector(health: &Health) -> Option<Self> {
        let (reason, code, fix) = match health {
            Health::Starting | Health::Elsewhere | Health::Up { .. } | Health::Degraded { .. } => {
                return None;
            }
            Health::Retrying { reason, code } => {
                (reason, code.clone(), code.as_deref().and_then(usual_fix))
            }
            Health::Down { reason, code, fix } => (reason, code.clone(), fix.clone()),
        };
        Some(Self { code, fix, ..Self::of_text(reason) })
    }

    /// From the text that an [`Error`] displays, as stored in verdicts.
    pub fn of_text(text: &str) -> Self {
        let (message, context, rest) = take_apart(text);
        let value_of = |key: &str| {
            context.iter().find(|(known, _)| *known == key).map(|(_, value)| (*value).to_owned())
        };
        let next = rest.trim_start_matches([';', ' ']);
        let next = (!next.is_empty()).then(|| next.to_owned());
        Self {
            message: message.to_owned(),
            code: value_of("code"),
            cause: value_of("cause"),
            origin: value_of("where"),
            fix: value_of("fix"),
            next,
        }
    }

    /// In one line: the message, the code and the next action. `over` if no attempt follows: then
    /// the advice to wait for one is out of date and left out.
    pub fn line(&self, over: bool) -> String {
        let mut line = self.message.clone();
        if let Some(code) = &self.code {
            let _ = write!(line, " ({code})");
        }
        let waits = |fix: &str| fix.starts_with(NO_ACTION);
        if let Some(fix) = self.fix.as_deref().filter(|fix| !(over && waits(fix))) {
            let _ = write!(line, "; {fix}");
        }
        line
    }

    /// As a report. `whose` is the name in front of the message, such as `model` or `telegram`.
    pub fn report(&self, whose: &str) -> Report {
        let waits = self.code.as_deref().is_some_and(|code| code.ends_with(FLOOD));
        let mut report = Report {
            level: if waits { Level::Note } else { Level::Error },
            ..Report::error(format!("{whose}: {}", self.message))
        };
        report.code = self.code.clone();
        let fix = match (&self.fix, &self.next) {
            (Some(fix), Some(next)) => format!("{}. {}.", fix.trim_end_matches('.'), upper(next)),
            (Some(fix), None) => fix.clone(),
            (None, Some(next)) => format!("nothing to do; {next}"),
            (None, None) => String::new(),
        };
        report
            .cause(self.cause.clone().unwrap_or_default())
            .line("where", self.origin.clone().unwrap_or_default())
            .fix(fix)
    }
}

/// The fix on a code's page, used if the error has none of its own.
fn usual_fix(code: &str) -> Option<String> {
    catalogue::find(code).map(|page| lower(page.fix()))
}

/// Lowercases the first letter. Fix lines start with a small letter, but pages contain whole
/// sentences.
fn lower(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

fn upper(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Splits the text that an [`Error`] displays, `sentence (key=value, key=value)…`, into the
/// sentence, the context and the rest.
fn take_apart(text: &str) -> (&str, Vec<(&str, &str)>, &str) {
    let whole = (text, Vec::new(), "");
    let Some((at, _)) = text.match_indices(" (").find(|(at, _)| key_of(&text[at + 2..]).is_some())
    else {
        // A text without context may still end with the time of the next attempt.
        return text
            .split_once("; next try")
            .map_or(whole, |(message, _)| (message, Vec::new(), &text[message.len()..]));
    };
    let Some(end) = text.rfind(')').filter(|end| *end > at) else { return whole };
    let mut pairs = Vec::new();
    let mut inside = &text[at + 2..end];
    while let Some(key) = key_of(inside) {
        let value = &inside[key.len() + 1..];
        let next = value.match_indices(", ").find(|(at, _)| key_of(&value[at + 2..]).is_some());
        let (value, rest) = next.map_or((value, ""), |(at, _)| (&value[..at], &value[at + 2..]));
        pairs.push((key, value));
        inside = rest;
    }
    (&text[..at], pairs, &text[end + 1..])
}

/// The key at the beginning of `text`: lowercase letters, spaces and underscores before a `=`.
fn key_of(text: &str) -> Option<&str> {
    let (key, _) = text.split_once('=')?;
    (!key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == ' ' || c == '_'))
        .then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::ErrorKind;

    fn conflict() -> Error {
        Error::new(ErrorKind::Conflict, "another program (or person) is reading this Telegram bot's messages")
            .with_code("GAL-TG-409")
            .with("cause", "getUpdates answered 409 Conflict: terminated by other getUpdates request; make sure, please (once)")
            .with("where", "TELEGRAM_BOT_TOKEN from .env line 4")
    }

    #[test]
    fn an_error_survives_its_way_through_a_connectors_health() {
        let error = conflict();
        let health = Health::Retrying {
            reason: format!("{error}; next try in 30 s"),
            code: error.code().map(str::to_owned),
        };
        let trouble = Trouble::of_connector(&health).unwrap();
        let expected = Trouble {
            fix: trouble.fix.clone(),
            next: Some("next try in 30 s".into()),
            ..Trouble::of(&error)
        };
        assert_eq!(trouble, expected);
        assert!(trouble.fix.unwrap().contains("stop the other copy"));
        let bare = Health::Retrying { reason: "it crashed; next try in 1 s".into(), code: None };
        let bare = Trouble::of_connector(&bare).unwrap();
        assert_eq!(
            (bare.message.as_str(), bare.next.as_deref()),
            ("it crashed", Some("next try in 1 s"))
        );
        assert_eq!(Trouble::of_connector(&Health::Up { detail: String::new() }), None);
    }

    #[test]
    fn it_is_shown_like_any_error() {
        let trouble = Trouble {
            fix: Some("stop the other copy".into()),
            next: Some("next try in 30 s".into()),
            ..Trouble::of(&conflict())
        };
        insta::assert_snapshot!(trouble.report("telegram").to_string(), @r###"
error[GAL-TG-409]: telegram: another program (or person) is reading this
  Telegram bot's messages
  cause: getUpdates answered 409 Conflict: terminated by other getUpdates
         request; make sure, please (once)
  where: TELEGRAM_BOT_TOKEN from .env line 4
  fix:   stop the other copy. Next try in 30 s.
  more:  galatea explain GAL-TG-409
"###);
    }

    #[test]
    fn a_line_advises_to_wait_only_for_what_still_comes() {
        let flood = Trouble::of_text(
            "Telegram asks to wait (code=GAL-TG-429, fix=nothing to do: it is sent after that time)",
        );
        assert_eq!(
            flood.line(false),
            "Telegram asks to wait (GAL-TG-429); nothing to do: it is sent after that time"
        );
        assert_eq!(flood.line(true), "Telegram asks to wait (GAL-TG-429)");
        let blocked = Trouble::of_text("blocked (code=GAL-TG-403, fix=let them unblock the bot)");
        assert_eq!(blocked.line(true), "blocked (GAL-TG-403); let them unblock the bot");
        assert_eq!(Trouble::of_text("it crashed").line(true), "it crashed");
    }

    #[test]
    fn a_flood_wait_is_no_error() {
        let trouble = Trouble { code: Some("GAL-TG-429".into()), ..Trouble::default() };
        assert_eq!(trouble.report("telegram").level, Level::Note);
    }

    #[test]
    fn other_texts_are_left_whole() {
        for text in
            ["", "a (b) c", " (", " (x=", "ü (=", ") (a=b", "a (K=v)", "ends (maybe) so; or so"]
        {
            let (message, context, _) = take_apart(text);
            assert!(
                text.starts_with(message)
                    && (message == text || !context.is_empty() || text.ends_with('=')),
                "{text:?}: {message:?}"
            );
        }
    }
}

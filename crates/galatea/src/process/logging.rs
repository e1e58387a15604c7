//! Sets up the log, which goes to stderr. A process that runs agents logs text on a terminal and
//! JSON elsewhere. Other commands log text. `LOG_JSON_FORMAT` and `--log-json` change that. Every
//! line passes the redactor, which masks secrets.

use galatea_core::{Error, Result, Settings};
use std::{io::IsTerminal, sync::Arc};
use tracing_subscriber::{EnvFilter, layer::SubscriberExt as _, util::SubscriberInitExt as _};

use super::log_ring::RingLayer;
use crate::report::{
    clean::{CleanStderr, Form},
    output::Output,
};
use galatea_host::{
    config::{LOG_JSON_FORMAT, LOG_LEVEL},
    ops::logs::LogRing,
};

/// How a command logs.
pub(crate) struct Logging<'a> {
    /// Settings of the process.
    pub(crate) settings: &'a Settings,
    /// Whether the command runs agents.
    pub(crate) runs: bool,
    /// How often `-v` was given.
    pub(crate) verbose: u8,
    /// Whether `--log-json` was given.
    pub(crate) json: bool,
    /// Names the secrets to mask, and whether stderr takes colours.
    pub(crate) output: &'a Output,
    /// Keeps the newest lines, if the command runs agents.
    pub(crate) ring: &'a Arc<LogRing>,
}

/// Starts logging. A process that runs agents logs from `info` on. Other commands log errors only,
/// unless `LOG_LEVEL` or `-v` asks for more.
///
/// # Errors
/// `Invalid` with the place of an invalid setting, if the command runs agents. Other commands
/// ignore invalid logging settings.
pub(crate) fn start(wanted: &Logging<'_>) -> Result<()> {
    let Logging { settings, runs, verbose, json, output, ring } = *wanted;
    let (filter, by_setting) = match (filter(settings, runs, verbose), is_json(settings, runs)) {
        (Ok(filter), Ok(json)) => (filter, json),
        (Err(error), _) | (_, Err(error)) if runs => return Err(error),
        _ => (EnvFilter::new("error"), false),
    };
    let json = json || by_setting;
    let redactor = output.redactor.clone();
    let colored = output.talk_style.is_colored();
    let form = match (json, colored) {
        (true, _) => Form::Json,
        (false, true) => Form::ColoredText,
        (false, false) => Form::Text,
    };
    let copies = runs.then(|| RingLayer::new(Arc::clone(ring), redactor.clone()));
    let writer = move || CleanStderr::new(redactor.clone(), form);
    let lines =
        tracing_subscriber::fmt::layer().with_writer(writer).with_target(verbose > 0 || json);
    let registry = tracing_subscriber::registry().with(filter).with(copies);
    // This fails only if a subscriber is already installed, which then receives the lines.
    let _ = if json {
        registry.with(lines.json().flatten_event(true)).try_init()
    } else {
        registry.with(lines.with_ansi(colored)).try_init()
    };
    Ok(())
}

/// Checks the logging settings, for `doctor`.
///
/// # Errors
/// `Invalid` with the place of an invalid setting.
pub(crate) fn check(settings: &Settings) -> Result<()> {
    filter(settings, true, 0).map(drop)?;
    is_json(settings, true).map(drop)
}

/// Whether the settings ask for a log in JSON, for a process that `runs` agents or for another
/// command.
///
/// # Errors
/// `Invalid` with the place of an invalid setting.
pub(crate) fn is_json(settings: &Settings, runs: bool) -> Result<bool> {
    if settings.find(&LOG_JSON_FORMAT).is_some() {
        settings.flag(&LOG_JSON_FORMAT)
    } else {
        Ok(runs && !std::io::stderr().is_terminal())
    }
}

fn filter(settings: &Settings, runs: bool, verbose: u8) -> Result<EnvFilter> {
    let level = match verbose {
        0 if !runs && settings.find(&LOG_LEVEL).is_none() => "error".to_owned(),
        0 => settings.text(&LOG_LEVEL).unwrap_or_default(),
        1 => "debug".to_owned(),
        _ => "trace".to_owned(),
    };
    let level = level.trim().to_ascii_lowercase();
    let own = match level.as_str() {
        "trace" | "debug" | "info" | "warn" | "error" => level.as_str(),
        // Other level names of elizaOS.
        "fatal" => "error",
        "warning" => "warn",
        "success" | "progress" | "log" => "info",
        "verbose" => "debug",
        // A filter names its own targets and levels.
        directives if directives.contains(['=', ',']) => {
            return EnvFilter::try_new(directives).map_err(|_| invalid_setting(settings));
        }
        _ => return Err(invalid_setting(settings)),
    };
    // Libraries log little that helps, and some would log the contents of requests.
    let libraries = if own == "error" { "error" } else { "warn" };
    // The stores report a lost database once. sqlx would report it for every connection of the
    // pool.
    EnvFilter::try_new(format!("{libraries},sqlx=error,galatea={own}"))
        .map_err(|_| invalid_setting(settings))
}

fn invalid_setting(settings: &Settings) -> Error {
    settings.invalid_setting(&LOG_LEVEL, "is not a level or a filter")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter_of(level: &str, runs: bool, verbose: u8) -> String {
        filter(&Settings::from_pairs([("LOG_LEVEL", level)]), runs, verbose).unwrap().to_string()
    }

    #[test]
    fn levels_filters_and_elizaos_names_are_understood() {
        assert_eq!(filter_of("WARN", true, 0), "galatea=warn,sqlx=error,warn");
        assert_eq!(filter_of("success", true, 0), "galatea=info,sqlx=error,warn");
        assert_eq!(
            filter_of("warn,galatea_telegram=debug", true, 0),
            "galatea_telegram=debug,warn"
        );
        assert_eq!(filter_of("error", true, 2), "galatea=trace,sqlx=error,warn");
        assert_eq!(
            filter(&Settings::default(), false, 0).unwrap().to_string(),
            "galatea=error,sqlx=error,error"
        );
    }

    #[test]
    fn nonsense_is_refused_with_its_place() {
        let error = filter(&Settings::from_pairs([("LOG_LEVEL", "loud")]), true, 0).unwrap_err();
        assert!(error.to_string().contains("environment"), "{error}");
    }
}
